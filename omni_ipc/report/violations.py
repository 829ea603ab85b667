"""A counterexample of TLC for people: what is violated, in English; the steps; and which guard let it pass.

  # │ step                           │ state
────┼────────────────────────────────┼────────────────────────
  1 │ WorkerAnnounce(output="1")     │ inbox: {} → {"1"}
  2 │ PumpUnpack(output="1")         │ pump.at: "idle" → "unpacked"
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from omni_ipc.report.output import table
from omni_ipc.report.plain import cut
from omni_ipc.report.states import changes, values
from omni_ipc.violations import Claim, Departure, Guard, Violation

_INDENT = 2


def tell_violation(violation: Violation) -> RenderableType:
    """Lay out a counterexample."""
    parts: list[RenderableType] = list(_claim(violation.claim))
    parts += ["", _steps(violation)]
    parts += _departure(violation.departure, violation) if violation.departure else []
    parts += _guards(violation.guards) if violation.guards else []
    parts += ["", Text(cut(violation.note), "dim")] if violation.note else []
    return Padding(Group(*parts), (0, 0, 0, _INDENT))


def _claim(claim: Claim | None) -> Iterator[Text]:
    if claim is None:
        yield Text("A state is reached in which nothing can happen any more, and not everybody is done.", "bold red")
        return
    yield Text(cut(claim.sentence or claim.name), "bold red")
    where = f" ({claim.where})" if claim.where else ""
    of = f" of {' and of '.join(claim.exceptions)}" if claim.exceptions else ""
    yield Text(f"{claim.name}{where} is false{of}")
    if claim.part:
        yield Text(f"because this is: {cut(claim.part)}")


def _steps(violation: Violation) -> RenderableType:
    lines = []
    before = violation.initial
    if not violation.steps:
        lines.append((Text("0", "dim"), Text("as it begins", "italic"), Text("\n".join(values(before)), "cyan")))
    for number, step in enumerate(violation.steps, start=1):
        off = violation.departure is not None and violation.departure.step == number
        mark = "→" if off else ""
        state = Text("\n".join(changes(before, step.state)), "cyan")
        lines.append((Text(f"{mark}{number}", "dim"), Text(step.action, "bold yellow" if off else ""), state))
        before = step.state
    if violation.loop is not None:
        lines.append((Text("∞", "dim"), Text(_loop(violation), "italic"), Text()))
    return table(("#", "step", "state"), lines)


def _loop(violation: Violation) -> str:
    if violation.loop == len(violation.steps):
        return "and so it stays for ever"
    assert violation.loop is not None, "it is asked of lassos"
    return f"then again from step {violation.loop + 1} on, for ever"


def _departure(departure: Departure, violation: Violation) -> Iterator[RenderableType]:
    """Say what the design does in the place of a step of a bug model."""
    yield ""
    step = f"Step {departure.step}, {departure.action},"
    if departure.refused_by is not None:
        guard = departure.refused_by
        yield Text(f"{step} would be refused by the design, whose guard is false there:")
        yield from _guard_lines(guard)
        return
    yield Text(f"{step} leads elsewhere in the design ({departure.where}):")
    for line in changes(violation.steps[departure.step - 1].state, departure.instead):
        here, _, there = line.partition(" → ")
        yield Padding(Text(f"{here}; in the design {there}", "cyan"), (0, 0, 0, _INDENT))


def _guards(guards: Sequence[Guard]) -> Iterator[RenderableType]:
    yield ""
    if not guards[0].holds:
        yield Text("What each action waits for:")
        lines = [(guard.action, _with_values(guard), guard.where) for guard in guards]
        yield table(("action", "is false", "where"), lines)
        return
    yield Text(f"The guards of the last step, {guards[0].action}; one of them should have been false:")
    yield table(("was true", "where"), [(_with_values(guard), guard.where) for guard in guards])


def _guard_lines(guard: Guard) -> Iterator[RenderableType]:
    yield Padding(Text.assemble(_with_values(guard), (f"  ({guard.where})", "dim")), (0, 0, 0, _INDENT))


def _with_values(guard: Guard) -> Text:
    text = Text(cut(guard.text))
    for name, value in guard.values.items():
        text.append(f"\n{name} = {value}", "cyan")
    return text
