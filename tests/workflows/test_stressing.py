"""A collection of traces on spawned workers: what is claimed of it, and what is told when that is not so."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from omni_ipc.errors import EnvironmentMissing, InternalError, OmniError, UsageError
from omni_ipc.records import Failure, FailureKind, Step, Trace, Verdict
from omni_ipc.scenarios import SCENARIOS
from omni_ipc.scenarios.scenario import Staged
from omni_ipc.workflows import stressing
from omni_ipc.workflows.collecting import find_traces
from omni_ipc.workflows.conducting import RealRun
from omni_ipc.workflows.killing import KILL
from omni_ipc.workflows.schedule import Conducted
from omni_ipc.workflows.stressing import Hosts, Stressed, stress

BUGS = Path(__file__).parents[1] / "bugs"
KILLS = Path(__file__).parent / "kills"
LATE_SPLIT = BUGS / "split_map.late_split_map.trace.json"
ORPHAN = BUGS / "future_orphan.unpack_outside_lock.trace.json"

Change = Callable[[Trace], Trace]


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    """Have one process for all tests that leave it alive."""
    pytest.importorskip("torch", reason="workers compute torch tensors; pip install 'omni-ipc[torch]'")
    with Hosts() as hosts:
        hosts.free()
        yield hosts


def saved(folder: Path, change: Change, path: Path = ORPHAN) -> Path:
    """Save a trace of the collection with a change, and without the causes, which are about steps of the whole."""
    changed = msgspec.structs.replace(change(Trace.load(path)), causes=())
    return changed.save(folder / f"changed.{path.name}")


def first(count: int) -> Change:
    """Keep the first steps alone."""
    return lambda trace: msgspec.structs.replace(trace, steps=trace.steps[:count])


def waited_for(trace: Trace) -> Trace:
    """Let the consumer wait before the pump unpacks, and end there: no orphan comes of that, however it goes on."""
    at = next(place for place, step in enumerate(trace.steps) if step.action == "Pump.Unpack")
    unpacks, waits = trace.steps[at : at + 2]
    assert waits.action == "Consumer.Wait"
    return msgspec.structs.replace(trace, steps=(*trace.steps[:at], waits, unpacks))


@pytest.mark.torch
def test_every_trace_of_the_collection_shows_its_defect_on_real_workers_and_the_reference_ends_well(
    hosts: Hosts,
) -> None:
    """The whole collection, wherever the defect lies; and but for the records of a real lane each is followed whole."""
    stressed = stress(find_traces([BUGS]), device="cpu", hosts=hosts)
    assert [row for row in stressed.rows if row.verdict is not Verdict.ENDED_WELL] == []
    assert (stressed.verdict, stressed.left, len(stressed.rows)) == (Verdict.ENDED_WELL, 0, len([*BUGS.iterdir()]))
    shown = {row.trace: row.with_defect for row in stressed.rows if row.with_defect is not None}
    cut_short = [name for name, tried in shown.items() if tried.followed + tried.passed < tried.of]
    assert set(cut_short) <= {
        "dual_writer_ring.dual_writers"
    }  # two records in one place, of sizes that are not the trace's


@pytest.mark.torch
def test_what_cannot_be_followed_is_told_with_its_step_and_the_rest_goes_on(hosts: Hosts, tmp_path: Path) -> None:
    """A step of another output never comes: it is told who stands where instead, and the next trace is tried."""

    def change(trace: Trace) -> Trace:
        *steps, unpacks = waited_for(trace).steps
        return msgspec.structs.replace(trace, steps=(*steps, msgspec.structs.replace(unpacks, fields={"output": "9"})))

    stressed = stress(find_traces([saved(tmp_path, change), ORPHAN]), device="cpu", hosts=hosts, repeat=2)
    assert [row.verdict for row in stressed.rows] == [Verdict.INCONCLUSIVE, Verdict.ENDED_WELL]
    assert stressed.verdict is Verdict.INCONCLUSIVE
    (reason,) = stressed.rows[0].reasons
    missed = "unpack_outside_lock showed in 0 of 2 runs; where it did not, the trace could not be followed: "
    assert reason.startswith(f"{missed}it leaves the trace at step 10 of ")
    assert "did not come, and nobody moves any more (pump stands before Pump.Unpack at " in reason


@pytest.mark.torch
def test_a_trace_that_shows_its_defect_no_more_is_a_violation(hosts: Hosts, tmp_path: Path) -> None:
    """It is followed to its end, and all is well: whoever keeps it is to know that it keeps nothing out."""
    stressed = stress(find_traces([saved(tmp_path, waited_for)]), device="cpu", hosts=hosts)
    assert stressed.verdict is Verdict.VIOLATED
    (reason,) = stressed.rows[0].reasons
    assert reason.endswith("0 of 1 runs, though the trace was followed to its end: it shows the defect no more")


@pytest.mark.torch
def test_a_reference_that_fails_is_a_violation(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference has the fault that the trace shows: exactly that is told of it."""
    scenario = SCENARIOS["future_orphan"]
    faulty = dataclasses.replace(scenario, world=lambda rt, _, *launch: scenario.world(rt, parts, *launch))
    parts = scenario.parts("unpack_outside_lock")
    monkeypatch.setitem(SCENARIOS, "future_orphan", faulty)  # type: ignore[arg-type]
    stressed = stress(find_traces([ORPHAN]), device="cpu", hosts=hosts)
    assert stressed.verdict is Verdict.VIOLATED
    assert (
        stressed.rows[0].reasons[0].startswith("the reference failed in 1 of 1 runs: exception: 1: Output '1' did not")
    )


