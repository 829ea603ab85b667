"""``omni-ipc check``: models against their manifest."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console, RenderableType
from rich.text import Text

from omni_ipc.cli.ending import working
from omni_ipc.cli.options import Json, Junit, described
from omni_ipc.records import Verdict
from omni_ipc.report.junit import Case, write_junit
from omni_ipc.report.output import Output, ShowProgress, table, told_line_by_line
from omni_ipc.report.quantities import tally
from omni_ipc.report.targets import require_file
from omni_ipc.report.text import counted
from omni_ipc.report.verdicts import sign
from omni_ipc.report.violations import tell_violation

if TYPE_CHECKING:
    from omni_ipc.conformance.tlc.progress import Reached
    from omni_ipc.workflows.checking import CheckedModel

_PAGE_WIDTH = 120  # columns of what goes into a file


def check(
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="MODEL", help="A name or its front part: SplitMap, SplitMap/bug. Default: all."),
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(
            help="Runs of TLC at a time; each takes up to 1 GiB. One of a model for the night takes all cores and half "
            "of the memory, and there is one of these at a time."
        ),
    ] = 2,
    explain: Annotated[
        bool, typer.Option("--explain", help="Tell each counterexample, also of models that must fail.")
    ] = False,
    junit: Junit = None,
    json: Json = None,
) -> int:
    """Check models with TLC against what the manifest expects of each."""
    from omni_ipc.workflows.checking import check_models

    out = Output(json)
    if junit is not None:
        require_file(junit)
    with working("starting TLC") as show_progress, _Shown(show_progress).in_interrupts() as shown:
        checked = check_models(models or (), jobs=jobs, explain=explain, progress=shown)
    lines = [(sign(m.verdict), m.model, described(m.reason, f"within {m.bounds}")) for m in checked.models]
    out.say(table(("", "model", "what TLC found"), lines))
    for model in checked.models:
        out.say(*_told(model))
    expected = sum(model.verdict is Verdict.BOUNDED for model in checked.models)
    out.say("", _spent(checked.models), f"{expected} of {counted(len(lines), 'model')} as expected")
    files = [lambda: write_junit(junit, "omni-ipc check", map(_case, checked.models))] if junit else []
    return out.write("check", checked.verdict.exit_code, checked, *files)


class _Shown:
    """Shows what goes on in a line of progress; where nobody sees it, what takes minutes has a line a minute."""

    def __init__(self, show: ShowProgress) -> None:
        self._show = show
        self._tell = told_line_by_line()
        self._running: dict[str, Reached | None] = {}  # models, in the order of their beginnings
        self._done: tuple[int, int | None] = (0, None)

    def begins(self, model: str) -> None:
        self._running[model] = None
        self._show_all()

    def reaches(self, model: str, reached: Reached) -> None:
        self._running[model] = reached
        self._tell(_paced(model, reached))
        self._show_all()

    def ends(self, model: str, done: int, total: int) -> None:
        del self._running[model]
        self._done = (done, total)
        self._show_all()

    @contextlib.contextmanager
    def in_interrupts(self) -> Iterator[_Shown]:
        """Let an interrupt say how far it has come what took minutes."""
        try:
            yield self
        except KeyboardInterrupt:
            far = [f"{model} had come to {reached}" for model, reached in self._running.items() if reached]
            raise KeyboardInterrupt(f"{'; '.join(far)}. Nothing is left behind." if far else "") from None

    def _show_all(self) -> None:
        self._show(", ".join(_paced(*running) for running in list(self._running.items())[-2:]), *self._done)


def _paced(model: str, reached: Reached | None) -> str:
    return f"{model}: {reached}, {tally(reached.a_minute)} a minute" if reached else model


def _spent(models: Sequence[CheckedModel]) -> str:
    """Say what the runs of TLC took together, and the longest."""
    longest = max(models, key=lambda model: model.seconds)
    together = sum(model.seconds for model in models)
    kept = sum(model.is_kept for model in models)
    before = f"; {counted(kept, 'result')} kept from before" if kept else ""
    return f"TLC ran for {together:.1f} s in all, for {longest.model} longest: {longest.seconds:.1f} s{before}"


def _told(model: CheckedModel) -> list[RenderableType]:
    """Tell the counterexample of a model, if it is to be told."""
    if model.violation is None:
        return ["", f"{model.model}: {model.note}"] if model.note else []
    heading = Text.assemble(sign(model.verdict), " ", (model.model, "bold"), f": {model.reason}")
    return ["", heading, tell_violation(model.violation)]


def _case(model: CheckedModel) -> Case:
    page = Console(file=io.StringIO(), width=_PAGE_WIDTH, color_system=None)
    with page.capture() as captured:
        page.print(*(Text(part) if isinstance(part, str) else part for part in _told(model)), sep="\n")
    spec = model.model.partition("/")[0]
    return Case(spec, model.model, model.verdict, model.reason, captured.get(), model.seconds)
