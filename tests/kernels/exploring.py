"""Kernels under our explorer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from omni_ipc.records import Report
from omni_ipc.testbed import ReplayResult, explore, replay
from tests.kernels import field
from tests.kernels.kernel import Kernel

_PATIENCE_S = 60.0  # generous, so that a slow machine does not cut an exploration short
_reports: dict[Callable[..., Any], Report] = {}


def fault_of(kernel: Kernel) -> Report:
    """Look for the fault with the default strategy, once for whoever asks."""
    return _explored(kernel, kernel.scenario)


def twin_of(kernel: Kernel) -> Report:
    """Look for a fault in the twin until no order of conflicting steps is left, once for whoever asks."""
    return _explored(kernel, kernel.fixed, strategy="dpor")


def _explored(kernel: Kernel, scenario: Callable[..., Any], **options: Any) -> Report:
    if scenario not in _reports:
        _reports[scenario] = run(kernel, scenario, **options)
    return _reports[scenario]


def run(kernel: Kernel, scenario: Callable[..., Any], **options: Any) -> Report:
    """Explore a kernel or its twin."""
    if scenario in field.TRANSPARENT:
        options |= {"transparent": field.TRANSPARENT[scenario], "declared": True}
    elif kernel.instrument:
        options |= {"instrument": list(kernel.instrument)}
    return explore(scenario, **{"seconds": _PATIENCE_S} | options)


def again(kernel: Kernel, report: Report) -> ReplayResult:
    """Replay what was found."""
    assert report.trace is not None
    return replay(kernel.scenario, report.trace, transparent=field.TRANSPARENT.get(kernel.scenario, ()))


def is_as_meant(kernel: Kernel, report: Report) -> bool:
    """Tell whether a failure is the one that the kernel was written for."""
    failure = report.failure
    return failure is not None and failure.kind.value == kernel.kind and kernel.message in failure.message
