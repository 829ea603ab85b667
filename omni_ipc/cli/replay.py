"""``omni-ipc replay``: code along a trace, or along the counterexample of a model."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.padding import Padding
from rich.text import Text

from omni_ipc.cli.ending import working
from omni_ipc.cli.options import Defect, Json, named, replay_command
from omni_ipc.errors import UsageError
from omni_ipc.records import Origin, Trace, Verdict
from omni_ipc.report.output import Output
from omni_ipc.report.plain import cut
from omni_ipc.report.targets import require_folder
from omni_ipc.report.text import counted, tell
from omni_ipc.report.verdicts import sign, verdict_lines

if TYPE_CHECKING:
    from omni_ipc.workflows.countering import Countered


def replay(
    trace: Annotated[
        Path,
        typer.Argument(
            metavar="TRACE|MODEL",
            help="A *.trace.json file; or a model that must fail, or its front part: SplitMap, SplitMap/bug.",
        ),
    ],
    defect: Defect = None,
    on: Annotated[str, typer.Option(help="controlled, threads or processes.")] = "controlled",
    device: Annotated[str, typer.Option(help="Where a worker process computes: cpu, cuda, cuda:1 or xpu.")] = "cpu",
    tolerant: Annotated[
        bool, typer.Option("--tolerant", help="Mend what an edit of the code has changed: skip, add and match steps.")
    ] = False,
    renamed: Annotated[
        list[str] | None,
        typer.Option(metavar="OLD=NEW", help="A task that has another name now, for --tolerant. May be given again."),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Of a model: where to save its counterexamples as traces.")
    ] = None,
    json: Json = None,
) -> int:
    """Run the code along a trace: the reference, unless a defect is put back; along a model's counterexample: both."""
    from omni_ipc.device.api import require_device
    from omni_ipc.testbed import Mode
    from omni_ipc.testbed.explain import explain
    from omni_ipc.workflows import countering, replaying

    out = Output(json)
    if not trace.exists() and countering.names_model(str(trace)):
        if defect or on != "controlled" or tolerant or renamed:
            raise UsageError(
                f"'{trace}' is a model: its counterexamples are tried with the defect and without, under control. "
                f"For more, save them as traces: omni-ipc replay {trace} --save DIR."
            )
        return _replay_models(str(trace), save, out)
    if save is not None:
        raise UsageError(f"--save is for the counterexamples of a model, and '{trace}' is none. Leave it out.")
    names = dict(map(_pair, renamed or ()))
    with working(f"replaying {trace.name} on {on}"):
        given = Trace.load(trace)
        require_device(device)  # refuses here, and not in the worker, what this machine does not have
        mode = Mode.TOLERANT if tolerant or names else Mode.STRICT
        replayed = replaying.replay(given, defect=defect, on=on, device=device, mode=mode, renamed=names)
    out.say(verdict_lines(named(given.scenario, defect), replayed.verdict, replayed.summary, *replayed.repairs))
    if replayed.verdict is Verdict.DIVERGED and given.origin is Origin.EXPLORED:
        out.say("", f"if the code was edited: {replay_command(given, trace)} --tolerant")
    if replayed.failure:
        read = explain(replayed.trace).trace.failure if replayed.trace else None
        out.say("", tell(read or replayed.failure))
    return out.write("replay", replayed.verdict.exit_code, replayed)


def _replay_models(name: str, save: Path | None, out: Output) -> int:
    """Try the counterexamples of models on the code with the defect, and on the reference."""
    from omni_ipc.workflows.countering import counter_models

    if save is not None:
        require_folder(save)
    with working("starting TLC") as show_progress:
        countered = counter_models([name], progress=show_progress)
    for each in countered:
        scenario = f" on {each.scenario}" if each.scenario else ""
        rounds = f", the last ones {each.rounds} times" if each.rounds else ""
        reasons = [f"with {each.defect}: {each.with_defect}", f"reference: {each.reference}"]
        out.say(
            Text.assemble(sign(each.verdict), " ", (each.model, "bold"), f"{scenario}: {each.steps} steps{rounds}"),
            *(Padding(Text(cut(reason)), (0, 0, 0, 2)) for reason in reasons),
        )
    out.say("", _summed(countered))
    found = {each.verdict for each in countered}
    verdict = next((bad for bad in (Verdict.VIOLATED, Verdict.INCONCLUSIVE) if bad in found), Verdict.HOLDS)
    files = [functools.partial(_save, out, save, each) for each in countered] if save is not None else []
    return out.write("replay", verdict.exit_code, countered, *files)


def _save(out: Output, folder: Path, countered: Countered) -> None:
    if countered.trace is not None:
        path = countered.trace.save(folder / f"{countered.model.replace('/', '.')}.trace.json")
        out.say(replay_command(countered.trace, path))


def _summed(countered: Sequence[Countered]) -> str:
    """Count those that do as they must; what only the reference was driven along is none that led a defect astray."""
    good = [each.has_code for each in countered if each.verdict is Verdict.HOLDS]
    lead = "leads" if len(countered) == 1 else "lead"
    alone = good.count(False)
    spare = "spares" if alone == 1 else "spare"
    spared = f"; {alone} {spare} the reference, and no code at that grain has the fault" if alone else ""
    of = counted(len(countered), "counterexample")
    return f"{good.count(True)} of {of} {lead} the defect astray, and not the reference{spared}"


def _pair(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not (old and equals and new):
        raise UsageError(f"'{text}' does not say which task has which name now. Write OLD=NEW.")
    return old, new
