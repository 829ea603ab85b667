"""``omni-ipc check``: models against their manifest."""

from __future__ import annotations

from typing import Annotated

import typer

from omni_ipc.cli.ending import working
from omni_ipc.cli.options import Json, described
from omni_ipc.records import Verdict
from omni_ipc.report.output import Output, table
from omni_ipc.report.text import counted
from omni_ipc.report.verdicts import sign


def check(
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="MODEL", help="A name or its front part: SplitMap, SplitMap/bug. Default: all."),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Runs of TLC at a time; each takes up to 1 GiB.")] = 2,
    json: Json = None,
) -> int:
    """Check models with TLC against what the manifest expects of each."""
    from omni_ipc.workflows.checking import check_models

    out = Output(json)
    with working("checking models") as show_progress:
        checked = check_models(
            models or (),
            jobs=jobs,
            progress=lambda model, done, total: show_progress(model.model if model else "starting TLC", done, total),
        )
    lines = [(sign(m.verdict), m.model, described(m.reason, f"within {m.bounds}")) for m in checked.models]
    out.say(table(("", "model", "what TLC found"), lines))
    expected = sum(model.verdict is Verdict.BOUNDED for model in checked.models)
    out.say("", f"{expected} of {counted(len(lines), 'model')} as expected")
    return out.write("check", checked.verdict.exit_code, checked)
