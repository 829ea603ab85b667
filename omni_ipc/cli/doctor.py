"""``omni-ipc doctor``: what this machine has and lacks."""

from __future__ import annotations

from rich.text import Text

from omni_ipc.cli.ending import working
from omni_ipc.cli.options import Json, described
from omni_ipc.report.endings import ExitCode
from omni_ipc.report.output import Output, table


def doctor(json: Json = None) -> int:
    """Tell what works on this machine, what is missing, and the command that brings it."""
    from omni_ipc.workflows.doctor import Health, examine, works

    out = Output(json)
    findings = []
    with working("looking around") as show_progress:
        for finding in examine():
            findings.append(finding)
            show_progress(f"looked at {finding.subject}", len(findings), None)
    styles = {Health.OK: "green", Health.DEGRADED: "yellow", Health.MISSING: "red"}
    lines = [
        (f.subject, Text(f.health, styles[f.health]), described(f.found, *([f"→ {f.remedy}"] if f.remedy else [])))
        for f in findings
    ]
    out.say(table(("", "", "found, and what to do"), lines))
    return out.write("doctor", ExitCode.AS_CLAIMED if works(findings) else ExitCode.USAGE, findings)
