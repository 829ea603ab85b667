"""``omni-ipc stress``: the product on real worker processes and real devices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from omni_ipc.cli.ending import working
from omni_ipc.cli.options import Json, Junit
from omni_ipc.records import Verdict
from omni_ipc.report.junit import Case, write_junit
from omni_ipc.report.output import Output, table
from omni_ipc.report.targets import require_file
from omni_ipc.report.text import counted
from omni_ipc.report.verdicts import sign

if TYPE_CHECKING:
    from omni_ipc.workflows.stressing import Row, Stressed, Tried


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
    from omni_ipc.device.api import open_device
    from omni_ipc.workflows import stressing

    out = Output(json)
    if junit is not None:
        require_file(junit)
    with working("reading the traces") as show_progress:
        found = stressing.find_traces(traces)
        open_device(device)  # refuses here, and not in the worker, what this machine does not have
        stressed = stressing.stress(found, device=device, repeat=repeat, progress=show_progress)
    titles = ("", "trace", "reference", "steps", "ms", "defect", "steps", "ms")
    out.say(table(titles, [_cells(row) for row in stressed.rows]))
    for row in stressed.rows:
        out.say(*(f"{row.trace}: {reason}" for reason in row.reasons))
    out.say("", _summed(stressed))
    if junit is not None:
        write_junit(junit, "omni-ipc stress replay", map(_case, stressed.rows))
    return out.write("stress replay", stressed.verdict.exit_code, stressed)


def _case(row: Row) -> Case:
    took_ms = sum(tried.ms * tried.runs for tried in (row.reference, row.with_defect) if tried is not None)
    reason = " ".join(row.reasons) or "as claimed"
    return Case(row.scenario, row.trace, row.verdict, reason, "\n".join(row.reasons), took_ms / 1000)


def _cells(row: Row) -> tuple[Text | str, ...]:
    return (sign(row.verdict), row.trace, *_tried(row.reference), *_tried(row.with_defect))


def _tried(tried: Tried | None) -> tuple[str, str, str]:
    if tried is None:
        return ("", "", "")
    return (f"{tried.as_claimed}/{tried.runs}", f"{tried.followed}/{tried.of - tried.passed}", f"{tried.ms:,.0f}")


def _summed(stressed: Stressed) -> str:
    good = sum(row.verdict is Verdict.ENDED_WELL for row in stressed.rows)
    of = counted(len(stressed.rows), "trace")
    left = f"; interrupted, {stressed.left} more were not tried" if stressed.left else ""
    return f"{good} of {of} did as claimed on {stressed.device}, each {counted(stressed.repeat, 'time')}{left}"
