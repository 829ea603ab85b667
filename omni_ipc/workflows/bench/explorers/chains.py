"""Programs of so many steps, to measure what a schedule of them costs: two tasks, in turn or at one variable."""

from __future__ import annotations

from collections.abc import Callable

from omni_ipc.testbed import ControlledRuntime


def _independent(steps: int) -> Callable[[ControlledRuntime], None]:
    def scenario(rt: ControlledRuntime) -> None:
        def walk() -> None:
            for _ in range(steps // 2):
                with rt.region("Step"):
                    pass

        _both(rt, walk)

    return scenario


def in_conflict(rt: ControlledRuntime) -> None:
    """Take one lock twenty times, in 184,756 orders."""
    lock = rt.lock()

    def walk() -> None:
        for _ in range(10):
            with rt.region("Step"), lock:
                pass

    _both(rt, walk)


def _both(rt: ControlledRuntime, walk: Callable[[], None]) -> None:
    with rt.region("Start"):
        for name in "ab":
            rt.spawn(walk, name=name)


steps_20, steps_100, steps_500 = _independent(20), _independent(100), _independent(500)
