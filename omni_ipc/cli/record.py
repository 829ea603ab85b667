"""``omni-ipc record``: a command, with what its processes do taken down."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from omni_ipc.cli.interrupts import answered
from omni_ipc.cli.options import Json
from omni_ipc.errors import Inconclusive
from omni_ipc.report.output import Output
from omni_ipc.report.targets import require_folder
from omni_ipc.report.text import counted


def record(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="What to run, behind two dashes.")],
    to: Annotated[Path, typer.Option(metavar="DIR", help="Where to write a file for each process.")] = Path("recorded"),
    anew: Annotated[bool, typer.Option("--anew", help="Remove the recordings of before that lie there.")] = False,
    json: Json = None,
) -> int:
    """Run a command, and take down every step of the Python processes that come of it.

    Ends with 1 if the command failed, and tells with which exit code (--json: exit_code).
    """
    with answered():  # once the command runs, Ctrl-C is its business
        from omni_ipc.workflows.recording import record as run
        from omni_ipc.workflows.validating import fitting_specs

        out = Output(json)
        require_folder(to)
    recorded = run(command, to, anew=anew)
    if not recorded.files:
        raise Inconclusive(
            f"'{command[0]}' ended with exit code {recorded.exit_code}, and no process of it recorded anything: none "
            "opened a region (rt.region) of a NativeRuntime, or none was a Python that has omni_ipc and takes "
            "PYTHONPATH. Give the code regions, or record its `python ...` command itself."
        )
    fitting = fitting_specs([Path(recorded.folder)])
    out.say(
        f"{counted(len(recorded.files), 'file')}, one for each process, {recorded.nbytes:,} bytes: {recorded.folder}",
        f"the command ended with exit code {recorded.exit_code}",
        "",
        *(f"omni-ipc validate {recorded.folder} --spec {spec}" for spec in fitting),
        *([] if fitting else ["no spec has a lens that speaks of it: docs/how-to/own-spec.md, section 4, shows how"]),
    )
    return out.write("record", 1 if recorded.exit_code else 0, recorded)
