"""``omni-ipc conform``: code along every step of its models."""

from __future__ import annotations

import functools
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.text import Text

from omni_ipc.cli.ending import working
from omni_ipc.cli.options import Defect, Json, described
from omni_ipc.records import Trace, Verdict
from omni_ipc.report.output import Output, table
from omni_ipc.report.targets import require_folder
from omni_ipc.report.text import counted, tell
from omni_ipc.report.verdicts import sign

if TYPE_CHECKING:
    from omni_ipc.workflows.conforming import WalkedModel


def conform(
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="MODEL", help="A spec, or a scenario that has one: SplitMap. Default: all."),
    ] = None,
    defect: Defect = None,
    seconds: Annotated[float, typer.Option(help="Of computing, for one model, at most.")] = 15.0,
    save: Annotated[Path | None, typer.Option(metavar="DIR", help="Where to save the traces of divergences.")] = None,
    json: Json = None,
) -> int:
    """Walk the code along every step of its models: in each state the same steps, after each step the same state."""
    from omni_ipc.workflows import conforming

    out = Output(json)
    if save is not None:
        require_folder(save)
    with working("walking models") as show_progress:
        conformed = conforming.conform(
            models or (),
            defect=defect,
            seconds=seconds,
            progress=lambda model, done, total: show_progress(model.model if model else "reading graphs", done, total),
        )
    out.say(table(("", "model", "code"), [_row(model) for model in conformed.models]))
    for model in conformed.models:
        if model.trace and model.failure:
            steps = [f"  {number}. {step}" for number, step in enumerate(model.trace.steps, start=1)]
            out.say("", f"{model.scenario} along {model.model}:", *steps, tell(model.failure))
    edges, steps = (sum(getattr(model, what) for model in conformed.models) for what in ("taken", "steps"))
    agreed = sum(model.verdict is Verdict.BOUNDED for model in conformed.models)
    walked = f"{edges:,} distinct steps of models, in {steps:,} steps of code"
    agree = "agrees" if len(conformed.models) == 1 else "agree"
    out.say("", Text(f"{agreed} of {counted(len(conformed.models), 'model')} {agree} with the code: {walked}"))
    if conformed.not_walked:
        out.say(Text(f"not walked, for want of a graph: {', '.join(conformed.not_walked)}"))
    traces = [model.trace for model in conformed.models if model.trace]
    files = [functools.partial(_save, out, trace, save) for trace in traces] if save is not None else []
    return out.write("conform", conformed.verdict.exit_code, conformed, *files)


def _save(out: Output, trace: Trace, folder: Path) -> None:
    from omni_ipc.workflows.conforming import save_divergence

    out.say(f"as a test: {shlex.join(['pytest', str(save_divergence(trace, folder))])}")


def _row(model: WalkedModel) -> tuple[RenderableType, ...]:
    lacking = [f"{each.action} {each.taken} of {each.of}" for each in model.actions if each.taken < each.of]
    below = [
        f"{model.states:,} states; {model.steps:,} steps of code, {counted(model.runs, 'run')}, {model.seconds:.1f} s",
        f"graph {model.graph}",
    ]
    if lacking and model.verdict is Verdict.BOUNDED:
        below.append(f"not wholly: {', '.join(lacking)}")
    return sign(model.verdict), f"{model.model}\n{model.scenario}", described(model.reason, *below)
