"""A trace as text: one column a task, one row a step, and below it what went wrong and the last step of each task.

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

from collections.abc import Sequence

import msgspec
from rich import box
from rich.cells import cell_len
from rich.console import Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from omni_ipc.records import Failure, MemoryOrder, Origin, Step, Trace
from omni_ipc.report.plain import MOST_LINES, cut
from omni_ipc.report.rows import Gap, Row, is_region, rows_of

_SEPARATOR_WIDTH = 3
_LONGEST_FIELD = 200  # characters
_STATE_WIDTH = 24  # enough for most changes of a state


def heading(trace: Trace) -> Text:
    """Say what a trace is of, where it comes from, and what it violates."""
    code = f"with the defect {trace.defect}" if trace.defect else "without a defect"
    source = "explored" if trace.memory is MemoryOrder.SC else f"explored under {trace.memory.in_words}"
    if trace.origin is Origin.MODEL:
        source = f"TLC's counterexample{f' in {trace.model}' if trace.model else ''}"
    text = Text.assemble((trace.scenario, "bold"), f" {code}: {source}, {counted(len(trace.steps), 'step')}")
    if trace.claim:
        text.append("\nviolates ").append(trace.claim, "red")
    return text


def render(trace: Trace, *, width: int, full: bool = False) -> RenderableType:
    """Lay out a trace.

    Args:
        width: columns of the terminal.
        full: show each step; otherwise a long trace keeps its regions and the last step of each task, and what lies
            between them becomes a count.
    """
    rows = rows_of(trace, full=full)
    parts: list[RenderableType] = [_lanes(rows, width) or _listing(rows), ""] if rows else []
    if trace.failure is not None:
        parts.append(explain(trace.failure))
    if any(step.where for step in trace.steps):
        parts += ["", "the last step of each task", Padding(_last_places(trace.steps), (0, 0, 0, 2))]
    return Group(*parts)


def explain(failure: Failure) -> Text:
    """Say what went wrong, and below it the details: who waits for what, tracebacks."""
    text = Text(str(msgspec.structs.replace(failure, message=cut(failure.message))), "bold red")
    for line in failure.details[:MOST_LINES]:
        text.append(f"\n  {cut(line)}", "not bold default")
    if (left_out := len(failure.details) - MOST_LINES) > 0:
        text.append(f"\n  … ({counted(left_out, 'more line')}, left out here; --json tells all)", "not bold dim")
    return text


def counted(number: int, noun: str) -> str:
    """Write "1 step", "2,000 steps"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _lanes(rows: Sequence[Row | Gap], width: int) -> Table | None:
    """Give each task a column of its own; None if the terminal is too narrow for that."""
    tasks = dict.fromkeys(row.step.task for row in rows if isinstance(row, Row))
    lanes = [_Column(task, [_lane(row, task) for row in rows]) for task in tasks]
    columns = [_marks(rows), *lanes, *_changes(rows)]
    room = width - sum(column.narrowest for column in columns) - _SEPARATOR_WIDTH * (len(columns) - 1)
    if room < 0:
        return None
    for column in sorted(columns, key=_Column.needs):  # whoever needs little gets it: most rows then take one line
        room -= column.widen(room)
    return _table(columns)


def _listing(rows: Sequence[Row | Gap]) -> Table:
    """Give all tasks one column."""
    tasks = _Column("task", [Text("" if isinstance(row, Gap) else row.step.task) for row in rows])
    steps = _Column(
        "step", [_action(row) if isinstance(row, Row) else _steps(sum(row.counts.values())) for row in rows]
    )
    return _table([_marks(rows), tasks, steps, *_changes(rows)])


class _Column:
    """A column of the grid, and how narrow it may become."""

    def __init__(
        self, title: str, cells: Sequence[Text], *, narrowest: int = 0, justify: JustifyMethod = "left"
    ) -> None:
        self.title = title
        self.justify = justify
        self.cells = cells
        texts = [title, *(cell.plain for cell in cells)]
        self.widest = max(cell_len(line) for text in texts for line in text.split("\n"))
        self.narrowest = max(cell_len(word) for text in texts for word in text.split() or [""])
        self.narrowest = max(self.narrowest, min(narrowest, self.widest))
        self.width: int | None = None  # as the console likes

    def needs(self) -> int:
        """What it lacks, at its narrowest, to break no line."""
        return self.widest - self.narrowest

    def widen(self, room: int) -> int:
        """Take of the room what it needs, and tell how much that is."""
        taken = min(room, self.needs())
        self.width = self.narrowest + taken
        return taken


def _marks(rows: Sequence[Row | Gap]) -> _Column:
    """Number the steps, with a wedge where another task goes on."""
    marks = ["…" if isinstance(row, Gap) else f"{'▸ ' if row.switched else ''}{row.number}" for row in rows]
    widest = max(map(len, marks))
    return _Column("#", [Text(mark, "dim") for mark in marks], narrowest=widest, justify="right")


def _lane(row: Row | Gap, task: str) -> Text:
    if isinstance(row, Gap):
        return _steps(row.counts.get(task, 0))
    return _action(row) if row.step.task == task else Text()


def _action(row: Row) -> Text:
    text = Text(row.step.action, "bold" if is_region(row.step) else "")
    for name, value in row.step.fields.items():
        text.append(f" {name}={cut(str(value), _LONGEST_FIELD)}", "not bold dim")
    return text


def _steps(count: int) -> Text:
    return Text(f"{counted(count, 'step')}" if count else "", "dim italic")


def _changes(rows: Sequence[Row | Gap]) -> list[_Column]:
    """Give the changes of the state their column, if there are any."""
    cells = [Text("" if isinstance(row, Gap) else "\n".join(row.changes), "cyan") for row in rows]
    return [_Column("state", cells, narrowest=_STATE_WIDTH)] if any(cells) else []


def _table(columns: Sequence[_Column]) -> Table:
    table = Table(box=box.MINIMAL, pad_edge=False, show_edge=False)
    for column in columns:
        table.add_column(Text(column.title), width=column.width, justify=column.justify, overflow="fold")
    for cells in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*cells)
    return table


def _last_places(steps: Sequence[Step]) -> Table:
    table = Table.grid(padding=(0, 2))
    for step in {step.task: step for step in steps}.values():
        table.add_row(Text(step.task), Text(step.action, "dim"), Text(step.where or ""))
    return table
