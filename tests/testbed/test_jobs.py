"""One exploration by several processes."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from omni_ipc.errors import Inconclusive, UsageError
from omni_ipc.records import Verdict
from omni_ipc.testbed import ControlledRuntime, Progress, explore, replay
from omni_ipc.testbed.jobs import INSIDE
from omni_ipc.testbed.loading import load, name_of
from omni_ipc.testbed.merging import News, merged
from tests.testbed.kernels import and_join, lost_update, philosophers
from tests.testbed.test_resuming import UNGUARDED, facts
from tests.testbed.test_strategies import many_orders


def test_two_jobs_sample_what_one_samples() -> None:
    """The runs are shared out by number, so that the orders seen are the same."""
    alone = explore(many_orders, strategy="random", runs=200, seed=2)
    told: list[Progress] = []
    both = explore(many_orders, strategy="random", runs=200, seed=2, jobs=2, progress=told.append)
    assert (both.verdict, both.schedules, both.steps) == (Verdict.BOUNDED, 200, alone.steps)
    assert (both.traces, both.outcomes) == (alone.traces, alone.outcomes)
    assert both.reason.endswith("100 of the last 100 were new orders (in each of 2 jobs)")
    assert told[-1].schedules == 200


def made_in_any_order(rt: ControlledRuntime) -> None:
    """Three tasks that make what they use; so each process meets these objects in an order of its own."""
    words = rt.words(memoryview(bytearray(8)))

    def work() -> None:
        words.store(0, 1)
        with rt.lock():
            words.store(0, 2)
        rt.queue().put(words.load(0))

    and_join(rt, work, work, work)


@pytest.mark.parametrize(("strategy", "jobs"), [("random", 2), ("random", 3), ("sampling", 2)])
def test_an_order_that_two_jobs_have_seen_is_counted_once(strategy: str, jobs: int) -> None:
    """However the objects are numbered in which they saw it."""
    alone = explore(made_in_any_order, strategy=strategy, runs=300)
    together = explore(made_in_any_order, strategy=strategy, runs=300, jobs=jobs)
    assert together.schedules == alone.schedules
    if strategy == "random":  # what others sample depends on what the process has run before
        assert together.traces == alone.traces
    assert together.traces <= explore(made_in_any_order, strategy="dpor").traces


def test_two_jobs_search_and_sample_at_the_same_time() -> None:
    """What the systematic one proves, all prove; and it is told that the others had no part in the proof."""
    report = explore(lost_update, jobs=2)
    assert (report.verdict, report.traces, report.outcomes) == (Verdict.HOLDS, 4, ("1", "2"))
    assert report.reason == "all 4 orders of conflicting steps (in 2 jobs: one searched, 1 sampled)"


def test_a_failure_of_one_job_ends_all_and_replays_here() -> None:
    """It comes confirmed, shrunk and in words."""
    report = explore(philosophers, strategy="surw", jobs=2)
    assert report.verdict is Verdict.VIOLATED
    assert report.trace is not None
    assert replay(philosophers, report.trace).failure == report.failure


def test_what_each_job_says_of_its_own_runs_is_said_to_be_of_each() -> None:
    """Else "50 runs" would stand over "100 schedules"; what differs stands beside each other, and adds up."""
    own = explore(many_orders, strategy="random", runs=50)
    alike = merged([News(50, report=own), News(50, report=own)], "random")
    assert alike.reason == f"{own.reason} (in each of 2 jobs)"
    other = msgspec.structs.replace(own, reason="50 runs of something else")
    unlike = merged([News(50, report=own), News(50, report=other)], "random")
    assert unlike.reason == f"{own.reason}; {other.reason} (in 2 jobs)"


@pytest.mark.parametrize(("scenario", "strategy"), [(many_orders, "delay-bounded"), (lost_update, "brute-force")])
def test_two_jobs_search_what_one_searches(scenario: Callable[[ControlledRuntime], object], strategy: str) -> None:
    """The same schedules, none of them counted twice; and they say the same."""
    alone = explore(scenario, strategy=strategy)
    both = explore(scenario, strategy=strategy, jobs=2)
    assert (both.verdict, both.traces, both.outcomes) == (alone.verdict, alone.traces, alone.outcomes)
    assert both.reason == f"{alone.reason} (in 2 jobs)"


def test_jobs_go_on_where_they_were(tmp_path: Path) -> None:
    """Each has a state of its own; another number of jobs could not go on with them."""
    whole = explore(many_orders, strategy="pos", runs=60, jobs=2)
    explore(many_orders, strategy="pos", runs=30, jobs=2, resume=tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["exploration.1-of-2.json", "exploration.2-of-2.json"]
    assert facts(explore(many_orders, strategy="pos", runs=60, jobs=2, resume=tmp_path)) == facts(whole)
    with pytest.raises(UsageError, match=r"by 2 processes, and this one has 1\. Go on with --jobs 2"):
        explore(many_orders, strategy="pos", runs=120, resume=tmp_path)


@pytest.mark.parametrize("scenario", [lambda rt: None, lambda: None])
def test_a_scenario_that_has_no_name_is_refused(scenario: object) -> None:
    """Other processes could not find it."""
    with pytest.raises(UsageError, match=r"Other processes cannot be given .* top level of a module"):
        explore(scenario, jobs=2)  # type: ignore[arg-type]


def vanishing(rt: ControlledRuntime) -> None:
    """End the whole process behind Python's back."""
    UNGUARDED[0](os.getpid(), 9)


