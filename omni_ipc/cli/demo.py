"""``omni-ipc demo``: the main job, from models to real processes."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Annotated

import typer

from omni_ipc.cli.ending import working
from omni_ipc.cli.options import Json, described
from omni_ipc.report.output import Output, table
from omni_ipc.report.targets import require_folder
from omni_ipc.report.text import counted
from omni_ipc.report.verdicts import passed


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
    with working("three races") as show_progress:
        shown = run(
            keep=keep,
            progress=lambda race, stage, _: show_progress(f"{race}: {stage}", next(done) // 2, len(RACES) * len(Stage)),
        )
    for race in RACES:
        cells = [cell for cell in shown.cells if cell.race == race]
        lines = [(passed(cell.expected), cell.stage, described(cell.brief, *cell.detail)) for cell in cells]
        out.say(table(("", race, ""), lines), "")
    signs = {(cell.race, cell.stage): passed(cell.expected) for cell in shown.cells}
    out.say(table(("", *Stage), [(race, *(signs[race, stage] for stage in Stage)) for race in RACES]))
    expected = sum(cell.expected for cell in shown.cells)
    cells_in_all = counted(len(shown.cells), "cell")
    out.say("", f"{expected} of {cells_in_all} as expected, on {shown.device}, in {shown.seconds:.0f} s")
    return out.write("demo", shown.verdict.exit_code, shown)
