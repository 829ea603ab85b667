"""Small concurrent programs: the fault of each is found, and its twin without it is not accused."""

from __future__ import annotations

import threading

import pytest

from omni_ipc.records import Verdict
from tests.kernels import exploring, table
from tests.kernels.kernel import Kernel
from tests.kernels.registry import KERNELS, PLAIN


def named(kernel: Kernel) -> str:
    return kernel.name


@pytest.mark.parametrize("kernel", KERNELS, ids=named)
def test_the_fault_of_a_kernel_is_found_and_it_is_the_one_meant(kernel: Kernel) -> None:
    """Not a miss, and no other failure in its place; and it can be had again."""
    report = exploring.fault_of(kernel)
    assert report.verdict is Verdict.VIOLATED, report.reason
    assert exploring.is_as_meant(kernel, report), report.failure
    assert exploring.again(kernel, report).failure == report.failure


@pytest.mark.parametrize("kernel", KERNELS, ids=named)
def test_the_twin_of_a_kernel_holds(kernel: Kernel) -> None:
    """No false alarm: every order of what conflicts was run, and none failed."""
    report = exploring.twin_of(kernel)
    assert report.verdict is Verdict.HOLDS, report.reason


@pytest.mark.parametrize("kernel", KERNELS, ids=named)
def test_the_table_of_the_documents_says_what_a_run_says(kernel: Kernel) -> None:
    """Verdicts are those of this code: python -m tests.kernels.table writes them."""
    assert table.committed()[kernel.name] == table.line(kernel).verdicts


def test_the_kernels_are_as_many_as_they_are_to_be() -> None:
    """Each collection has its share, and no name is used twice."""
    families = [kernel.family for kernel in KERNELS]
    assert len({kernel.name for kernel in KERNELS}) == len(KERNELS) >= 91
    assert families.count("sctbench") >= 28
    assert families.count("goker") >= 20
    assert families.count("asyncio_threads") >= 6
    assert families.count("field") == 19
    assert list(table.committed()) == [kernel.name for kernel in KERNELS]


@pytest.mark.parametrize("kernel", PLAIN, ids=named)
def test_the_twin_of_a_kernel_is_right_on_plain_threads(kernel: Kernel) -> None:
    """It is an ordinary program, that ends, and raises in no thread."""
    before = threading.active_count()
    kernel.fixed()
    assert threading.active_count() <= before + (kernel.name == "cancel_forgotten")
