"""Small scenarios that several tests explore."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from omni_ipc.records import Report, Verdict
from omni_ipc.testbed import ControlledRuntime, explore, replay, shrink

Body = Callable[[], object]


def is_well(report: Report, verdict: Verdict = Verdict.HOLDS) -> bool:
    """Tell whether an exploration came to a verdict, or found nothing wrong with a task that was alone."""
    return report.verdict is verdict or report.reason.startswith("Only one task ran")


def together(rt: ControlledRuntime, *bodies: Body) -> None:
    """Start tasks a, b, c, ... in one step of main, so that none of main's steps lies between theirs."""
    with rt.region("Start"):
        for name, body in zip("abcdefgh", bodies, strict=False):
            rt.spawn(body, name=name)


def and_join(rt: ControlledRuntime, *bodies: Body) -> None:
    """Start tasks a, b, c, ..., and wait for their ends."""
    with rt.region("Start"):
        tasks = [rt.spawn(body, name=name) for name, body in zip("abcdefgh", bodies, strict=False)]
    for task in tasks:
        task.join()


def independent(tasks: int, steps: int) -> Callable[[ControlledRuntime], None]:
    """Make a scenario of tasks that take so many steps each, none in conflict with another."""

    def scenario(rt: ControlledRuntime) -> None:
        def walk() -> None:
            for _ in range(steps):
                with rt.region("Step"):
                    pass

        together(rt, *[walk] * tasks)

    return scenario


class Counter:
    """State that tasks share without a lock."""

    def __init__(self) -> None:
        self.value = 0


def lost_update(rt: ControlledRuntime) -> int:
    """Add one twice, each time by a read and a write."""
    counter = Counter()
    rt.watch(counter, None, "Counter")

    def add() -> None:
        counter.value += 1

    and_join(rt, add, add)
    return counter.value


def philosophers(rt: ControlledRuntime) -> None:
    """Take two locks in two orders."""
    left, right = rt.lock(), rt.lock()

    def dine(first: object, second: object) -> None:
        with first, second:  # type: ignore[attr-defined]
            pass

    and_join(rt, lambda: dine(left, right), lambda: dine(right, left))


def outcomes(scenario: Callable[[ControlledRuntime], object]) -> set[str]:
    """Explore a scenario that must hold, and return all that it can come to."""
    reports: Sequence[Report] = [
        explore(scenario, strategy=name, declared=True) for name in ("depth-first", "brute-force")
    ]
    for report in reports:
        assert is_well(report), report.reason
    reduced, brute = reports
    assert reduced.outcomes == brute.outcomes
    assert reduced.traces == brute.traces <= reduced.schedules <= brute.schedules
    return set(reduced.outcomes)


def found(scenario: Callable[[ControlledRuntime], object], **options: object) -> Report:
    """Explore a scenario that must fail; what is found must also replay, and shrink no further."""
    report = explore(scenario, **options)  # type: ignore[arg-type]
    assert report.verdict == "violated", report.reason
    assert report.trace is not None
    assert report.failure == report.trace.failure
    again = replay(scenario, report.trace)
    assert again.diverged is None
    assert again.failure == report.failure
    assert again.followed == len(report.trace.steps)
    assert len(shrink(scenario, report.trace).steps) == len(report.trace.steps)
    return report
