"""The door for people and scripts: parse, call a workflow, print.

Exit codes, the same for every command:

    0  as claimed: it holds, holds within the bounds told, ended well, is as expected
    1  violated, diverged, or not as expected
    2  the call, a file or this machine is in the way: change that
    3  inconclusive, neither yes nor no: Ctrl-C, a worker that died, a bug of omni-ipc itself

People read standard output; progress and errors go to standard error. An error is one sentence; its traceback comes
with OMNI_IPC_DEBUG=1. A command imports what it needs when it runs, so that each starts at once.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import shlex
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

import typer
from rich.text import Text

from omni_ipc import __version__
from omni_ipc.errors import UsageError
from omni_ipc.records import Origin, Trace, Verdict
from omni_ipc.report.endings import ExitCode, ending_of
from omni_ipc.report.output import Output, progress, survive_readers, table
from omni_ipc.report.perfetto import write_events
from omni_ipc.report.plain import cut, neutral
from omni_ipc.report.targets import require_file, require_folder
from omni_ipc.report.text import counted, heading, render, tell
from omni_ipc.report.verdicts import effort, passed, sign, verdict_lines

app = typer.Typer(
    help="Find, replay and rule out the races of an inference engine's asynchronous output path.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

bench_app = typer.Typer(no_args_is_help=True, context_settings=app.info.context_settings)
app.add_typer(bench_app, name="bench", help="Measure, beside what else does the same, in one run.")

Json = Annotated[str | None, typer.Option("--json", metavar="FILE", help="Write the result as JSON, too; - is stdout.")]
Defect = Annotated[str | None, typer.Option(help="A field defect to put back; without it, it is the reference.")]
TraceFile = Annotated[Path, typer.Argument(metavar="TRACE", help="A *.trace.json file.")]


def main() -> None:
    """Run the command line."""
    survive_readers()
    for request in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(request, _interrupt)
    sys.exit(_end(lambda: app(prog_name="omni-ipc")))


def _interrupt(_: int, frame: FrameType | None) -> None:
    """Clean up as on Ctrl-C, also where that one is ignored, as in a shell's background."""
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else signal.default_int_handler)(signal.SIGINT, frame)


def _command(
    *, example: str, of: typer.Typer = app, name: str | None = None
) -> Callable[[Callable[..., int]], Callable[..., NoReturn]]:
    """Register a function as a command; it returns the exit code, and may raise whatever it likes."""

    def register(function: Callable[..., int]) -> Callable[..., NoReturn]:
        @functools.wraps(function)
        def command(**arguments: object) -> NoReturn:
            raise typer.Exit(_end(functools.partial(function, **arguments)))

        of.command(name, epilog=f"Example: {example}")(command)
        return command

    return register


def _end(command: Callable[[], int]) -> int:
    try:
        code = command()
        if sys.stdout is not None:  # the caller may have closed it
            sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        if os.environ.get("OMNI_IPC_DEBUG"):
            traceback.print_exc()
        code, sentence = ending_of(error)
        if sys.stderr is not None:
            print(f"omni-ipc: {neutral(cut(sentence))}", file=sys.stderr)
    return code


def _tell_version(wanted: bool) -> None:
    if wanted:
        print(f"omni-ipc {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Show the version, and end.")
    ] = False,
) -> None:
    pass


@_command(example="omni-ipc check SplitMap/design SplitMap/bug --jobs 2")
def check(
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="MODEL", help="A name or its front part: SplitMap, SplitMap/bug. Default: all."),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Runs of TLC at a time; each takes up to 1 GiB.")] = 2,
    json: Json = None,
) -> int:
    """Check models with TLC against what the manifest expects of each."""
    from omni_ipc.workflows.checking import check_models

    out = Output(json)
    with progress("checking models") as show_progress:
        checked = check_models(
            models or (),
            jobs=jobs,
            progress=lambda model, done, total: show_progress(model.model if model else "starting TLC", done, total),
        )
    code = ExitCode(checked.verdict.exit_code)
    lines = [(sign(m.verdict), m.model, _described(m.reason, f"within {m.bounds}")) for m in checked.models]
    out.say(table(("", "model", "what TLC found"), lines))
    expected = sum(model.verdict is Verdict.BOUNDED for model in checked.models)
    out.say("", f"{expected} of {counted(len(lines), 'model')} as expected")
    out.write("check", code, checked)
    return code


