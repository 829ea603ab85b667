"""``omni-ipc stress``: the product on real worker processes and real devices."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from omni_ipc.cli.ending import working
from omni_ipc.cli.options import Json, Junit
from omni_ipc.records import Verdict
from omni_ipc.report.junit import Case, write_junit
from omni_ipc.report.output import Output, table, told_line_by_line
from omni_ipc.report.targets import require_file
from omni_ipc.report.text import counted
from omni_ipc.report.verdicts import sign

if TYPE_CHECKING:
    from omni_ipc.workflows.stressed import Row, Stressed, Tried


def replay(
    traces: Annotated[list[Path], typer.Argument(metavar="DIR|FILE…", help="Folders of *.trace.json, or such files.")],
    device: Annotated[
        str, typer.Option(metavar="DEVICE", help="Where the workers compute: cpu, cuda, cuda:1 or xpu.")
    ] = "cpu",
    repeat: Annotated[int, typer.Option(metavar="N", help="Runs of each trace; all have to agree.")] = 1,
    junit: Junit = None,
    json: Json = None,
) -> int:
    """Run traces on spawned workers: the reference must end well, and the defect that a trace names must show."""
    from omni_ipc.device.api import require_device
    from omni_ipc.workflows import collecting, stressing

    out = Output(json)
    if junit is not None:
        require_file(junit)
    with working("reading the traces") as show_progress:
        found = collecting.find_traces(traces)
        require_device(device)  # refuses here, and not in the worker, what this machine does not have
        on_row = _line_by_line(len(found))
        stressed = stressing.stress(found, device=device, repeat=repeat, progress=show_progress, on_row=on_row)
    cells = [_cells(row) for row in stressed.rows]
    out.say(table(("", "trace", "reference", "defect"), cells, whole=("trace", "defect")))
    for row in stressed.rows:
        out.say(*(f"{row.trace}: {reason}" for reason in row.reasons))
    out.say("", _summed(stressed))
    files = [lambda: write_junit(junit, "omni-ipc stress replay", map(_case, stressed.rows))] if junit else []
    return out.write("stress replay", stressed.verdict.exit_code, stressed, *files)


def _line_by_line(many: int) -> Callable[[Row], None]:
    """Tell of each trace once it is done, where nobody sees the progress: in a log of CI."""
    tell, number = told_line_by_line(), itertools.count(1)
    return lambda row: tell(f"{next(number)} of {many}: {sign(row.verdict)} {row.trace}, {row.seconds:.1f} s")


def _case(row: Row) -> Case:
    reason = " ".join(row.reasons) or "as claimed"
    return Case(row.scenario, row.trace, row.verdict, reason, "\n".join(row.reasons), row.seconds)


def _cells(row: Row) -> tuple[Text | str, ...]:
    return (sign(row.verdict), row.trace, _tried(row.reference), _tried(row.with_defect, is_to_fail=True))


def _tried(tried: Tried | None, *, is_to_fail: bool = False) -> str:
    """Say how many runs were as claimed, and how many steps they followed."""
    if tried is None:
        return ""
    done = tried.followed + tried.passed
    if done == tried.of:
        way = f"all {tried.of}"
    elif is_to_fail or tried.as_claimed < tried.runs:
        way = f"{done} of {tried.of}"  # there it failed, or the reasons below the table tell
    else:
        way = f"leaves the trace at step {done + 1} of {tried.of}"
    return f"{tried.as_claimed}/{tried.runs}, {way}"


def _summed(stressed: Stressed) -> str:
    run = sum(row.verdict is not None for row in stressed.rows) - stressed.left
    good = sum(row.verdict is Verdict.ENDED_WELL for row in stressed.rows)
    left = f"; interrupted, {stressed.left} more were not tried" if stressed.left else ""
    if run == 0:
        return f"nothing was run on {stressed.device}{left}"
    times = counted(stressed.repeat, "time")
    return f"{good} of {counted(run, 'trace')} did as claimed on {stressed.device}, each {times}{left}"
