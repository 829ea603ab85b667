"""Tensors that find no slot, under the testbed: nobody waits for longer than was said, and no slot is lost."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from omni_ipc.errors import Full
from omni_ipc.records import Verdict
from omni_ipc.seam.api import Runtime
from omni_ipc.testbed import explore
from omni_ipc.transport.geometry import SlotClass
from omni_ipc.transport.placing import PATIENCE_S
from tests.support.slabs import Note, Shop

LARGE = np.zeros(32 << 10, np.uint8)  # more than goes inline, or shares a slot
LONG_S = 100.0


def explored(scenario: Callable[[Runtime], object]) -> set[str]:
    """Run it in many orders; none fails."""
    report = explore(scenario, runs=100, declared=True)
    assert report.failure is None, report.failure
    assert report.verdict in (Verdict.HOLDS, Verdict.BOUNDED), report.reason
    return set(report.outcomes)


@pytest.mark.parametrize("held_s", [PATIENCE_S / 2, LONG_S])
def test_what_finds_no_slot_travels_inline_when_patience_is_over(held_s: float) -> None:
    """The first look waits for nothing, the second for a second; whoever releases before that is waited for."""

    def scenario(rt: Runtime) -> tuple[float, int]:
        shop = Shop([SlotClass(LARGE.nbytes, 1)], rt=rt)
        shop.sender().send(Note(), LARGE)
        kept = shop.receivers[0].receive(0)

        def release() -> None:
            rt.sleep(held_s)
            kept.release()

        releasing = rt.spawn(release, name="reader")
        shop.sender(LONG_S).send(Note(), LARGE)
        sent_s, held = rt.now(), shop.slab.held()
        releasing.join()
        return sent_s, held

    assert explored(scenario) == {str((min(held_s, PATIENCE_S), 1))}


def test_a_message_that_cannot_be_sent_in_time_keeps_no_slot() -> None:
    """That of its first tensor was lent, and the second one waited for its own in vain."""

    def scenario(rt: Runtime) -> tuple[int, int]:
        shop = Shop([SlotClass(LARGE.nbytes, 2)], rt=rt)
        shop.sender().send(Note(), LARGE)
        kept = shop.receivers[0].receive(0)
        with pytest.raises(Full) as told:  # and whoever keeps the error keeps no slot
            shop.sender(PATIENCE_S / 2).send(Note(), [LARGE, LARGE])
        left = shop.slab.held(), shop.lent()
        rt.spawn(kept.release, name="reader").join()
        assert told.value.__traceback__ is not None
        return left

    assert explored(scenario) == {"(1, 0)"}
