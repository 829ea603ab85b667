"""``omni-ipc replay``: code along a trace."""

from __future__ import annotations

from typing import Annotated

import typer

from omni_ipc.cli.ending import working
from omni_ipc.cli.options import Defect, Json, TraceFile, named, replay_command
from omni_ipc.errors import UsageError
from omni_ipc.records import Origin, Trace, Verdict
from omni_ipc.report.output import Output
from omni_ipc.report.text import tell
from omni_ipc.report.verdicts import verdict_lines


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
    from omni_ipc.testbed.explain import explain
    from omni_ipc.workflows import replaying

    out = Output(json)
    names = dict(map(_pair, renamed or ()))
    with working(f"replaying {trace.name} on {on}"):
        given = Trace.load(trace)
        open_device(device)  # refuses here, and not in the worker, what this machine does not have
        mode = Mode.TOLERANT if tolerant or names else Mode.STRICT
        replayed = replaying.replay(given, defect=defect, on=on, device=device, mode=mode, renamed=names)
    out.say(verdict_lines(named(given.scenario, defect), replayed.verdict, replayed.summary, *replayed.repairs))
    if replayed.verdict is Verdict.DIVERGED and given.origin is Origin.EXPLORED:
        out.say("", f"if the code was edited: {replay_command(given, trace)} --tolerant")
    if replayed.failure:
        read = explain(replayed.trace).trace.failure if replayed.trace else None
        out.say("", tell(read or replayed.failure))
    return out.write("replay", replayed.verdict.exit_code, replayed)


def _pair(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not (old and equals and new):
        raise UsageError(f"'{text}' does not say which task has which name now. Write OLD=NEW.")
    return old, new