@pytest.mark.torch
@pytest.mark.parametrize(
    ("error", "verdict"),
    [("CUDA error: unspecified launch failure", "inconclusive"), ("CUDA error: an illegal memory access", "violated")],
)
def test_a_device_that_is_lost_shows_nothing_of_the_reference(
    error: str, verdict: str, hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the device itself fails, that is the machine's; where code reads what it must not, the code's."""
    failed = RealRun(Conducted(4, 4), Failure(FailureKind.EXCEPTION, f"PeerFailed: {error}"), 0.1)
    monkeypatch.setattr(stressing, "run_on_processes", lambda *_, **__: failed)
    (row,) = stress(find_traces([ORPHAN]), device="cuda", hosts=hosts).rows
    assert row.verdict == verdict
    assert f"PeerFailed: {error}" in row.reasons[0]


@pytest.mark.torch
def test_a_worker_that_dies_costs_its_trace_and_not_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing hangs, it is told how the process ended, and the next trace gets another process."""
    dying = dataclasses.replace(SCENARIOS["future_orphan"], staged=Staged("tests.support.dying_pipeline:DyingPipeline"))
    monkeypatch.setitem(SCENARIOS, "future_orphan", dying)  # type: ignore[arg-type]
    stressed = stress(find_traces([ORPHAN, LATE_SPLIT]), device="cpu")
    assert [row.verdict for row in stressed.rows][1] is Verdict.ENDED_WELL
    assert stressed.rows[0].verdict is not Verdict.ENDED_WELL
    assert "killed by SIGKILL" in " ".join(stressed.rows[0].reasons)


@pytest.mark.torch
@pytest.mark.parametrize(
    "name",
    ["drain", pytest.param("drain.sleep_without_drain", marks=pytest.mark.soak)],  # each costs a process
)
def test_a_trace_that_kills_its_worker_is_followed_through_the_kill(name: str) -> None:
    """A reference that is killed tells everybody, and is no failure; a defect shows, and is killed behind that."""
    (row,) = stress(find_traces([KILLS / f"{name}.trace.json"]), device="cpu").rows
    assert (row.verdict, row.reasons) == (Verdict.ENDED_WELL, ())
    killed = row.with_defect or row.reference
    assert killed is not None
    assert killed.followed == killed.of


@pytest.mark.torch
def test_a_fault_that_nobody_can_bring_about_from_outside_is_inconclusive(hosts: Hosts, tmp_path: Path) -> None:
    """A kill in the middle of a write: it is told with its step, and that it takes the controlled world."""

    def change(trace: Trace) -> Trace:
        torn = {"in the middle of": "words.write"}
        steps = [msgspec.structs.replace(step, fields=torn) if step.action == KILL else step for step in trace.steps]
        return msgspec.structs.replace(trace, steps=tuple(steps))

    stressed = stress(find_traces([saved(tmp_path, change, KILLS / "drain.trace.json")]), device="cpu", hosts=hosts)
    assert stressed.verdict is Verdict.INCONCLUSIVE
    (reason,) = stressed.rows[0].reasons
    assert "could not be led along the trace: step 7 of 21, kill(worker): fault.kill(worker)(" in reason
    assert "can only happen under control" in reason


@pytest.mark.torch
def test_an_interruption_ends_it_with_what_is_known(hosts: Hosts, tmp_path: Path) -> None:
    """The traces that were tried are told, and those that were not, as such; and nothing is left behind."""

    def interrupt(_: str, done: int, __: int | None) -> None:
        if done == 1:
            raise KeyboardInterrupt

    stressed: Stressed = stress(find_traces([LATE_SPLIT, ORPHAN]), device="cpu", hosts=hosts, progress=interrupt)
    assert [row.verdict for row in stressed.rows] == [Verdict.ENDED_WELL, Verdict.INCONCLUSIVE]
    assert stressed.rows[1].reasons == ("not run: it was interrupted before its end",)
    assert (stressed.left, stressed.verdict) == (1, Verdict.INCONCLUSIVE)


@pytest.mark.torch
@pytest.mark.parametrize(
    "error", [EnvironmentMissing("No process can be started.", "Free some."), InternalError("Odd.")], ids=repr
)
def test_what_ends_it_for_all_traces_takes_away_none_that_was_tried(
    error: OmniError, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A violation stays one, with the error and what was not run behind it; where there is nothing, it is raised."""
    failed = RealRun(Conducted(4, 4), Failure(FailureKind.EXCEPTION, "Output '1' did not come."), 0.1)
    monkeypatch.setattr(stressing, "run_on_processes", lambda *_, **__: failed)

    class Ending(Hosts):
        times = 2  # the reference and the defect of a trace

        def free(self) -> Any:
            if not self.times:
                raise error
            self.times -= 1

    traces = find_traces([LATE_SPLIT, ORPHAN, BUGS / "drain.sleep_without_drain.trace.json"])
    stressed = stress(traces, device="cpu", hosts=(ending := Ending()))
    assert [row.verdict for row in stressed.rows] == ["violated", "inconclusive", "inconclusive"]
    assert [row.reasons for row in stressed.rows[1:]] == [
        (str(error),),
        ("not run: it was interrupted before its end",),
    ]
    assert (stressed.verdict, stressed.left) == (Verdict.VIOLATED, 1)
    with pytest.raises(type(error), match=str(error)):
        stress(traces, device="cpu", hosts=ending)


def test_a_collection_that_cannot_be_replayed_is_refused_before_anything_runs(tmp_path: Path) -> None:
    """No traces, another version, an unknown scenario or defect, nothing to order: a sentence each, with the file."""
    with pytest.raises(UsageError, match=r"There is no \*\.trace\.json in "):
        find_traces([tmp_path])
    with pytest.raises(UsageError, match="Cannot read the trace 'none"):
        find_traces([Path("none.trace.json")])
    old = tmp_path / "old.trace.json"
    old.write_text(ORPHAN.read_text().replace('"version": 1', '"version": 0'))
    with pytest.raises(UsageError, match="has version 0; this omni-ipc reads version 1"):
        find_traces([old])
    with pytest.raises(UsageError, match=r"changed.*trace\.json' cannot be replayed: There is no scenario 'elsewhere'"):
        find_traces([saved(tmp_path, lambda trace: msgspec.structs.replace(trace, scenario="elsewhere"))])
    with pytest.raises(UsageError, match=r"changed.*trace\.json' cannot be replayed: There is no defect 'nothing'"):
        find_traces([saved(tmp_path, lambda trace: msgspec.structs.replace(trace, defect="nothing"))])
    with pytest.raises(UsageError, match="has no steps that could be put in order"):
        find_traces([saved(tmp_path, first(1))])
    with pytest.raises(UsageError, match="--repeat 0 runs nothing"):
        stress(find_traces([ORPHAN]), device="cpu", repeat=0)


@pytest.mark.parametrize(
    ("step", "lacks"),
    [
        (Step("main", "loop.run"), "main: loop.run()' has no 'callback'"),
        (Step("pump", "Pump.Unpack"), "pump: Pump.Unpack()' has no 'output'"),
        (Step("pump", "Pump.Reply"), "pump: Pump.Reply()' has no 'rpc'"),
    ],
    ids=lambda value: getattr(value, "action", ""),
)
def test_a_trace_whose_steps_lack_what_tells_them_apart_is_refused(tmp_path: Path, step: Step, lacks: str) -> None:
    """With the file and the step, before anything runs."""
    path = saved(tmp_path, lambda trace: msgspec.structs.replace(trace, steps=(step,)))
    with pytest.raises(UsageError) as refused:
        find_traces([path])
    assert f"'{path}' cannot be replayed: The step '{lacks}" in str(refused.value)
