"""Verdicts as signs and lines, and what they rest on."""

from __future__ import annotations

from rich.text import Text

from omni_ipc.records import Report, Verdict
from omni_ipc.report.text import counted

_SIGNS = {
    Verdict.HOLDS: ("✓", "bold green"),
    Verdict.BOUNDED: ("✓", "bold green"),
    Verdict.VIOLATED: ("✗", "bold red"),
    Verdict.INCONCLUSIVE: ("?", "bold yellow"),
}


def sign(verdict: Verdict) -> Text:
    """Give the sign of a verdict: a tick, a cross or a question mark."""
    return Text(*_SIGNS[verdict])


def passed(expected: bool) -> Text:
    """Give the sign of something that is as expected, or not."""
    return sign(Verdict.HOLDS if expected else Verdict.VIOLATED)


def verdict_line(name: str, verdict: Verdict, reason: str) -> Text:
    """Say what became of something, and on what that rests: "✓ split_map: holds (all 252 schedules)"."""
    mark, style = _SIGNS[verdict]
    return Text.assemble((mark, style), f" {name}: ", (verdict.value, style), f" ({reason})")


def effort_line(report: Report) -> Text:
    """Say what an exploration took."""
    parts = [counted(report.schedules, "schedule"), counted(report.traces, "distinct trace")]
    parts += [counted(report.steps, "step"), f"{report.seconds:.2f} s"]
    if report.seconds > 0:
        parts.append(f"{counted(round(report.schedules / report.seconds), 'schedule')}/s")
    return Text("  " + ", ".join(parts), "dim")
