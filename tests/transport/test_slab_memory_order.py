"""The bodies of slots where stores are seen late: nothing orders them but the words of lane and slab around them.

They are written and read in bulk, as numpy does, so that no access of theirs orders anything.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from omni_ipc.records import MemoryOrder, Verdict
from omni_ipc.seam.api import Runtime
from omni_ipc.testbed import explore
from omni_ipc.transport import bell
from omni_ipc.transport.geometry import SlotClass
from tests.support.slabs import Shop

NBYTES = 64
SC, TSO, RELEASE, WEAK = MemoryOrder


@pytest.fixture(autouse=True)
def _sleepers_depend_on_being_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away the bound of a sleep: a lost wake-up is a wait without end."""
    monkeypatch.setattr(bell, "LONGEST_SLEEP_S", math.inf)


def gallery(pictures: int) -> Callable[[Runtime], list[int]]:
    """Make the scenario in which a task paints pictures into one slot, and another one looks at each and lets go."""

    def scenario(rt: Runtime) -> list[int]:
        shop = Shop([SlotClass(NBYTES, 1)], rt=rt, ring_bytes=256)
        canvas, start = rt.words(shop.memory), shop.geometry.spans[0][0]

        def paint() -> None:
            for picture in range(pictures):
                loan = shop.slab.loan(NBYTES, timeout=math.inf)
                canvas.write(start, bytes([picture + 1]) * NBYTES)
                loan.commit(*shop.writers, timeout=math.inf)

        def look() -> int:
            _, message = shop.receivers[0]._port.receive(math.inf)
            lease = message.tensors[0].lease
            assert lease is not None
            try:
                seen = set(canvas.read(start, NBYTES))
                lease.release()
            except BaseException:
                lease.never()  # the run was cut short, and who collects the lease then must do no step of it
                raise
            assert len(seen) == 1, "a picture was seen half painted"
            return seen.pop()

        rt.spawn(paint, name="painter")
        return [look() for _ in range(pictures)]

    return scenario


@pytest.mark.parametrize("memory", [TSO, RELEASE])
def test_a_slot_is_painted_again_behind_everybodys_back_in_no_order(memory: MemoryOrder) -> None:
    """The first picture is seen whole, though the second one waits for its slot, and so is the second."""
    report = explore(gallery(2), memory=memory, declared=True)
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("[1, 2]",)), report.reason


@pytest.mark.parametrize("memory", MemoryOrder)
def test_a_slot_is_seen_as_it_was_committed_where_a_store_releases_what_was_written_before(memory: MemoryOrder) -> None:
    """The one store that publishes the record publishes the slot, too; where it releases nothing, that is seen."""
    report = explore(gallery(1), memory=memory, declared=True, transparent=("Writer.Publish",))
    if memory is WEAK:
        assert report.verdict is Verdict.VIOLATED
    else:
        assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("[1]",)), report.reason
