"""Names what the bits of a run stand for, in the words of the operations that met them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from omni_ipc.testbed.operations import Operation, Subject
from omni_ipc.testbed.tasks import Task

Column = tuple[tuple[int, bool], ...]
"""The steps that touch a location, and whether they write it."""

_INDEXED = re.compile(r"(.+)\[(\d+)\]")


class Locations:
    """What was met in one run."""

    def __init__(self) -> None:
        self._subjects: dict[int, Subject] = {}
        self._beside: dict[int, str] = {}
        self._showing: dict[int, Subject] = {}

    def meet(self, subject: Subject) -> None:
        """Take note of a subject, by which its value is told from now on."""
        self._name_by(subject)
        self._showing.update(dict.fromkeys(bits_of(subject.bit), subject))

    def meet_all(self, operation: Operation) -> None:
        """Take note of what an operation is about, and of what it touches beside that."""
        subject = operation.subject
        if subject is None:
            return
        self._name_by(subject)
        if subject.bit.bit_count() == 1:
            self._showing.setdefault(subject.bit, subject)
        for bit in bits_of(operation.reads | operation.writes):
            about_it = (operation.reads | operation.writes) & subject.bit
            self._beside.setdefault(bit, title(subject) if about_it else f"the waiters of {title(subject)}")

    def subject(self, bit: int) -> Subject | None:
        """Return what can tell the value behind a bit, if anything can."""
        return self._showing.get(bit)

    def groups(
        self, columns: Mapping[int, Column], values: Sequence[Mapping[int, str]], tasks: Sequence[Task]
    ) -> Iterator[tuple[str, list[int], Column]]:
        """Put together the bits that the same steps use in the same way, and name each group of them.

        Objects that differ in their values are told one by one; of the parts of one object, the first speaks for all.

        Args:
            values: after each step, of what it used.
        """
        ends = {task.bit: f"the end of '{task.name}'" for task in tasks if task.bit}
        names = {bit: ends.get(bit) or self._name(bit) for bit in columns}
        heads: dict[tuple[Column, str], tuple[str | None, ...]] = {}
        grouped: dict[tuple[Column, tuple[str | None, ...]], list[int]] = defaultdict(list)
        for bit, column in columns.items():
            own = tuple(values[index].get(bit) for index, _ in column if index < len(values))
            grouped[column, heads.setdefault((column, root(names[bit])), own)].append(bit)
        for (column, _), bits in grouped.items():
            yield _together([names[bit] for bit in bits]), bits, column

    def _name_by(self, subject: Subject) -> None:
        if subject.bit.bit_count() == 1:
            self._subjects.setdefault(subject.bit, subject)

    def _name(self, bit: int) -> str:
        subject = self._subjects.get(bit)
        return title(subject) if subject is not None else self._beside.get(bit, "something")


def title(subject: Subject) -> str:
    """Name a subject in one word: "lock1", "Counter.value", "words1[3]"."""
    first, *rest = subject.label().items()
    if first[0] in ("task", "thread"):
        return f"{first[0]} '{first[1]}'"
    if not rest:
        return str(first[1])
    if [name for name, _ in rest] == ["index"]:
        return f"{first[1]}[{rest[0][1]}]"
    return f"{first[1]}[{', '.join(f'{name}={value}' for name, value in rest)}]"


def root(name: str) -> str:
    """Return the name of the object that a name begins with: "dict4" of "dict4[7]"."""
    return name.partition("[")[0].partition(" and ")[0]


def bits_of(mask: int) -> Iterator[int]:
    """Give the single bits of a set."""
    while mask:
        bit = mask & -mask
        yield bit
        mask ^= bit


def _together(names: Sequence[str]) -> str:
    """Name some locations in one: "words1[2..14]"."""
    names = list(dict.fromkeys(names))
    if len(names) == 1:
        return names[0]
    found = [_INDEXED.fullmatch(name) for name in names]
    if all(found) and len({match[1] for match in found if match}) == 1:
        indices = sorted(int(match[2]) for match in found if match)
        if indices == list(range(indices[0], indices[0] + len(indices))):
            return f"{found[0][1]}[{indices[0]}..{indices[-1]}]" if found[0] else names[0]
    return f"{names[0]} and {len(names) - 1} more"
