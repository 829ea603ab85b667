"""``omni-ipc stress report``: the accounts of soaks, as one page and as one result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from omni_ipc.cli.account import tell
from omni_ipc.cli.ending import working
from omni_ipc.cli.options import Html, Json
from omni_ipc.report.output import Output
from omni_ipc.report.targets import require_file
from omni_ipc.shards import read_all


def report(
    accounts: Annotated[
        list[Path],
        typer.Argument(metavar="DIR|FILE…", help="What soaks wrote: their folders (--out), or results (--json)."),
    ],
    html: Html = None,
    json: Json = None,
) -> int:
    """Put the accounts of soaks together, as those of shards, and tell what they come to."""
    out = Output(json)
    if html is not None:
        require_file(html)
    with working("reading accounts"):
        whole, shards = read_all(accounts)
    return tell(out, "stress report", whole, shards, html)