@_command(example="omni-ipc explore split_map --defect late_split_map --save traces")
def explore(
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO",
            help="split_map, closing, ... (an unknown name is answered with all), or path/to/file.py:function.",
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
    seed: Annotated[int, typer.Option(help="Of what is left to chance.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes that explore together.")] = 1,
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
    fault: Annotated[
        list[str] | None,
        typer.Option(
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
    json: Json = None,
) -> int:
    """Run a scenario under schedule after schedule, until one fails or none is left."""
    from omni_ipc.scenarios import DEFECTS
    from omni_ipc.testbed import saved
    from omni_ipc.testbed.explain import explain
    from omni_ipc.workflows.exploring import expected, explore_scenario, pace

    out = Output(json)
    require_folder(save or saved.FOLDER)
    with progress(f"exploring {scenario}") as show_progress, _going_on(resume):
        report = explore_scenario(
            scenario,
            defect=defect,
            strategy=strategy,
            runs=runs,
            seconds=seconds,
            seed=seed,
            memory=memory,
            faults=fault or (),
            timers=timers,
            instrument=instrument or (),
            jobs=jobs,
            resume=resume,
            first=() if fresh else saved.for_scenario(scenario, defect=defect, memory=memory),
            progress=lambda now: show_progress(pace(now), now.schedules, runs or expected(now)),
        )
    code = ExitCode(report.verdict.exit_code)
    reason = report.reason.removesuffix(f": {report.failure}")  # it is told below
    about = [DEFECTS[defect].summary] if defect else []
    out.say(verdict_lines(_named(scenario, defect), report.verdict, *about, reason, effort(report), *report.notes))
    if report.trace:
        out.say("", render(explain(report.trace), width=out.width))
    elif report.failure:
        out.say("", tell(report.failure))
    if report.trace:
        path = _save(report.trace, save) if save else saved.save(report.trace)
        out.say("", f"replay it: {_replay_command(report.trace, path)}")
        out.say(f"look at it: {shlex.join(['omni-ipc', 'show', str(path), '--html', f'{path.stem}.html'])}")
    out.write("explore", code, report)
    return code


@_command(example="omni-ipc replay traces/split_map.late_split_map.trace.json --defect late_split_map --on processes")
def replay(
    trace: TraceFile,
    defect: Defect = None,
    on: Annotated[str, typer.Option(help="controlled, threads or processes.")] = "controlled",
    device: Annotated[str, typer.Option(help="Where a worker process computes: cpu or cuda.")] = "cpu",
    tolerant: Annotated[
        bool, typer.Option("--tolerant", help="Mend what an edit of the code has changed: skip, add and match steps.")
    ] = False,
    renamed: Annotated[
        list[str] | None,
        typer.Option(metavar="OLD=NEW", help="A task that has another name now, for --tolerant. May be given again."),
    ] = None,
    json: Json = None,
) -> int:
    """Run the code along a trace: the reference, unless a defect is put back."""
    from omni_ipc.device.api import open_device
    from omni_ipc.testbed import Mode
    from omni_ipc.workflows import replaying

    out = Output(json)
    given = Trace.load(trace)
    mode = Mode.TOLERANT if tolerant or renamed else Mode.STRICT
    open_device(device)  # refuses here, and not in the worker, what this machine does not have
    with progress(f"replaying {trace.name} on {on}"):
        replayed = replaying.replay(
            given, defect=defect, on=on, device=device, mode=mode, renamed=dict(map(_pair, renamed or ()))
        )
    code = ExitCode(replayed.verdict.exit_code)
    out.say(verdict_lines(_named(given.scenario, defect), replayed.verdict, replayed.summary, *replayed.repairs))
    if replayed.verdict is Verdict.DIVERGED and given.origin is Origin.EXPLORED:
        out.say("", f"if the code was edited: {_replay_command(given, trace)} --tolerant")
    if replayed.failure:
        out.say("", tell(replayed.failure))
    out.write("replay", code, replayed)
    return code


@_command(example="omni-ipc show traces/split_map.late_split_map.trace.json --html split_map.html")
def show(
    trace: TraceFile,
    everything: Annotated[bool, typer.Option("--all", help="Show each step, and not only those that matter.")] = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page for a browser, whole in itself.")
    ] = None,
    perfetto: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write it for the viewer ui.perfetto.dev.")
    ] = None,
    json: Json = None,
) -> int:
    """Show a trace: what happened in words, one column a task, one row a step that matters."""
    from omni_ipc.testbed.explain import explain

    out = Output(json)
    for target in filter(None, (html, perfetto)):
        require_file(target)
    given = Trace.load(trace)
    explanation = explain(given)
    command = _replay_command(given, trace)
    if html is not None:
        from omni_ipc.report.html import write_page  # its templates take a while to load

        write_page(explanation, html, command=command)
        out.say(f"wrote {html}: open it in a browser")
    if perfetto is not None:
        write_events(explanation, perfetto)
        out.say(f"wrote {perfetto}: open it at https://ui.perfetto.dev")
    if html is None and perfetto is None:
        out.say(heading(given), "", render(explanation, width=out.width, full=everything), "", f"replay it: {command}")
    out.write("show", ExitCode.AS_CLAIMED, given)
    return ExitCode.AS_CLAIMED


