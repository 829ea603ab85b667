"""``omni-ipc spec``: what is generated from the specs, and what of them matters."""

from __future__ import annotations

from typing import Annotated

import typer

from omni_ipc.cli.ending import working
from omni_ipc.cli.options import Json
from omni_ipc.report.endings import ExitCode
from omni_ipc.report.output import Output, behind, table
from omni_ipc.report.text import counted
from omni_ipc.report.verdicts import verdict_lines

_SHOWN = 2  # mutants of each claim; --json tells all


def sync(
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="MODEL", help="A name or its front part: SplitMap. Default: all."),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Change nothing; exit with 1 if anything would.")] = False,
    count: Annotated[
        bool, typer.Option("--count", help="Let TLC count the states of every model anew; takes minutes.")
    ] = False,
    jobs: Annotated[int, typer.Option(help="Runs of TLC at a time; each takes up to 1 GiB.")] = 2,
    json: Json = None,
) -> int:
    """Renew state graphs, the numbers in the manifest, and the table in the README; tell each change."""
    from omni_ipc.workflows.syncing import sync as renew

    out = Output(json)
    with working("running TLC") as show_progress:
        synced = renew(models or (), write=not check, count=count, jobs=jobs, progress=show_progress)
    of = counted(synced.compared, "generated thing")
    if not synced.changes:
        reason = f"{of} compared, and each is as it must be."
    elif synced.written:
        reason = f"{of} compared; these were renewed:"
    else:
        reason = f"{of} compared; these are stale. Renew them: omni-ipc spec sync"
    out.say(verdict_lines("spec", synced.verdict, reason, *synced.changes))
    return out.write("spec sync", synced.verdict.exit_code, synced)


def mutants(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL", help="A design, or its front part: SplitMap. Default: all, which takes minutes."
        ),
    ] = None,
    json: Json = None,
) -> int:
    """Leave out one conjunct of one action after the other, and tell which claims notice."""
    from omni_ipc.workflows.sweeping import sweep_models

    out = Output(json)
    with working("starting TLC") as show_progress:
        swept = sweep_models(models or (), progress=show_progress)
    for each in swept:
        lines = [(claim, str(len(found)), "\n".join(map(str, found[:_SHOWN]))) for claim, found in each.noticed.items()]
        if each.failed:
            lines.append(("(TLC gave up)", str(len(each.failed)), "\n".join(map(str, each.failed[:_SHOWN]))))
        out.say("", table((each.model, "mutants", "such as"), lines))
        if each.unnoticed:
            out.say(f"{counted(len(each.unnoticed), 'mutant')} that no invariant notices:")
            out.say(behind(("•", str(mutant)) for mutant in each.unnoticed))
    return out.write("spec mutants", ExitCode.AS_CLAIMED, swept)
