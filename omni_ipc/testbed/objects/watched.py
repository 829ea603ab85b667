"""Watched objects: each use of shared state is held against the lock that guards it.

Watching an object exchanges its class for a subclass that looks at attribute access, and gives it back after the run.

* With a guard: to use a field that holds a mutable container, or to write any field, without holding the guard ends
  the run at once. So does a read of a plain value without it, if the field is ever written: the read, where it came
  first, is named when the write comes.
* Without a guard: each use of a field outside of a region is a step of its own, in conflict with others on that field.
"""

from __future__ import annotations

import functools
import sys
from collections import deque
from collections.abc import Callable
from typing import Any, NoReturn, cast

from omni_ipc.errors import UsageError
from omni_ipc.records import Failure, FailureKind, Field
from omni_ipc.testbed.brief import brief
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.objects.base import Controlled
from omni_ipc.testbed.objects.lock import ControlledLock
from omni_ipc.testbed.operations import Operation, Reading
from omni_ipc.testbed.sharing import can_change
from omni_ipc.testbed.tasks import Task
from omni_ipc.testbed.where import locate

_CONTAINERS = (dict, list, set, deque, bytearray)
_WATCHES: dict[int, Watch] = {}  # by id of the watched object, which its watch keeps alive


class Watch(Controlled):
    """The watch over one object."""

    kind = "watch"

    def __init__(self, kernel: Kernel, target: Any, guard: ControlledLock | None, title: str) -> None:
        super().__init__(kernel)
        self.target = target
        self._class = kind = cast(Any, type(target))
        self._guard = guard
        self._title = title
        self._written: set[str] = set()  # fields that were written since the watch began
        self._bare_reads: dict[str, tuple[Task, str | None]] = {}  # who read a field without the guard first, and where
        try:
            target.__class__ = _watched_class(kind)
        except TypeError as error:
            raise UsageError(
                f"An object of class '{self._class.__name__}' cannot be watched ({error}). "
                "Watch an object of a Python class that has it as a field."
            ) from None
        _WATCHES[id(target)] = self

    def end(self) -> None:
        """Give the object its own class back."""
        if _WATCHES.pop(id(self.target), None) is not None:
            self.target.__class__ = self._class

    def read(self, field: str, get: Callable[[], Any]) -> Any:
        """Return the value of a field for the current task."""
        kernel = self.kernel
        if kernel.over or kernel.current is kernel.outside:
            return get()
        value = _peek(get)
        is_container = isinstance(value, _CONTAINERS)
        if self._guard is None and not kernel.current.atomic and not isinstance(value, Controlled):
            make = _Use if can_change(value) else _Read
            return kernel.perform(make("field.read", WatchedField(self, field), get))
        self._tell(field)
        if is_container:
            self._require_guard(field)
            kernel.writes |= self.field_bit(field)
        else:
            kernel.reads |= self.field_bit(field)
            if not isinstance(value, Controlled):
                self._note_read(field)
        return get()

    def write(self, field: str, put: Callable[[], None]) -> None:
        """Write a field for the current task."""
        kernel = self.kernel
        if kernel.over or kernel.current is kernel.outside:
            put()
            return
        if self._guard is None and not kernel.current.atomic:
            kernel.perform(_Use("field.write", WatchedField(self, field), put))
            return
        self._tell(field)
        self._require_guard(field)
        kernel.writes |= self.field_bit(field)
        self._note_write(field)
        put()

    def field_bit(self, field: str) -> int:
        """Return the bit that names a field."""
        return self.kernel.identities[self._maker.key, self._number, field]

    def field_name(self, field: str) -> str:
        return f"{self._title}.{field}"

    def shown(self, field: str) -> str:
        """Return the value of a field as text."""
        try:
            return brief(self._class.__getattribute__(self.target, field))
        except AttributeError:
            return "not there"

    def _tell(self, field: str) -> None:
        """Name what is used without a point to whoever looks on."""
        if self.kernel.observer is not None:
            self.kernel.observer.meet(WatchedField(self, field))

    def _require_guard(self, field: str) -> None:
        if self._guard is not None and not self._guard.is_held():
            self._end(field, self.kernel.current, locate(sys._getframe(1)))

    def _note_read(self, field: str) -> None:
        """Refuse a bare read of what is written, and remember one of what may yet be."""
        if self._guard is None or self._guard.is_held():
            return
        task, place = self.kernel.current, locate(sys._getframe(1))
        if field in self._written:
            self._end(field, task, place)
        self._bare_reads.setdefault(field, (task, place))

    def _note_write(self, field: str) -> None:
        """Refuse a write of what another task has read without the guard."""
        self._written.add(field)
        task, place = self._bare_reads.get(field, (self.kernel.current, None))
        if task is not self.kernel.current:
            self._end(field, task, place)

    def _end(self, field: str, task: Task, place: str | None) -> NoReturn:
        self.kernel.end(
            Failure(
                kind=FailureKind.UNGUARDED,
                message=f"{self.field_name(field)} was used without its lock by task '{task.name}' "
                f"at {place.split(' in ')[0] if place else 'an unknown line'}; "
                "move the line into the region that holds the lock",
                task=task.name,
                where=place,
            )
        )


