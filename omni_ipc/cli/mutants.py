"""``omni-ipc mutants``: faults put into the product on purpose, and who notices them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from omni_ipc.cli.ending import working
from omni_ipc.cli.options import Json
from omni_ipc.report.output import Output, ShowProgress, table, told_line_by_line
from omni_ipc.report.text import counted
from omni_ipc.report.verdicts import sign


def mutants(
    only: Annotated[str | None, typer.Argument(metavar="PATTERN", help="Names of mutants: 'serving/outputs*'.")] = None,
    resume: Annotated[Path, typer.Option(metavar="DIR", help="Where what is known is kept, to go on with.")] = Path(
        ".omni_ipc/mutants"
    ),
    jobs: Annotated[int, typer.Option(help="Attacks at a time.")] = 2,
    by: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND", help="Attacks of this kind alone: conform, explore, tests. May be given again."),
    ] = None,
    record: Annotated[
        bool, typer.Option("--record", help="Keep what all came to: tests/mutants/matrix.json, docs/mutants.md.")
    ] = False,
    show: Annotated[bool, typer.Option("--list", help="Show the mutants' names, and attack none.")] = False,
    json: Json = None,
) -> int:
    """Put faults into transport and serving, one at a time, and let models, explorations and tests look for them."""
    from omni_ipc.workflows import mutating

    out = Output(json)
    if show:
        chosen = mutating.mutants(only)
        out.say(*(mutant.name for mutant in chosen), "", counted(len(chosen), "mutant"))
        return out.write("mutants", 0, chosen)
    kinds = mutating.kinds(by)
    with working("making mutants") as show_progress:
        found = mutating.mutate(
            resume, only=only, by=kinds, jobs=jobs, progress=_line_by_line(show_progress), record=record
        )
    columns = ("fault", "mutants", *(f"killed by {kind}" for kind in found.rows[0].killed), "no fault", "survived")
    rows = [(row.fault, row.mutants, *row.killed.values(), row.equivalent, row.survived) for row in found.rows]
    out.say(table(columns, [tuple(map(str, row)) for row in rows]))
    for survivor in found.survivors:
        tried = f"{counted(len(survivor.tried), 'attack')} on it, {len(survivor.undecided)} undecided"
        out.say("", f"{survivor.mutant}: {survivor.judged or 'nobody has judged it yet'} ({tried})", survivor.diff)
    for name in found.by_tests_alone:
        out.say(f"by tests alone: {name}")
    for attack in found.unusable:
        out.say(f"left out, because it does not pass on the product as it is: {attack}")
    killed = f"{found.share:.1%} of the mutants that are faults were killed by models and explorations alone"
    out.say("", Text.assemble(sign(found.verdict), f" {killed} (goal: {mutating.GOAL:.0%})"))
    return out.write("mutants", found.verdict.exit_code, found)


def _line_by_line(show: ShowProgress) -> Callable[[str, int, int], None]:
    """Show what is done, and, where nobody sees that, say it: it takes minutes, and all of them hours."""
    tell = told_line_by_line()

    def progress(what: str, done: int, total: int) -> None:
        show(what, done, total)
        tell(f"{done} of {total}: {what}")

    return progress
