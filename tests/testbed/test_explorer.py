"""What an exploration claims, and what it refuses."""

from __future__ import annotations

import functools
from math import comb

import pytest

from omni_ipc.errors import UnknownName, UsageError
from omni_ipc.records import Verdict
from omni_ipc.testbed import STRATEGIES, ControlledRuntime, Progress, explore
from omni_ipc.testbed.faults import Kill
from tests.testbed.kernels import independent, lost_update, philosophers


def test_an_exhausted_search_holds_and_says_what_it_rests_on() -> None:
    """All schedules, or all orders of conflicting steps."""
    brute = explore(independent(2, 5), strategy="brute-force")
    assert (brute.verdict, brute.reason) == (Verdict.HOLDS, "all 252 schedules")
    for strategy in ("portfolio", "dpor", "depth-first"):
        reduced = explore(lost_update, strategy=strategy)
        assert (reduced.verdict, reduced.strategy, reduced.traces) == (Verdict.HOLDS, strategy, 4)
        assert reduced.reason.startswith("all 4 orders of conflicting steps")


def test_a_budget_of_runs_is_told_with_its_number() -> None:
    """Without exhaustion nothing is claimed to hold."""
    report = explore(independent(2, 5), strategy="brute-force", runs=100)
    assert report.verdict is Verdict.BOUNDED
    assert report.schedules == 100
    assert report.reason == "100 schedules of brute-force, and more are left (about 139): runs was 100"


def test_a_budget_that_is_just_enough_is_exhaustion() -> None:
    """The last run may be the last that there is."""
    assert explore(independent(2, 2), strategy="brute-force", runs=comb(4, 2)).verdict is Verdict.HOLDS


def test_a_budget_of_seconds_is_told() -> None:
    """At least one schedule is run."""
    report = explore(independent(5, 5), strategy="brute-force", seconds=0.001)
    assert report.verdict is Verdict.BOUNDED
    assert report.reason.endswith("seconds was 0.001")
    assert report.schedules >= 1


def test_a_random_walk_never_claims_that_something_holds() -> None:
    """Its reason tells how many runs, and the seed."""
    report = explore(independent(1, 1), strategy="random", runs=20, seed=7)
    assert (report.verdict, report.reason) == (
        Verdict.BOUNDED,
        "20 runs of a random walk, seed 7; 1 of the last 20 were new orders",
    )


def test_a_random_walk_ends_without_a_budget() -> None:
    """There is a default number of runs."""
    for strategy, title in [("random", "a random walk"), ("surw", "SURW"), ("pos", "POS"), ("urw", "URW")]:
        reason = explore(independent(1, 1), strategy=strategy).reason
        assert reason == f"2,000 runs of {title}, seed 0; 0 of the last 200 were new orders"


def test_a_seed_decides_what_is_found() -> None:
    """The same seed finds the same failure after the same number of runs."""
    reports = [explore(philosophers, strategy="random", seed=5) for _ in range(2)]
    assert reports[0].trace == reports[1].trace
    assert reports[0].schedules == reports[1].schedules


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_each_strategy_finds_the_deadlock(strategy: str) -> None:
    """The report names the schedule, the failure, the defect and the scenario."""
    report = explore(philosophers, strategy=strategy, name="phil", defect="two orders")
    assert report.verdict is Verdict.VIOLATED
    assert report.trace is not None
    assert (report.trace.scenario, report.trace.defect) == ("phil", "two orders")
    assert report.reason.startswith(f"schedule {report.schedules} of ")
    assert "deadlock" in report.reason


@pytest.mark.parametrize("budget", [{"runs": 0}, {"runs": -1}, {"seconds": 0.0}, {"seconds": -1.0}, {"max_steps": 0}])
def test_a_budget_of_nothing_is_refused(budget: dict[str, int]) -> None:
    """An exploration that runs nothing would claim nothing."""
    with pytest.raises(UsageError, match=f"{next(iter(budget))} must be positive"):
        explore(philosophers, **budget)  # type: ignore[arg-type]


def test_an_unknown_strategy_is_refused_with_the_nearest() -> None:
    """A typo is corrected."""
    with pytest.raises(UnknownName, match="Did you mean 'depth-first'"):
        explore(philosophers, strategy="deep-first")


@pytest.mark.parametrize("scenario", [None, "name", lambda rt, other: None, lambda *, rt: None])
def test_what_is_no_scenario_is_refused(scenario: object) -> None:
    """A scenario can be called with no argument, or with one argument."""
    with pytest.raises(UsageError, match="one argument"):
        explore(scenario)  # type: ignore[arg-type]


def test_a_plain_scenario_takes_no_argument() -> None:
    """It is called with nothing, also where it could take something; a parameter called rt is the runtime."""
    assert explore(lambda: 1).outcomes == ("1",)
    assert explore(lambda *rest, limit=3: (rest, limit)).outcomes == ("((), 3)",)
    assert explore(lambda rt=None: type(rt).__name__).outcomes == ("'ControlledRuntime'",)


def test_arguments_may_be_bound_beforehand() -> None:
    """A partial is a scenario."""

    def scenario(rt: ControlledRuntime, *, value: int) -> int:
        return value

    assert explore(functools.partial(scenario, value=3)).outcomes == ("3",)


def test_progress_is_told_from_time_to_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers only grow; here it is time after each schedule."""
    monkeypatch.setattr("omni_ipc.testbed.search._PROGRESS_EVERY_S", 0.0)
    told: list[Progress] = []
    explore(independent(2, 2), strategy="brute-force", progress=told.append)
    assert [progress.schedules for progress in told] == list(range(1, comb(4, 2) + 1))
    assert told[-1].steps > told[-1].schedules


def test_names_of_living_tasks_are_unique() -> None:
    """A second task of the same name is refused while the first one lives."""

    def scenario(rt: ControlledRuntime) -> str:
        event = rt.event()
        first = rt.spawn(event.wait, name="worker")
        with pytest.raises(ValueError, match="worker"):
            rt.spawn(event.wait, name="worker")
        event.set()
        first.join()
        rt.spawn(event.wait, name="worker").join()
        return "again"

    assert set(explore(scenario).outcomes) == {"'again'"}


def test_faults_are_given_by_name_as_well_as_by_value() -> None:
    """The same words as on the command line, for an exploration as for a marked test."""
    named, made = explore(philosophers, faults=["kill:a"]), explore(philosophers, faults=[Kill("a")])
    assert (named.verdict, named.reason) == (made.verdict, made.reason)


@pytest.mark.parametrize("option", ["faults", "instrument"])
def test_a_string_where_several_are_taken_is_told(option: str) -> None:
    """Its letters are not what anybody means."""
    with pytest.raises(
        UsageError, match=rf"{option} is 'kill:a', and takes several names. Write {option}=\['kill:a'\]"
    ):
        explore(philosophers, **{option: "kill:a"})  # type: ignore[arg-type]
