"""Verdicts as signs and lines, and what they rest on."""

from __future__ import annotations

from rich.text import Text

from omni_ipc.records import Report, Verdict
from omni_ipc.report.endings import ExitCode
from omni_ipc.report.text import counted

_SIGNS = {
    ExitCode.AS_CLAIMED: ("✓", "bold green"),
    ExitCode.VIOLATED: ("✗", "bold red"),
    ExitCode.INCONCLUSIVE: ("?", "bold yellow"),
}


def sign(code: ExitCode) -> Text:
    """Give the sign of something that ended with this code: a tick, a cross or a question mark."""
    return Text(*_SIGNS[code])


def verdict_line(name: str, verdict: Verdict, reason: str) -> Text:
    """Say what became of something, and on what that rests: "✓ split_map: holds (all 252 schedules)"."""
    mark = sign(ExitCode(verdict.exit_code))
    return Text.assemble(mark, f" {name}: ", (verdict.value, mark.style), f" ({reason})")


def effort_line(report: Report) -> Text:
    """Say what an exploration took."""
    parts = [counted(report.schedules, "schedule"), counted(report.traces, "distinct trace")]
    parts += [counted(report.steps, "step"), f"{report.seconds:.2f} s"]
    if report.seconds > 0:
        parts.append(f"{counted(round(report.schedules / report.seconds), 'schedule')}/s")
    return Text("  " + ", ".join(parts), "dim")