class _Use(Operation):
    """A use of a field, which orders nothing else."""

    __slots__ = ()

    @property
    def fences(self) -> bool:
        return False


class _Read(_Use, Reading):
    """A use that leaves the field as it is."""

    __slots__ = ()


class WatchedField:
    """A field of a watched object, as an operation's subject."""

    __slots__ = ("_field", "_watch", "bit")

    def __init__(self, watch: Watch, field: str) -> None:
        self._watch = watch
        self._field = field
        self.bit = watch.field_bit(field)

    def label(self) -> dict[str, Field]:
        return {"field": self._watch.field_name(self._field)}

    def shown(self) -> str:
        return self._watch.shown(self._field)

    def blocked_on(self) -> str:
        return self._watch.field_name(self._field)

    def holder(self) -> Task | None:
        return None


@functools.lru_cache(maxsize=64)
def _watched_class(base: Any) -> Any:
    """Make the subclass whose instances are watched; bounded, because scenarios may define classes of their own."""
    slots = {name for kind in base.__mro__ for name in _slots(kind)}
    code = {name for kind in base.__mro__ for name, value in vars(kind).items() if hasattr(type(value), "__get__")}
    not_data = frozenset(code - slots)

    def is_field(target: Any, name: str) -> bool:
        """Tell state from code; a name that is not there yet, or only in the class, may be written any time."""
        return name in _attributes(target) or not (name in not_data or name.startswith("__"))

    def __getattribute__(self: Any, name: str) -> Any:  # noqa: N807
        watch = _WATCHES.get(id(self))
        if watch is None or not is_field(self, name):
            return base.__getattribute__(self, name)
        return watch.read(name, lambda: base.__getattribute__(self, name))

    def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807
        watch = _WATCHES.get(id(self))
        if watch is None or name == "__class__":
            base.__setattr__(self, name, value)
        else:
            watch.write(name, lambda: base.__setattr__(self, name, value))

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807
        watch = _WATCHES.get(id(self))
        if watch is None:
            base.__delattr__(self, name)
        else:
            watch.write(name, lambda: base.__delattr__(self, name))

    hooks = {hook.__name__: hook for hook in (__getattribute__, __setattr__, __delattr__)}
    body = {"__slots__": (), "__module__": base.__module__, "__qualname__": base.__qualname__, "__doc__": base.__doc__}
    return type(base)(base.__name__, (base,), {**body, **hooks})


def _peek(get: Callable[[], Any]) -> Any:
    """Return a value, or None where there is none yet."""
    try:
        return get()
    except AttributeError:
        return None


def _slots(kind: type[Any]) -> tuple[str, ...]:
    slots = kind.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _attributes(target: Any) -> dict[str, Any]:
    try:
        attributes: dict[str, Any] = object.__getattribute__(target, "__dict__")
    except AttributeError:
        return {}
    return attributes
