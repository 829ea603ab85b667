"""Every trace of a collection on real worker processes: on the reference, and on the defect that it shows."""

from __future__ import annotations

import contextlib
import statistics
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from omni_ipc import scenarios
from omni_ipc.errors import Inconclusive, InternalError, OmniError, UsageError
from omni_ipc.records import Trace, Verdict
from omni_ipc.scenarios import Scenario
from omni_ipc.serving.host import WorkerHost
from omni_ipc.stress.device_errors import is_lost
from omni_ipc.workflows.collecting import SUFFIX, is_of_function
from omni_ipc.workflows.conducting import RealRun, require_torch, run_on_processes
from omni_ipc.workflows.schedule import Conducted
from omni_ipc.workflows.staging import schedule_of
from omni_ipc.workflows.stressed import Row, Stressed, Tried, verdict_of


def stress(
    traces: dict[Path, Trace],
    *,
    device: str,
    repeat: int = 1,
    hosts: Hosts | None = None,
    progress: Callable[[str, int, int | None], None] = lambda *_: None,
    on_row: Callable[[Row], object] = lambda _: None,
) -> Stressed:
    """Run every trace on worker processes, ``repeat`` times; Ctrl-C ends that with what is known by then.

    So does what is not the trace's alone, if it comes behind the first one: no process can be started any more.

    The verdict is that of the traces that have a worker; where none has, nothing was shown.

    Args:
        hosts: whose processes to use; they are then left as they are.
        on_row: told of each trace once it is done with.

    Raises:
        UsageError: ``repeat`` is no number of times.
        EnvironmentMissing: torch is missing, or not one process can be started.
    """
    if repeat < 1:
        raise UsageError(f"--repeat {repeat} runs nothing. Give 1 or more.")
    require_torch()
    named = [(file.name.removesuffix(SUFFIX), trace) for file, trace in traces.items()]
    rows: list[Row] = []
    with contextlib.nullcontext(hosts) if hosts else Hosts() as using, contextlib.suppress(KeyboardInterrupt):
        for row in _rows(named, using, device, repeat, progress):
            rows.append(row)
            on_row(row)
    left = [Row.untried(*each, Verdict.INCONCLUSIVE, _INTERRUPTED) for each in named[len(rows) :]]
    return Stressed(device, repeat, verdict_of([*rows, *left]), (*rows, *left), len(left))


_INTERRUPTED = "not run: it was interrupted before its end"
_NO_WORKER = "not on processes: a function of yours, it has no worker"


class Hosts:
    """One worker process after the other: starting one takes a second or more, so each is used until it is stuck."""

    def __init__(self) -> None:
        self._host: WorkerHost | None = None

    def __enter__(self) -> Hosts:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def free(self) -> WorkerHost:
        """Give a process that can take a worker."""
        if self._host is None or not self._host.free:
            self._stop()
            self._host = WorkerHost()
        return self._host

    def _stop(self) -> None:
        if self._host is not None:
            self._host.stop()
            self._host = None


def _rows(
    named: Sequence[tuple[str, Trace]],
    hosts: Hosts,
    device: str,
    repeat: int,
    progress: Callable[[str, int, int | None], None],
) -> Iterator[Row]:
    """Try one trace after the other, to the first at which it ends for all of them: what was shown before counts."""
    for done, (name, trace) in enumerate(named):
        progress(f"replaying {name}", done, len(named))
        try:
            yield _try(name, trace, hosts, device, repeat)
        except (UsageError, InternalError) as error:
            if not done:
                raise
            yield Row.untried(name, trace, Verdict.INCONCLUSIVE, str(error))
            return


