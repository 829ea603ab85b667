"""``omni-ipc stress report``: the accounts of soaks, as one page and as one result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from omni_ipc.cli.ending import working
from omni_ipc.cli.options import Json
from omni_ipc.report.output import Output
from omni_ipc.report.targets import require_file

ACCOUNT = "account.json"


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
    from omni_ipc.shards import merge, read

    out = Output(json)
    if html is not None:
        require_file(html)
    with working("reading accounts") as show_progress:
        files = [path / ACCOUNT if path.is_dir() else path for path in accounts]
        shards = {}
        for done, (name, file) in enumerate(zip(_names(files), files, strict=True)):
            show_progress(f"reading {file}", done, len(files))
            shards[name] = read(file)
        whole = merge(shards)
    out.say(*parts(whole))
    if len(shards) > 1:
        out.say("", shard_table(shards))
    if html is not None:
        from omni_ipc.report.soak.page import write_page  # its templates take a while to load

        write_page(shards, html)
        out.say("", f"wrote {html}: open it in a browser")
    return out.write("stress report", whole.verdict.exit_code, whole)


def _names(files: Sequence[Path]) -> list[str]:
    """Name each after its file, or the folder of its soak; by its whole path where that is not its own."""
    short = [file.absolute().parent.name if file.name == ACCOUNT else file.stem for file in files]
    many = Counter(short)
    return [str(file) if many[name] > 1 else name for name, file in zip(short, files, strict=True)]
