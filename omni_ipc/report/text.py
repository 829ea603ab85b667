"""A trace as text: what happened in sentences, one column a task, one row a step, and who waits for whom.

      # │ left      │ right
    ────┼───────────┼───────────
    ▸ 1 │ Left.Read │
        │ of=x      │
    ▸ 2 │           │ Right.Read
        │           │ of=x

A wedge marks each switch to another task. Where the terminal is narrower than the words of all columns, the tasks share
one column, and their names get another.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from textwrap import indent

import msgspec
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from omni_ipc.explanations import Explanation
from omni_ipc.records import Failure, MemoryOrder, Origin, Step, Trace, Wait
from omni_ipc.report.grid import Column, lay_out
from omni_ipc.report.plain import MOST_LINES, cut
from omni_ipc.report.rows import Gap, Row, is_region, rows_of

_INDENT = 2
_LONGEST_FIELD = 200  # characters
_LONGEST_VALUE = 48
_STATE_WIDTH = 24  # enough for most changes of a state
_REASON_WIDTH = 26  # columns below which the reasons of switches stand under the table
_MARKS = {"▸": "another task goes on", "◆": "the other way round, it did not fail", "✗": "here it failed"}


def heading(trace: Trace) -> Text:
    """Say what a trace is of, where it comes from, and what it violates."""
    code = f" with the defect {trace.defect}" if trace.defect else ""
    source = "explored" if trace.memory is MemoryOrder.SC else f"explored under {trace.memory.in_words}"
    if trace.origin is Origin.MODEL:
        source = f"TLC's counterexample{f' in {trace.model}' if trace.model else ''}"
    text = Text.assemble((trace.scenario, "bold"), f"{code}: {source}, {counted(len(trace.steps), 'step')}")
    if trace.strategy is not None and trace.schedule is not None:
        text.append(f"\nfound by {trace.strategy}, schedule {trace.schedule:,}", "dim")
    for what, names in (("instrumented", trace.instrument), ("faults", trace.faults)):
        if names:
            text.append(f"\n{what}: {', '.join(names)}", "dim")
    if trace.claim:
        text.append("\nviolates ").append(trace.claim, "red")
    return text


def render(explanation: Explanation, *, width: int, full: bool = False) -> RenderableType:
    """Lay out an explained trace.

    Args:
        width: columns of the terminal.
        full: show each step, and not only those that matter.
    """
    trace = explanation.trace
    rows = rows_of(explanation, full=full)
    parts: list[RenderableType] = [*_story(explanation.story)]
    if rows:
        parts += [*_steps_in_lanes(rows, width), *_legend(explanation, rows), ""]
    if trace.failure is not None:
        parts.append(tell(trace.failure))
        parts += _graph(trace.failure.waits, width)
    if any(step.where for step in trace.steps):
        parts += ["", "the last step of each task", Padding(_last_places(trace.steps), (0, 0, 0, 2))]
    return Group(*parts)


def tell(failure: Failure) -> Text:
    """Say what went wrong, and below it the details: who waits for what, tracebacks."""
    text = Text(str(msgspec.structs.replace(failure, message=cut(failure.message))), "bold red")
    for line in failure.details[:MOST_LINES]:
        text.append("\n" + indent(cut(line), "  "), "not bold default")
    if (left_out := len(failure.details) - MOST_LINES) > 0:
        text.append(f"\n  … ({counted(left_out, 'more line')}, left out here; --json tells all)", "not bold dim")
    return text


def counted(number: int, noun: str) -> str:
    """Write "1 step", "2,000 steps"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _story(sentences: Sequence[str]) -> list[RenderableType]:
    if not sentences:
        return []
    table = Table.grid(padding=(0, 1))
    for sentence in sentences:
        table.add_row(Text("•", "bold yellow"), Text(cut(sentence)))
    return [table, ""]


def _steps_in_lanes(rows: Sequence[Row | Gap], width: int) -> list[RenderableType]:
    """Give each task a column of its own, and the reasons of the switches one, or a list; else all tasks one column."""
    tasks = dict.fromkeys(row.step.task for row in rows if isinstance(row, Row))
    reasons = Column("why another task", [_reason(row) for row in rows], narrowest=_REASON_WIDTH)
    beside = [reasons] if any(cell.plain for cell in reasons.cells) else []
    lanes = [_marks(rows), *(Column(task, [_lane(row, task, tasks) for row in rows]) for task in tasks)]
    lanes += _changes(rows)
    if (whole := lay_out([*lanes, *beside], width)) is not None:
        return [whole]
    narrow = lay_out(lanes, width)
    return [_listing(rows)] if narrow is None else [narrow, *_reasons(rows)]


def _reasons(rows: Sequence[Row | Gap]) -> list[RenderableType]:
    """List the reasons of the switches by the numbers of the steps."""
    table = Table.grid(padding=(0, 2))
    for row in rows:
        if isinstance(row, Row) and (reason := _reason(row)).plain:
            table.add_row(Text(str(row.number), "dim", justify="right"), reason)
    return ["", Text("why another task", "dim"), table, ""] if table.row_count else []


def _listing(rows: Sequence[Row | Gap]) -> Table:
    """Give all tasks one column."""
    tasks = Column("task", [Text("" if isinstance(row, Gap) else row.step.task) for row in rows])
    steps = Column(
        "step", [_with_reason(row) if isinstance(row, Row) else _steps(sum(row.counts.values())) for row in rows]
    )
    table = lay_out([_marks(rows), tasks, steps, *_changes(rows)], None)
    assert table is not None, "without a width, there is room"
    return table


