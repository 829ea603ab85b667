"""Memory of a device that outputs are computed into."""

from __future__ import annotations

import weakref

import pytest

pytestmark = pytest.mark.torch


def test_what_is_done_ahead_takes_a_place_for_each_output_that_may_be_on_its_way() -> None:
    """On the device and on the host, all at a time; afterwards nobody has any of it."""
    import torch

    from omni_ipc.stress.devices.memory import POISON, OutputMemory

    sources: list[torch.Tensor] = []
    copies: list[weakref.ref[torch.Tensor]] = []

    def copy(source: torch.Tensor) -> torch.Tensor:
        copied = source.clone()
        sources.append(source)
        copies.append(weakref.ref(copied))
        assert all(each() is not None for each in copies)
        return copied

    OutputMemory("cpu", lambda *_: pytest.fail("nothing is issued to a stream")).warm_up(
        lambda: torch.arange(8), 8, copy
    )
    assert len({source.data_ptr() for source in sources}) == len(sources) == 4
    assert all(source.tolist() == [POISON] * 8 for source in sources)
    assert all(each() is None for each in copies)
