"""Verdicts as signs and lines, with what they rest on."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from omni_ipc.records import Report, Verdict
from omni_ipc.report.plain import cut
from omni_ipc.report.text import counted

_SIGNS = {
    Verdict.HOLDS: ("✓", "bold green"),
    Verdict.BOUNDED: ("✓", "bold green"),
    Verdict.ENDED_WELL: ("✓", "bold green"),
    Verdict.VIOLATED: ("✗", "bold red"),
    Verdict.DIVERGED: ("≠", "bold red"),
    Verdict.INCONCLUSIVE: ("?", "bold yellow"),
}


def sign(verdict: Verdict | None) -> Text:
    """Give the sign of a verdict: a tick, a cross, a sign of difference, a question mark; a dash if there is none."""
    return Text("-", "dim") if verdict is None else Text(*_SIGNS[verdict])


def passed(expected: bool) -> Text:
    """Give the sign of something that is as expected, or not."""
    return sign(Verdict.HOLDS if expected else Verdict.VIOLATED)


def verdict_lines(name: str, verdict: Verdict, *reasons: str) -> RenderableType:
    """Say what became of something, and below it on what that rests."""
    mark, style = _SIGNS[verdict]
    headline = Text.assemble((mark, style), f" {name}: ", (verdict.value, style))
    return Group(headline, *(Padding(Text(cut(reason)), (0, 0, 0, 2)) for reason in reasons))


def effort(report: Report) -> str:
    """Say what an exploration took."""
    parts = [counted(report.schedules, "schedule"), counted(report.traces, "distinct trace")]
    parts += [counted(report.steps, "step"), f"{report.seconds:.2f} s"]
    if report.schedules and report.seconds > 0:
        parts.append(f"{counted(round(report.schedules / report.seconds), 'schedule')}/s")
    return ", ".join(parts)