def _with_reason(row: Row) -> Text:
    reason = _reason(row)
    return _action(row).append(f"\n({reason.plain})", "not bold dim default") if reason.plain else _action(row)


def _marks(rows: Sequence[Row | Gap]) -> Column:
    """Number the steps, with a wedge where another task goes on."""
    marks = ["…" if isinstance(row, Gap) else " ".join((*_signs(row), str(row.number))) for row in rows]
    widest = max(map(len, marks))
    return Column("#", [Text(mark, "dim") for mark in marks], narrowest=widest, justify="right")


def _signs(row: Row) -> list[str]:
    switched, cause, last = _MARKS
    signs = ((row.is_last, last), (row.is_cause, cause), (row.switched, switched))
    return [sign for is_so, sign in signs if is_so]


def _lane(row: Row | Gap, task: str, tasks: Collection[str]) -> Text:
    if isinstance(row, Row):
        return _action(row) if row.step.task == task else Text()
    cell = _steps(row.counts.get(task, 0))
    if task == next(iter(tasks)) and (others := row.counts.keys() - tasks):  # of tasks that have no column
        count = sum(row.counts[other] for other in others)
        cell += Text(f"{'; ' if cell.plain else ''}{counted(count, 'step')} of others", "dim italic")
    return cell


def _action(row: Row) -> Text:
    style = "bold yellow" if row.is_cause else "bold red" if row.is_last else "bold" if is_region(row.step) else ""
    text = Text(row.step.action, style)
    for name, value in row.step.fields.items():
        text.append(f" {name}={cut(str(value), _LONGEST_FIELD)}", "not bold dim default")
    if row.step.expired:
        text.append(" (in vain)", "not bold italic default")
    for value in row.values:
        text.append(
            f"\n{value if len(value) <= _LONGEST_VALUE else value[: _LONGEST_VALUE - 1] + '…'}", "not bold cyan"
        )
    return text


def _reason(row: Row | Gap) -> Text:
    if isinstance(row, Gap):
        return Text()
    text = Text(row.reason or "", "dim")
    if row.step.time is not None:
        text.append(f"{'; ' if text.plain else ''}time passes: {row.step.time:g} s")
    return text


def _steps(count: int) -> Text:
    return Text(f"{counted(count, 'step')}" if count else "", "dim italic")


def _changes(rows: Sequence[Row | Gap]) -> list[Column]:
    """Give the changes of the state their column, if there are any."""
    cells = [Text("" if isinstance(row, Gap) else "\n".join(row.changes), "cyan") for row in rows]
    return [Column("state", cells, narrowest=_STATE_WIDTH)] if any(cells) else []


def _legend(explanation: Explanation, rows: Sequence[Row | Gap]) -> list[RenderableType]:
    """Explain the marks that explain something, and say how many steps are left out."""
    used = {sign for row in rows if isinstance(row, Row) for sign in _signs(row)}
    parts = [f"{sign} {meaning}" for sign, meaning in _MARKS.items() if sign in used and sign != "▸"]
    left_out = sum(sum(row.counts.values()) for row in rows if isinstance(row, Gap))
    if left_out:
        parts.append(f"{counted(left_out, 'step')} of {len(explanation.trace.steps):,} left out: show --all")
    lines = [*(["   ".join(parts)] if parts else []), *_names(explanation, rows)]
    return [Text(line, "dim") for line in lines]


def _names(explanation: Explanation, rows: Sequence[Row | Gap]) -> list[str]:
    """Say which names the runtime has for what is shown."""
    shown = {access.target for row in rows if isinstance(row, Row) for access in row.step.accesses}
    names = [
        f"{called} is {name}"
        for called, name in explanation.names.items()
        if any(target.startswith(called) for target in shown)
    ]
    return [f"to the runtime, {', '.join(names)}"] if names else []


def _graph(waits: Sequence[Wait], width: int) -> list[RenderableType]:
    """Draw who waits for whom, an edge a line: where there is no room for a name, it is cut."""
    if not waits:
        return []
    rows = [(wait.task, _awaited(wait), _holder(wait)) for wait in waits]
    room = width - _INDENT - cell_len(" ──  ──▶ ")
    task = min(max(cell_len(name) for name, _, _ in rows), room // 4)
    holder = min(max(cell_len(name) for _, _, name in rows), room // 3 + _INDENT * 2)
    table = Table.grid(padding=(0, 1))
    for name, awaited, held_by in rows:
        arrow = Text.assemble("── ", _cut(awaited, room - task - holder), " ──▶", style="dim")
        table.add_row(_cut(name, task, "bold"), arrow, _cut(held_by, holder))
    return ["", "who waits for whom", Padding(table, (0, 0, 0, _INDENT))]


def _holder(wait: Wait) -> str:
    return f"{wait.held_by or 'nobody in particular'}{' (ended)' if wait.held_by_ended else ''}"


def _awaited(wait: Wait) -> str:
    state = f" ({wait.state})" if wait.state else ""
    return f"{wait.target}{state}{f' until {wait.until:g} s' if wait.until is not None else ''}"


def _cut(text: str, width: int, style: str = "") -> Text:
    cut = Text(text, style)
    cut.truncate(width, overflow="ellipsis")
    return cut


def _last_places(steps: Sequence[Step]) -> Table:
    table = Table.grid(padding=(0, 2))
    for step in {step.task: step for step in steps}.values():
        table.add_row(Text(step.task), Text(step.action, "dim"), Text(step.where or ""))
    return table
