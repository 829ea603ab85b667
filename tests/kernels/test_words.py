"""Small algorithms on shared words: what is broken is found, and what is right is not taken for broken."""

from __future__ import annotations

import functools

import pytest

from omni_ipc.records import MemoryOrder, Verdict
from omni_ipc.testbed import explore
from tests.kernels.words import KERNELS
from tests.testbed.kernels import found

ORDERS = list(MemoryOrder)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("memory", MemoryOrder)
def test_a_broken_kernel_fails_from_its_first_order_on(name: str, memory: MemoryOrder) -> None:
    """It holds in the orders above; what is found replays, and does not shrink further."""
    kernel = KERNELS[name]
    scenario = functools.partial(kernel.scenario, **kernel.broken)
    if ORDERS.index(memory) < ORDERS.index(kernel.first):
        report = explore(scenario, memory=memory, declared=True)
        assert report.verdict is Verdict.HOLDS, report.reason
    else:
        found(scenario, memory=memory, declared=True)


@pytest.mark.parametrize("scenario", sorted({kernel.scenario.__name__ for kernel in KERNELS.values()}))
@pytest.mark.parametrize("memory", MemoryOrder)
def test_a_right_kernel_holds_up_to_its_last_order(scenario: str, memory: MemoryOrder) -> None:
    """No false alarm; and none is missed where it relies on more than the order gives."""
    kernel = next(kernel for kernel in KERNELS.values() if kernel.scenario.__name__ == scenario)
    report = explore(kernel.scenario, memory=memory, declared=True)
    holds = ORDERS.index(memory) <= ORDERS.index(kernel.last)
    assert report.verdict is (Verdict.HOLDS if holds else Verdict.VIOLATED), report.reason
