"""``omni-ipc stress reduce``: a violation on real processes, cut down from their recordings to a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from omni_ipc.cli.ending import working
from omni_ipc.cli.options import Json, Seed
from omni_ipc.report.output import Output, complain
from omni_ipc.report.targets import require_folder


def reduce(
    recordings: Annotated[
        list[Path], typer.Argument(metavar="LOGS…", help="What processes took down: folders, or files.")
    ],
    defect: Annotated[
        str | None, typer.Option(metavar="NAME", help="The field defect that they had; none: the reference.")
    ] = None,
    request: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="A request that is concerned; may be given several times.")
    ] = None,
    save: Annotated[Path, typer.Option(metavar="DIR", help="Where to save the trace.")] = Path("findings"),
    seconds: Annotated[float, typer.Option(metavar="SECONDS", help="How long to look for it, at most.")] = 30.0,
    seed: Seed = 0,
    json: Json = None,
) -> int:
    """Follow what went wrong on processes in small worlds, and save the schedule that fails there."""
    from omni_ipc.workflows import reducing

    out = Output(json)
    require_folder(save)
    with working("reading recordings") as show_progress:
        reduced = reducing.reduce_recordings(
            recordings,
            to=save,
            defect=defect,
            requests=request or (),
            seconds=seconds,
            seed=seed,
            progress=lambda what: show_progress(what, 0, None),
        )
    for suspect in reduced.suspects[:1]:
        out.say(f"output {suspect.output}: {suspect.why}", f"  {' → '.join(suspect.order)}")
    out.say("", reduced.summary)
    if reduced.trace is not None:
        with_defect = f" --defect {reduced.defect}" if reduced.defect else ""
        out.say(f"Replay it: omni-ipc replay {reduced.trace}{with_defect}")
    if reduced.unsaved is not None:
        complain(f"The trace was not saved. {reduced.unsaved}")
    return out.write("stress reduce", reduced.verdict.exit_code, reduced)
