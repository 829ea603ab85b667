"""``omni-ipc validate``: recordings of real processes against a model."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from omni_ipc.cli.ending import working
from omni_ipc.cli.options import Json, described
from omni_ipc.records import Verdict
from omni_ipc.report.output import Output, behind, table
from omni_ipc.report.text import counted
from omni_ipc.report.verdicts import sign

if TYPE_CHECKING:
    from omni_ipc.conformance.recordings.rejection import Rejection
    from omni_ipc.workflows.validating import Coverage, ValidatedSession

_INDENT = 2


def validate(
    recordings: Annotated[
        list[Path], typer.Argument(metavar="LOGS...", help="What `omni-ipc record` wrote: folders, or files.")
    ],
    spec: Annotated[str, typer.Option(help="The model to hold them against, as `record` names them.")],
    whole: Annotated[
        bool, typer.Option("--whole", help="Ask for every action and every interesting state of the model.")
    ] = False,
    seconds: Annotated[float, typer.Option(help="For one search, at most.")] = 120.0,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Of a session, the first ones alone; for AsyncOutput, which is slow.")
    ] = None,
    json: Json = None,
) -> int:
    """Look for an order of what real processes did that a model allows."""
    from omni_ipc.workflows import validating

    out = Output(json)
    with working("reading recordings") as show_progress:
        validated = validating.validate_recordings(
            recordings,
            spec=spec,
            whole=whole,
            budget_s=seconds,
            steps=steps,
            progress=lambda what: show_progress(what, 0, None),
        )
    spoken = [session for session in validated.sessions if session.steps]
    out.say(table(("", "session", validated.spec), [_row(session) for session in spoken]))
    for session in spoken:
        if session.rejection:
            out.say("", f"{session.session}, in {_folder(session)}:", *_lines(session.rejection))
    silent = len(validated.sessions) - len(spoken)
    accepted = sum(session.answer == "accepted" for session in spoken)
    more = f"; of {silent} more the model says nothing" if silent else ""
    out.say(
        "",
        f"{accepted} of {counted(len(spoken), 'session')} accepted{more}",
        *(map(Text, _coverage(validated.coverage)) if accepted else ()),
    )
    return out.write("validate", validated.verdict.exit_code, validated)


def _row(session: ValidatedSession) -> tuple[RenderableType, ...]:
    below = [f"{counted(session.steps, 'step')}"]
    if session.killed:
        below.append(f"killed: {', '.join(map(str, session.killed))}")
    if session.left_out:
        below.append(f"left out: {_counts(session.left_out)}")
    if session.leaving:
        below.append(f"leaving: {_counts(session.leaving)}")
    if session.untold:
        below.append(f"no such field, or empty throughout: {', '.join(session.untold)}")
    verdict = {"accepted": Verdict.HOLDS, "rejected": Verdict.VIOLATED}.get(session.answer, Verdict.INCONCLUSIVE)
    who = "\n".join([*map(str, session.processes), f"in {_folder(session)}"])
    return sign(verdict), who, described(f"{session.answer}: {session.reason}", *below)


def _folder(session: ValidatedSession) -> str:
    """Name the folder of a session's recordings, for processes of other folders may have the same numbers."""
    folder = Path(os.path.commonpath([Path(file).parent for file in session.files]))
    return os.path.relpath(folder) if folder.is_relative_to(Path.cwd()) else str(folder)


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} at {what}" for what, count in counts.items())


def _lines(rejection: Rejection) -> Iterator[RenderableType]:
    """Say how far it came, why it came no farther, and what would let it."""
    yield Text(f"step {rejection.index}: {rejection.step}")
    for refused in rejection.refused:
        yield _indented(f"{refused.step}: {refused.why}")
        if refused.where:
            yield behind([(f"{refused.where}:", _values(refused.values))], indent=2 * _INDENT)
    taken, state = ", ".join(rejection.enabled) or "nothing", _values(rejection.state)
    yield behind([("the model could take:", taken), ("its state:", state)], indent=_INDENT)
    rows = [(str(f.process), f.task, f"{f.taken} of {f.of}", f.next or "") for f in rejection.followed]
    yield table(("process", "task", "taken", "next"), rows)
    yield _indented(rejection.repair or "No single repair would make it pass.")


def _values(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def _indented(sentence: str) -> RenderableType:
    return Padding(Text(sentence), (0, 0, 0, _INDENT), expand=False)


def _coverage(coverage: Coverage) -> Iterator[str]:
    yield "actions: " + ", ".join(f"{action} {count:,}" for action, count in coverage.actions.items())
    if coverage.reached:
        yield f"interesting states: {', '.join(coverage.reached)}"
    if coverage.gaps:
        yield f"under-covered: never {', '.join(coverage.gaps)}"