def _try(name: str, trace: Trace, hosts: Hosts, device: str, repeat: int) -> Row:
    if is_of_function(trace):
        return Row.untried(name, trace, None, _NO_WORKER)
    scenario = scenarios.find(trace.scenario)
    try:
        reference, well = _run(trace, scenario, None, hosts, device, repeat)
        shown = None
        if trace.defect is not None:
            shown, also = _run(trace, scenario, trace.defect, hosts, device, repeat)
            well += also
    except (UsageError, InternalError):
        raise
    except OmniError as error:
        return Row.untried(name, trace, Verdict.INCONCLUSIVE, str(error))
    verdicts = [verdict for verdict, _ in well] or [Verdict.ENDED_WELL]
    verdict = Verdict.VIOLATED if Verdict.VIOLATED in verdicts else verdicts[0]
    return Row(name, trace.scenario, trace.defect, verdict, reference, shown, tuple(reason for _, reason in well))


_Faults = list[tuple[Verdict, str]]


def _run(
    trace: Trace, scenario: Scenario, defect: str | None, hosts: Hosts, device: str, repeat: int
) -> tuple[Tried, _Faults]:
    """Run one of the two, and judge it.

    Raises:
        Inconclusive: the device is lost.
    """
    steps, parts = schedule_of(trace, scenario, defect), scenario.parts(defect)
    vocabulary = {(step.task, step.action) for step in steps}
    runs = [
        run_on_processes(scenario, parts, steps, device=device, host=hosts.free(), vocabulary=vocabulary)
        for _ in range(repeat)
    ]
    if lost := next((run.failure for run in runs if run.failure and is_lost(device, str(run.failure))), None):
        raise Inconclusive(f"the device is lost: {lost}")
    least = min(runs, key=lambda run: run.conducted.followed).conducted
    good = [run for run in runs if (run.failure is None) is (defect is None)]
    told = next((str(run.failure) for run in runs if run.failure), _way(least))
    tried = Tried(
        runs=repeat,
        as_claimed=len(good),
        followed=least.followed,
        passed=least.passed,
        of=least.of,
        ms=round(statistics.median(run.seconds for run in runs) * 1e3, 1),
        told=told,
    )
    return tried, [*(_judge_reference(tried, runs) if defect is None else _judge_defect(defect, tried, runs))]


def _way(conducted: Conducted) -> str | None:
    """Say where a run goes another way than the trace; None if it does not."""
    if conducted.refusal:
        return f"leaves the trace at {conducted.refusal}"
    at = conducted.followed + conducted.passed + 1
    return None if conducted.whole else f"leaves the trace at step {at} of {conducted.of}, before which it had ended"


def _judge_reference(tried: Tried, runs: Sequence[RealRun]) -> Iterator[tuple[Verdict, str]]:
    failed = tried.runs - tried.as_claimed
    lost = next((run.conducted for run in runs if run.conducted.refusal and not run.conducted.is_departure), None)
    if failed:
        yield Verdict.VIOLATED, f"the reference failed in {failed} of {tried.runs} runs: {tried.told}"
    elif tried.followed == 0:
        yield Verdict.INCONCLUSIVE, f"the reference followed not one step: it {tried.told}"
    elif lost is not None:
        yield Verdict.INCONCLUSIVE, f"the reference could not be led along the trace: {lost.refusal}"


def _judge_defect(defect: str, tried: Tried, runs: Sequence[RealRun]) -> Iterator[tuple[Verdict, str]]:
    if tried.as_claimed == tried.runs:
        return
    missed = [run.conducted for run in runs if run.failure is None]
    shown = f"{defect} showed in {tried.as_claimed} of {tried.runs} runs"
    strayed = next((conducted for conducted in missed if not conducted.whole), None)
    if strayed is not None:
        yield Verdict.INCONCLUSIVE, f"{shown}; where it did not, the trace could not be followed: it {_way(strayed)}"
    elif tried.as_claimed:
        yield Verdict.INCONCLUSIVE, f"{shown}, though all of them followed the trace to its end"
    else:
        yield Verdict.VIOLATED, f"{shown}, though the trace was followed to its end: it shows the defect no more"
