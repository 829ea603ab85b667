"""``omni-ipc show``: a trace for people, in the terminal, a browser or Perfetto's viewer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from omni_ipc.cli.ending import working
from omni_ipc.cli.options import Html, Json, TraceFile, replay_command
from omni_ipc.records import Trace
from omni_ipc.report.endings import ExitCode
from omni_ipc.report.output import Output
from omni_ipc.report.perfetto import write_events
from omni_ipc.report.targets import require_file
from omni_ipc.report.text import heading, render


def show(
    trace: TraceFile,
    everything: Annotated[bool, typer.Option("--all", help="Show each step, and not only those that matter.")] = False,
    html: Html = None,
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
    with working(f"reading {trace.name}"):
        given = Trace.load(trace)
        explanation = explain(given)
    command = replay_command(given, trace)
    if html is not None:
        from omni_ipc.report.html import write_page  # its templates take a while to load

        write_page(explanation, html, command=command)
        out.say(f"wrote {html}: open it in a browser")
    if perfetto is not None:
        write_events(explanation, perfetto)
        out.say(f"wrote {perfetto}: open it at https://ui.perfetto.dev")
    if html is None and perfetto is None:
        out.say(heading(given), "", render(explanation, width=out.width, full=everything), "", f"replay it: {command}")
    return out.write("show", ExitCode.AS_CLAIMED, given)