@_command(example="omni-ipc demo --keep traces")
def demo(
    keep: Annotated[Path | None, typer.Option(metavar="DIR", help="Where to leave the traces.")] = None,
    json: Json = None,
) -> int:
    """Take three races from their models to real processes, each with its defect and without."""
    from omni_ipc.workflows.demo import RACES, Stage, run

    out = Output(json)
    if keep is not None:
        require_folder(keep)
    done = itertools.count()
    with progress("three races") as show_progress:
        shown = run(
            keep=keep,
            progress=lambda race, stage, _: show_progress(f"{race}: {stage}", next(done) // 2, len(RACES) * len(Stage)),
        )
    code = ExitCode(shown.verdict.exit_code)
    for race in RACES:
        cells = [cell for cell in shown.cells if cell.race == race]
        out.say(
            table(("", race, ""), [(passed(c.expected), c.stage, _described(c.brief, *c.detail)) for c in cells]), ""
        )
    signs = {(cell.race, cell.stage): passed(cell.expected) for cell in shown.cells}
    out.say(table(("", *Stage), [(race, *(signs[race, stage] for stage in Stage)) for race in RACES]))
    expected = sum(cell.expected for cell in shown.cells)
    out.say(
        "",
        f"{expected} of {counted(len(shown.cells), 'cell')} as expected, on {shown.device}, in {shown.seconds:.0f} s",
    )
    out.write("demo", code, shown)
    return code


@_command(example="omni-ipc bench transport --quick --plot transport.svg", of=bench_app)
def transport(
    quick: Annotated[bool, typer.Option("--quick", help="Take 50 seconds, and not minutes.")] = False,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Where to draw it: *.png or *.svg.")] = None,
    json: Json = None,
) -> int:
    """Compare ways between two processes: latency, messages a second, idle readers; a report, whatever it finds."""
    from omni_ipc.workflows.bench import plot as plots
    from omni_ipc.workflows.bench import tables
    from omni_ipc.workflows.bench.transport import FULL, QUICK, compare

    out = Output(json)
    if plot is not None:
        plots.check(plot)
    with progress("starting") as show_progress:
        comparison = compare(QUICK if quick else FULL, progress=show_progress)
    out.say(*tables.parts(comparison))
    out.say("", f"{counted(comparison.repetitions, 'repetition')} in {comparison.seconds:.0f} s")
    if plot is not None:
        plots.draw(comparison.results, plot)
    out.write_rows(comparison.results.rows())
    return ExitCode.AS_CLAIMED


@_command(example="omni-ipc bench serving --quick --json serving.json", of=bench_app)
def serving(
    quick: Annotated[bool, typer.Option("--quick", help="Take 50 seconds, and not minutes.")] = False,
    json: Json = None,
) -> int:
    """Compare the output path with the old way: overhead of a request, copies, requests a second; a report."""
    from omni_ipc.workflows.bench import serving_tables
    from omni_ipc.workflows.bench.serving import FULL, QUICK, compare

    out = Output(json)
    with progress("starting") as show_progress:
        comparison = compare(QUICK if quick else FULL, progress=show_progress)
    out.say(*serving_tables.parts(comparison))
    out.say("", f"{counted(comparison.repetitions, 'repetition')} in {comparison.seconds:.0f} s")
    out.write_rows(comparison.results.rows())
    return ExitCode.AS_CLAIMED


@_command(example="omni-ipc bench explore --quick --plot explore.svg", of=bench_app, name="explore")
def bench_explore(
    quick: Annotated[bool, typer.Option("--quick", help="Take 50 seconds, and a third of the kernels.")] = False,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Where to draw it: *.png or *.svg.")] = None,
    kernels: Annotated[Path, typer.Option(metavar="DIR", help="A checkout, which has tests/kernels.")] = Path(),
    json: Json = None,
) -> int:
    """Compare what looks for races, on the same kernels: what is found, how soon, and what is said falsely."""
    from omni_ipc.workflows.bench import explore_plot, explore_tables
    from omni_ipc.workflows.bench import plot as plots
    from omni_ipc.workflows.bench.explore import FULL, QUICK, compare, find_kernels

    out = Output(json)
    if plot is not None:
        plots.check(plot)
    folder = kernels.resolve()
    found = find_kernels(folder)
    with progress("starting") as show_progress:
        comparison = compare(QUICK if quick else FULL, kernels=found, folder=folder, progress=show_progress)
    out.say(*explore_tables.parts(comparison))
    out.say("", f"{counted(comparison.repetitions, 'repetition')} in {comparison.seconds:.0f} s")
    if plot is not None:
        explore_plot.draw(comparison.results, plot)
    out.write_rows(comparison.results.rows())
    return ExitCode.AS_CLAIMED


@_command(example="omni-ipc doctor --json doctor.json")
def doctor(json: Json = None) -> int:
    """Tell what works on this machine, what is missing, and the command that brings it."""
    from omni_ipc.workflows.doctor import Health, examine, works

    out = Output(json)
    findings = []
    with progress("looking around") as show_progress:
        for finding in examine():
            findings.append(finding)
            show_progress(f"looked at {finding.subject}", len(findings), None)
    code = ExitCode.AS_CLAIMED if works(findings) else ExitCode.USAGE
    styles = {Health.OK: "green", Health.DEGRADED: "yellow", Health.MISSING: "red"}
    lines = [
        (f.subject, Text(f.health, styles[f.health]), _described(f.found, *([f"→ {f.remedy}"] if f.remedy else [])))
        for f in findings
    ]
    out.say(table(("", "", "found, and what to do"), lines))
    out.write("doctor", code, findings)
    return code


def _described(sentence: str, *more: str) -> Text:
    """Give a sentence, and more on it below."""
    return Text.assemble(sentence, *((f"\n{line}", "dim") for line in more))


def _named(scenario: str, defect: str | None) -> str:
    return f"{scenario} with {defect}" if defect else scenario


def _replay_command(trace: Trace, path: Path) -> str:
    """Give the command that replays a trace on the code that it was found on; pytest's, if that is a test."""
    if "::" in trace.scenario:
        return shlex.join(["pytest", trace.scenario, "--omni-replay", str(path)])
    return shlex.join(["omni-ipc", "replay", str(path), *(["--defect", trace.defect] if trace.defect else [])])


@contextlib.contextmanager
def _going_on(folder: Path | None) -> Iterator[None]:
    """Let an interrupt say that the exploration was saved, if it was."""
    try:
        yield
    except KeyboardInterrupt:
        if folder is not None and any(folder.glob("exploration.*.json")):
            raise KeyboardInterrupt(f"'{folder}' holds the exploration: the same command goes on with it.") from None
        raise


def _pair(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not (old and equals and new):
        raise UsageError(f"'{text}' does not say which task has which name now. Write OLD=NEW.")
    return old, new


def _save(trace: Trace, folder: Path) -> Path:
    """Save a trace under the names of its scenario, or of file and function, and of its defect."""
    file, _, function = trace.scenario.rpartition(":")
    names = (Path(file).stem, function, trace.defect or "")
    return trace.save(folder / f"{'.'.join(filter(None, names))}.trace.json")
