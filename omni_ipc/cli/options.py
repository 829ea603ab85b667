"""What several commands take, and say of it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from omni_ipc.records import Trace

Json = Annotated[str | None, typer.Option("--json", metavar="FILE", help="Write the result as JSON, too; - is stdout.")]
Junit = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the results as JUnit XML, too.")]
Defect = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="A field defect to put back ('?' is answered with all of them); none: the reference.",
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", help="The seed of all that is left to chance.")]
TraceFile = Annotated[Path, typer.Argument(metavar="TRACE", help="A *.trace.json file.")]
On = Annotated[
    str | None,
    typer.Option(
        metavar="MACHINES",
        help="Where processes run: local:2 (two on this machine), ray://HOST:PORT, or ray (of which it is a node).",
    ),
]
Html = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page for a browser, whole in itself.")]
Quick = Annotated[bool, typer.Option("--quick", help="Take 50 seconds, and not minutes.")]
Plot = Annotated[Path | None, typer.Option(metavar="FILE", help="Where to draw it: *.png or *.svg.")]


def named(scenario: str, defect: str | None) -> str:
    """Name what is run."""
    return f"{scenario} with {defect}" if defect else scenario


def replay_command(trace: Trace, path: Path) -> str:
    """Give the command that replays a trace on the code that it was found on; pytest's, if that is a test."""
    if "::" in trace.scenario:
        return shlex.join(["pytest", trace.scenario, "--omni-replay", str(path)])
    return shlex.join(["omni-ipc", "replay", str(path), *(["--defect", trace.defect] if trace.defect else [])])


def described(sentence: str, *more: str) -> Text:
    """Give a sentence, and more on it below."""
    return Text.assemble(sentence, *((f"\n{line}", "dim") for line in more))
