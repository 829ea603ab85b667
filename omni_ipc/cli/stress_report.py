"""``omni-ipc stress report``: the accounts of soaks, as one page and as one result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from omni_ipc.cli.ending import working
from omni_ipc.cli.options import Json
from omni_ipc.report.output import Output
from omni_ipc.report.targets import require_file
from omni_ipc.shards import read_all


def report(
    accounts: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="What soaks wrote: their folders (--out), or results (--json)."),
    ],
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page for a browser, whole in itself.")
    ] = None,
    json: Json = None,
) -> int:
    """Put the accounts of soaks together, as those of shards, and tell what they come to."""
    from omni_ipc.report.soak.text import parts, shard_table

    out = Output(json)
    if html is not None:
        require_file(html)
    with working("reading accounts"):
        whole, shards = read_all(accounts)
    out.say(*parts(whole))
    if len(shards) > 1:
        out.say("", shard_table(shards))
    if html is not None:
        from omni_ipc.report.soak.page import write_page  # its templates take a while to load

        write_page(html, whole, shards)
        out.say("", f"wrote {html}: open it in a browser")
    return out.write("stress report", whole.verdict.exit_code, whole)
