"""How the commands that come to an account of a soak tell it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from omni_ipc.accounts import Account
from omni_ipc.report.output import Output


def tell(out: Output, whole: Account, shards: Mapping[str, Account], html: Path | None) -> None:
    """Print an account, and those of its shards if there are several; write the page of all, if one is wanted."""
    from omni_ipc.report.soak.text import parts, shard_table

    out.say(*parts(whole))
    if len(shards) > 1:
        out.say("", shard_table(shards))
    if html is not None:
        from omni_ipc.report.soak.page import write_page  # its templates take a while to load

        write_page(html, whole, shards)
        out.say("", f"wrote {html}: open it in a browser")
