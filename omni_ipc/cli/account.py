"""How the commands that come to an account of a soak tell it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from omni_ipc.accounts import Account
from omni_ipc.report.endings import ExitCode
from omni_ipc.report.output import Output


def tell(out: Output, command: str, whole: Account, shards: Mapping[str, Account], html: Path | None) -> ExitCode:
    """Print an account, and those of its shards if there are several; write the result, and the page if one is wanted.

    Returns:
        how the command ends.

    Raises:
        UsageError: what is wanted cannot be written, and the soak ended well.
    """
    from omni_ipc.report.soak.text import parts, shard_table

    def write(page: Path) -> None:
        from omni_ipc.report.soak.page import write_page  # its templates take a while to load

        write_page(page, whole, shards)
        out.say("", f"wrote {page}: open it in a browser")

    out.say(*parts(whole))
    if len(shards) > 1:
        out.say("", shard_table(shards))
    return out.write(command, whole.verdict.exit_code, whole, *([lambda: write(html)] if html else []))
