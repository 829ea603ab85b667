"""A worker of a soak has so much memory: what is on its way takes it, whether anybody wants it any more or not."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from omni_ipc import trees
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.requests import Request
from omni_ipc.stress.memory import POISON, HostMemory
from omni_ipc.stress.outputs import PERIOD, Kind
from omni_ipc.stress.pipeline import Varied

KIB = 1 << 10


class Clock(NativeRuntime):
    """Time that passes only where somebody sleeps; something may happen then."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.meanwhile: Callable[[], object] = int

    def now(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        if seconds:
            self.meanwhile()


def request(nbytes: int, kind: Kind = Kind.PLAIN) -> Request:
    options = {"kind": kind.value, "nbytes": nbytes, "salt": 1, "forward_s": 0.0, "late_s": 0.0, "trouble": ""}
    return Request("r", options=options)


def test_a_forward_waits_until_what_was_made_before_has_left() -> None:
    """And no longer: it goes on as soon as there is room."""
    clock = Clock()
    model = Varied(rt=clock, most_bytes=100 * KIB)
    kept: list[Any] = model.forward([request(80 * KIB)])
    clock.meanwhile = kept.clear
    (made,) = model.forward([request(40 * KIB, Kind.ROW)])
    assert made["value"]["image"].nbytes == 40 * KIB
    assert 0 < clock.now_s < 1
    clock.meanwhile = lambda: pytest.fail("there was room")
    model.forward([request(30 * KIB), request(30 * KIB)])


def test_what_is_larger_than_all_memory_goes_alone() -> None:
    """It needs what the others have left, and nothing more."""
    clock = Clock()
    (made,) = Varied(rt=clock, most_bytes=KIB).forward([request(8 * KIB)])
    assert made["value"]["image"].nbytes == 8 * KIB
    assert clock.now_s == 0


def test_what_never_leaves_is_told_as_a_device_without_memory_tells_it() -> None:
    """In bytes, after a minute; nothing was made then."""
    model = Varied(rt=Clock(), most_bytes=100 * KIB)
    kept = model.forward([request(80 * KIB)])
    with pytest.raises(MemoryError, match=r"a batch of 40,960 bytes has no room: 81,920 of 102,400 bytes are still"):
        model.forward([request(40 * KIB)])
    assert kept[0]["value"]["image"].nbytes == 80 * KIB


def test_without_a_bound_nobody_waits() -> None:
    """As the model is used outside of soaks."""
    model = Varied(rt=Clock())
    assert len([model.forward([request(80 * KIB)]) for _ in range(4)]) == 4


def test_memory_is_held_for_as_long_as_anything_looks_at_it() -> None:
    """A row is a view of what its whole batch lies in."""
    memory = HostMemory()
    leaf = Varied(rt=NativeRuntime()).forward([request(4 * KIB)])[0]["value"]["image"]
    assert memory.held_bytes() == 0, "that was another one's"
    made = memory._new(8 * KIB)
    row: np.ndarray[Any, Any] | None = made[: leaf.nbytes]
    del made
    assert memory.held_bytes() == 8 * KIB
    del row
    assert memory.held_bytes() == 0


@pytest.mark.torch
def test_of_a_device_what_was_asked_for_is_held_and_not_the_blocks_that_torch_gave() -> None:
    """A block may be a MiB larger: whoever waits until nothing is held would wait for ever."""
    from omni_ipc.stress.memory import DeviceMemory

    memory, asked_for = DeviceMemory("cpu"), {"requested_bytes.all.current": PERIOD}
    memory._of_kind = SimpleNamespace(
        memory_stats=lambda _: {"allocated_bytes.all.current": 2 * PERIOD, **asked_for},
        memory_allocated=lambda _: 2 * PERIOD,
    )
    memory._pattern()
    assert memory.held_bytes() == 0
    asked_for["requested_bytes.all.current"] += 8 * KIB
    assert memory.held_bytes() == 8 * KIB


@pytest.mark.torch
def test_a_model_shows_what_its_process_keeps_of_the_device_whenever_that_may_have_changed() -> None:
    """With each batch, used or not, and when it has given it back to sleep; one of the host shows nothing."""
    from omni_ipc.stress.memory import DeviceMemory

    kept, shown = {"reserved_bytes.all.current": 2 << 20}, list[int]()
    memory = DeviceMemory("cpu")
    memory._of_kind = SimpleNamespace(memory_stats=lambda _: kept, empty_cache=kept.clear)
    model = Varied(rt=Clock(), show=shown.append)
    model.forward([request(KIB)])
    assert shown == []
    model._memory = memory
    model.forward([request(KIB)])
    kept["reserved_bytes.all.current"] += 2 << 20
    model.forward([request(KIB), request(KIB, Kind.ROW)])
    model.sleep(1)
    assert shown == [2 << 20, 4 << 20, 0]


@pytest.mark.torch
@pytest.mark.parametrize("kind", Kind)
def test_a_sleep_spoils_what_was_made_on_a_device_and_is_still_looked_at(kind: Kind) -> None:
    """As on the host: whoever sleeps without a drain brings wrong bytes. What nobody has any more is kept by nobody."""
    import torch

    from omni_ipc.stress.memory import DeviceMemory

    memory = DeviceMemory("cpu")
    memory._of_kind = SimpleNamespace(memory_stats=lambda _: {}, empty_cache=lambda: None)
    model = Varied(rt=Clock())
    model._memory = memory
    made = model.forward([request(8 * KIB, kind), request(8 * KIB, kind)])
    model.forward([request(8 * KIB, kind)])  # nobody has it
    tensors = [leaf for leaf in trees.leaves(made) if isinstance(leaf, torch.Tensor)]
    assert len(memory._made) == len(tensors)
    model.sleep(1)
    for tensor in tensors:
        assert set(bytes(tensor.contiguous().reshape(-1).view(torch.uint8).numpy())) <= {POISON}


@pytest.mark.torch
@pytest.mark.cuda
def test_what_cuda_keeps_grows_with_outputs_and_goes_in_a_sleep() -> None:
    """As its driver has it: freed blocks are kept, and used again, until the cache is emptied."""
    shown: list[int] = []
    model = Varied(rt=NativeRuntime(), device="cuda", show=shown.append)
    made = model.forward([request(64 << 20)])
    del made
    model.forward([request(KIB)])
    model.sleep(1)
    assert shown[0] == shown[1] >= 64 << 20
    assert shown[2] <= shown[0] - (64 << 20)
