"""Recordings, doctored: so that a reader has something to refuse, and a model something to reject."""

from __future__ import annotations

import json
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from omni_ipc.recordings import SUFFIX

Row = dict[str, Any]
Edit = Callable[[list[Row]], Iterable[Row]]


def doctored(source: Path, to: Path, *edits: Edit) -> Path:
    """Copy a folder of recordings, edited; the lines are numbered anew, so that only the edits can be seen.

    It is a session of its own: its memory is not that of the original.
    """
    to.mkdir(parents=True)
    for path in sorted(source.glob(f"*{SUFFIX}")):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for edit in edits:
            rows = list(edit(rows))
        _number(rows)
        for row in rows:
            if "inode" in row:
                row["inode"] += zlib.crc32(to.name.encode()) << 32
        (to / path.name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return to


def without(action: str) -> Edit:
    """Leave out every region of a name."""

    def edit(rows: list[Row]) -> Iterable[Row]:
        steps = _steps_of(rows, action)
        return (row for row in rows if row.get("step") not in steps)

    return edit


def twice(action: str) -> Edit:
    """Repeat every region of a name, right after itself."""

    def edit(rows: list[Row]) -> Iterable[Row]:
        steps = _steps_of(rows, action)
        again: list[Row] = []
        for row in rows:
            yield row
            if row.get("step") in steps:
                again.append(row | {"step": row["step"] + 1_000_000, "time_ns": 0})
                if row["kind"] == "ended":
                    for place, copy in enumerate(again, start=1):
                        yield copy | {"time_ns": row["time_ns"] + place}
                    again.clear()

    return edit


def moved(action: str, seconds: float) -> Edit:
    """Let every region of a name have happened so much later."""

    def edit(rows: list[Row]) -> Iterable[Row]:
        steps = _steps_of(rows, action)
        for row in rows:
            later = int(seconds * 1e9) if row.get("step") in steps else 0
            yield row | ({"time_ns": row["time_ns"] + later} if "time_ns" in row else {})

    return edit


def changed(action: str, name: str, field: str, *, nth: int = -1, **keys: list[Any]) -> Edit:
    """Let a region of a name have changed a field of an object that it looked at."""

    def edit(rows: list[Row]) -> Iterable[Row]:
        steps = _steps_of(rows, action)
        if steps:
            number = next(row["object"] for row in rows if row.get("name") == name)
            ended = [row for row in rows if row["kind"] == "ended" and row["step"] in steps][nth]
            assert number in ended["looked"]
            kept = [change for change in ended.get("changes", []) if change["field"] != field]
            ended["changes"] = [*kept, {"object": number, "field": field, **keys}]
        return rows

    return edit


def cut_before(action: str) -> Edit:
    """End the file of the process that has such a region right before it, as if it had been killed there."""

    def edit(rows: list[Row]) -> Iterable[Row]:
        first = next((place for place, row in enumerate(rows) if row.get("action") == action), None)
        return rows[:first]

    return edit


def cut_last(action: str) -> Edit:
    """Leave out the last line of the process that has such a region, as if it had been killed then."""

    def edit(rows: list[Row]) -> Iterable[Row]:
        return rows[:-1] if _steps_of(rows, action) else rows

    return edit


def cut_inside(action: str) -> Edit:
    """End the file of the process that has such a region in the middle of it."""

    def edit(rows: list[Row]) -> Iterable[Row]:
        first = next((place for place, row in enumerate(rows) if row.get("action") == action), len(rows))
        return rows[: first + 1]

    return edit


def _steps_of(rows: Iterable[Row], action: str) -> set[int]:
    return {row["step"] for row in rows if row.get("action") == action}


def _number(rows: list[Row]) -> None:
    numbers: dict[int, int] = defaultdict(int)
    for place, row in enumerate(rows):
        row["number"] = numbers[row["thread"]]
        numbers[row["thread"]] += 1
        if row["kind"] == "closed":
            row["lines"] = place
