"""What a recording tells of an object: which keys its dicts have, who is in its sets, and its plain values."""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterator
from collections.abc import Set as AbstractSet
from typing import Any

from omni_ipc.recordings import Change
from omni_ipc.records import Field

_NOTHING: frozenset[Field] = frozenset()


class Snapshot:
    """The state of an object as it was told of last; used with the guard held.

    Args:
        number: of the object, in this process.
    """

    def __init__(self, target: object, guard: object, number: int) -> None:
        self.number = number
        self._target = weakref.ref(target)
        self._guard = guard
        self._fields: dict[str, frozenset[Field] | Field] = {}

    def guards(self, lock: object) -> bool:
        """Tell whether this object still lives, and is guarded by a lock."""
        return self._guard is lock and self._target() is not None

    def changes(self) -> Iterator[Change]:
        """Tell how it has changed since this was asked last; of a field that is new, also that it is empty."""
        for name, value in [*vars(self._target()).items()]:
            now, before = _seen(value), self._fields.get(name, _NOTHING)
            if name in self._fields and now == before and type(now) is type(before):
                continue
            self._fields[name] = now
            if isinstance(now, frozenset):
                before = before if isinstance(before, frozenset) else _NOTHING
                yield Change(self.number, name, _ordered(now - before), _ordered(before - now))
            else:
                yield Change(self.number, name, value=now)


def _seen(value: Any) -> frozenset[Field] | Field:
    match value:
        case bool() | int() | str():
            return value
        case dict() | AbstractSet():
            return frozenset(key for key in [*value] if isinstance(key, bool | int | str))
        case Collection():
            return len(value)
    return value is not None


def _ordered(members: frozenset[Field]) -> tuple[Field, ...]:
    return tuple(sorted(members, key=lambda member: (str(type(member)), member)))