def test_a_job_that_dies_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    """How it died, and that the exploration is inconclusive; no process is left."""
    with pytest.raises(Inconclusive, match=r"Job . of 2 has ended with status 3 .* what it said stands above"):
        explore(vanishing, jobs=2)
    assert "The process that ran the scenario was ended by SIGKILL: nothing was concluded." in capfd.readouterr().err


def ending_badly(rt: ControlledRuntime) -> str:
    """Let the first job end with another status once it is done, and the second one take its time."""
    if os.environ.get(INSIDE) == "0":
        atexit.unregister(_end_badly)
        atexit.register(_end_badly)
    elif INSIDE in os.environ:
        sum(range(10**7))
    return lost_update(rt)


def _end_badly() -> None:
    os._exit(1)


def test_a_job_that_is_done_and_ends_badly_stops_no_other() -> None:
    """It has said all; and its share alone is not the search."""
    alone = explore(lost_update, strategy="brute-force")
    both = explore(ending_badly, strategy="brute-force", jobs=2)
    assert (both.verdict, both.traces, both.outcomes) == (Verdict.HOLDS, alone.traces, alone.outcomes)
    assert both.reason == f"{alone.reason} (in 2 jobs)"


def test_a_job_starts_no_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A script that explores when it is imported is told how to write that down."""
    monkeypatch.setenv("OMNI_IPC_JOB", "0")
    with pytest.raises(UsageError, match='if __name__ == "__main__":'):
        explore(lost_update, jobs=2)


def test_no_jobs_are_refused() -> None:
    """Somebody must explore."""
    with pytest.raises(UsageError, match="jobs must be positive, and is 0"):
        explore(lost_update, jobs=0)


def test_a_function_is_found_by_its_name() -> None:
    """In a module, or in a file."""
    assert load(name_of(lost_update)) is lost_update
    in_a_file = load(f"{Path(__file__).with_name('kernels.py')}:lost_update")
    assert in_a_file is not lost_update
    assert name_of(in_a_file).endswith("kernels.py:lost_update")


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("nowhere/file.py:fn", "There is no file 'nowhere/file.py'"),
        ("omni_ipc.nothing:fn", "There is no file 'omni_ipc.nothing'"),
        ("nothing_of_that_name:fn", "cannot be imported"),
        (f"{__file__}:vanish", "Did you mean 'vanishing'"),
    ],
)
def test_what_cannot_be_found_is_told(target: str, reason: str) -> None:
    """The message names what was looked for."""
    with pytest.raises(UsageError, match=reason):
        load(target)
