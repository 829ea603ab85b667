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

import functools
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.text import Text

from omni_ipc import __version__
from omni_ipc.records import Trace
from omni_ipc.report.endings import ExitCode, ending_of, together
from omni_ipc.report.output import Output, progress, survive_readers, table
from omni_ipc.report.text import counted, heading, render
from omni_ipc.report.verdicts import sign

if TYPE_CHECKING:
    from omni_ipc.conformance.check import CheckResult

app = typer.Typer(
    help="Find, replay and rule out the races of an inference engine's asynchronous output path.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Json = Annotated[str | None, typer.Option("--json", metavar="FILE", help="Write the result as JSON, too; - is stdout.")]
Model = Annotated[
    list[str] | None,
    typer.Argument(metavar="[MODEL]...", help="A name or its front part: SplitMap, SplitMap/bug. Default: all models."),
]
TraceFile = Annotated[Path, typer.Argument(metavar="TRACE", help="A *.trace.json file.")]


def main() -> None:
    """Run the command line."""
    survive_readers()
    for request in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(request, signal.default_int_handler)  # clean up as on Ctrl-C
    sys.exit(_end(lambda: app(prog_name="omni-ipc")))


def _command(*, example: str) -> Callable[[Callable[..., int]], Callable[..., NoReturn]]:
    """Register a function as a command; it returns the exit code, and may raise whatever it likes."""

    def register(function: Callable[..., int]) -> Callable[..., NoReturn]:
        @functools.wraps(function)
        def command(**arguments: object) -> NoReturn:
            raise typer.Exit(_end(functools.partial(function, **arguments)))

        app.command(epilog=f"Example: {example}")(command)
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
            print(f"omni-ipc: {sentence}", file=sys.stderr)
    return code


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", help="Show the version, and end.", is_eager=True)] = False,
) -> None:
    if version:
        print(f"omni-ipc {__version__}")
        raise typer.Exit


@_command(example="omni-ipc check SplitMap/design SplitMap/bug --jobs 2")
def check(
    models: Model = None,
    jobs: Annotated[int, typer.Option(min=1, help="Runs of TLC at a time; each takes up to 1 GiB.")] = 2,
    json: Json = None,
) -> int:
    """Check models with TLC against what the manifest expects of each."""
    from omni_ipc.conformance import check as checking
    from omni_ipc.conformance.manifest import load
    from omni_ipc.conformance.toolchain import Toolchain

    out = Output(json)
    manifest = load()
    chosen = manifest.select(models or ())
    toolchain = Toolchain.find()
    with progress(f"checking {counted(len(chosen), 'model')}", total=len(chosen)) as show_progress:

        def advance(done: int, _: int, latest: CheckResult) -> None:
            show_progress(f"{latest.model.name} is {latest.status.value}", done)

        results = checking.check(chosen, manifest, toolchain=toolchain, jobs=jobs, progress=advance)
    codes = [_CODES[result.status.value] for result in results]
    code = together(codes)
    out.write({"exit_code": code, "tlc_sha256": toolchain.sha256(), "models": [_as_json(r) for r in results]})
    lines = [(sign(c), r.model.name, _found(r)) for c, r in zip(codes, results, strict=True)]
    out.say(table(("", "model", "what TLC found"), lines))
    out.say("", f"{codes.count(ExitCode.AS_CLAIMED)} of {counted(len(codes), 'model')} as expected")
    return code


_CODES = {
    "as expected": ExitCode.AS_CLAIMED,
    "not as expected": ExitCode.VIOLATED,
    "inconclusive": ExitCode.INCONCLUSIVE,
}


def _found(checked: CheckResult) -> Text:
    return Text.assemble(checked.reason, (f"\nwithin {checked.bounds}" if checked.bounds else "", "dim"))


def _as_json(checked: CheckResult) -> dict[str, Any]:
    model, result = checked.model, checked.result
    return {
        "model": model.name,
        "role": model.role.value,
        "status": checked.status.value,
        "reason": checked.reason,
        "bounds": checked.bounds,
        "result": result.kind.value,
        "name": result.name,
        "depth": result.depth,
        "distinct_states": result.distinct,
        "seconds": result.seconds,
    }


@_command(example="omni-ipc show traces/split_map.late_split_map.trace.json")
def show(
    trace: TraceFile,
    full: Annotated[bool, typer.Option("--full", help="Show each step, however many there are.")] = False,
    json: Json = None,
) -> int:
    """Show a trace: one column a task, one row a step."""
    shown = Trace.load(trace)
    out = Output(json)
    out.write(shown)
    out.say(heading(shown), "", render(shown, width=out.width, full=full))
    return ExitCode.AS_CLAIMED


@_command(example="omni-ipc doctor --json doctor.json")
def doctor(json: Json = None) -> int:
    """Tell what works on this machine, what is missing, and the command that brings it."""
    from omni_ipc.workflows.doctor import Health, examine, works

    out = Output(json)
    findings = []
    with progress("looking around") as advance:
        for finding in examine():
            findings.append(finding)
            advance(finding.subject, len(findings))
    code = ExitCode.AS_CLAIMED if works(findings) else ExitCode.USAGE
    out.write({"exit_code": code, "findings": findings})
    styles = {Health.OK: "green", Health.DEGRADED: "yellow", Health.MISSING: "red"}
    lines = [
        (
            finding.subject,
            Text(finding.health.value, styles[finding.health]),
            "\n".join(filter(None, (finding.found, finding.remedy))),
        )
        for finding in findings
    ]
    out.say(table(("", "", "found, and what to do"), lines))
    return code
