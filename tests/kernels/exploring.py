"""Kernels under our explorer."""

from __future__ import annotations

from typing import Any

from omni_ipc.records import Report
from omni_ipc.testbed import explore
from tests.kernels import field
from tests.kernels.kernel import Kernel

PATIENCE_S = 20.0  # generous, so that a slow machine does not cut an exploration short


def run(kernel: Kernel, *, fixed: bool = False, **options: Any) -> Report:
    """Explore a kernel or its twin."""
    scenario = kernel.fixed if fixed else kernel.scenario
    if kernel in field.KERNELS:
        options |= {"transparent": field.TRANSPARENT[scenario], "declared": True}
    elif kernel.instrument:
        options |= {"instrument": list(kernel.instrument)}
    return explore(scenario, **{"seconds": PATIENCE_S} | options)


def is_as_meant(kernel: Kernel, report: Report) -> bool:
    """Tell whether a failure is the one that the kernel was written for."""
    failure = report.failure
    return failure is not None and failure.kind.value == kernel.kind and kernel.message in failure.message
