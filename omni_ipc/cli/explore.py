"""``omni-ipc explore``: a scenario under schedule after schedule."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from omni_ipc.cli.ending import working
from omni_ipc.cli.options import Defect, Json, Junit, On, Seed, named, replay_command
from omni_ipc.errors import UsageError
from omni_ipc.records import Report, Trace
from omni_ipc.report.junit import Case, write_junit
from omni_ipc.report.output import Output, complain
from omni_ipc.report.targets import require_file, require_folder
from omni_ipc.report.text import render, tell
from omni_ipc.report.verdicts import effort, verdict_lines


def explore(
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO",
            help="split_map, closing, ... ('?' is answered with all of them), or path/to/file.py:function.",
        ),
    ],
    defect: Defect = None,
    strategy: Annotated[
        str,
        typer.Option(
            help="portfolio: several, in rounds; dpor, preemption-bounded, delay-bounded, depth-first, brute-force; "
            "surw, pos, pct, urw, random, or sampling: all of these."
        ),
    ] = "portfolio",
    runs: Annotated[int | None, typer.Option(help="Schedules to run at most.")] = None,
    seconds: Annotated[float | None, typer.Option(help="Time to spend at most.")] = None,
    seed: Seed = 0,
    jobs: Annotated[int, typer.Option(help="Processes that explore together.")] = 1,
    on: On = None,
    instrument: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODULE",
            help="A module or package (vendor.pump, vendor.*) that gets a point at each access to state that tasks "
            "share. May be given again.",
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where to save the exploration from time to time, and go on from."),
    ] = None,
    memory: Annotated[
        str, typer.Option(help="When tasks see each other's stores: sc (at once), tso (x86-64), release or weak.")
    ] = "sc",
    faults: Annotated[
        list[str] | None,
        typer.Option(
            "--faults",
            "--fault",
            metavar="FAULT",
            help="What may go wrong at any step: kill:NAME, spurious, cancel[:NAME], late[:NAME] or hook:NAME; each "
            "once in a schedule, or with ,N at most N times. May be given again.",
        ),
    ] = None,
    timers: Annotated[
        str, typer.Option(help="When timeouts fire: virtual (if nobody can go on) or explored (also before).")
    ] = "virtual",
    save: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where to save the trace of a failure; default: .omni_ipc.")
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Do not run first the failures that were saved in .omni_ipc before.")
    ] = False,
    junit: Junit = None,
    json: Json = None,
) -> int:
    """Run a scenario under schedule after schedule, until one fails or none is left."""
    from omni_ipc.scenarios import KNOWN
    from omni_ipc.testbed import saved
    from omni_ipc.workflows.exploring import expected, explore_scenario, pace

    out = Output(json)
    require_folder(save or saved.FOLDER)
    if junit is not None:
        require_file(junit)
    with working(f"exploring {scenario}") as show_progress, _going_on(resume):
        report = explore_scenario(
            scenario,
            defect=defect,
            strategy=strategy,
            runs=runs,
            seconds=seconds,
            seed=seed,
            memory=memory,
            faults=faults or (),
            timers=timers,
            instrument=instrument or (),
            jobs=jobs,
            on=on,
            resume=resume,
            first=() if fresh else saved.for_scenario(scenario, defect=defect, memory=memory),
            progress=lambda now: show_progress(pace(now), now.schedules, runs or expected(now)),
        )
    reason = report.reason.removesuffix(f": {report.failure}")  # it is told below
    about = [KNOWN[defect].summary] if defect else []
    out.say(verdict_lines(named(scenario, defect), report.verdict, *about, reason, effort(report), *report.notes))
    if report.trace:
        _tell_trace(out, report.trace, save)
    elif report.failure:
        out.say("", tell(report.failure))
    cases = [_case(named(scenario, defect), report)]
    files = [lambda: write_junit(junit, "omni-ipc explore", cases)] if junit else []
    return out.write("explore", report.verdict.exit_code, report, *files)


def _case(name: str, report: Report) -> Case:
    details = tell(report.failure).plain if report.failure else ""
    return Case(report.scenario, name, report.verdict, report.reason, details, report.seconds)


def _tell_trace(out: Output, trace: Trace, folder: Path | None) -> None:
    """Show the trace of a failure, and save it; where that cannot be, the failure is no less one."""
    from omni_ipc.testbed import saved
    from omni_ipc.testbed.explain import explain

    out.say("", render(explain(trace), width=out.width))
    try:
        path = _save(trace, folder) if folder else saved.save(trace)
    except UsageError as error:
        complain(f"The failure was not saved. {error}")
        return
    out.say("", f"replay it: {replay_command(trace, path)}")
    out.say(f"look at it: {shlex.join(['omni-ipc', 'show', str(path), '--html', f'{path.stem}.html'])}")


@contextlib.contextmanager
def _going_on(folder: Path | None) -> Iterator[None]:
    """Let an interrupt say that the exploration was saved, if it was."""
    try:
        yield
    except KeyboardInterrupt:
        if folder is not None and any(folder.glob("exploration.*.json")):
            raise KeyboardInterrupt(f"'{folder}' holds the exploration: the same command goes on with it.") from None
        raise


def _save(trace: Trace, folder: Path) -> Path:
    """Save a trace under the names of its scenario, or of file and function, and of its defect."""
    file, _, function = trace.scenario.rpartition(":")
    names = (Path(file).stem, function, trace.defect or "")
    return trace.save(folder / f"{'.'.join(filter(None, names))}.trace.json")
