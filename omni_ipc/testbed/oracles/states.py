"""The state of a run as a list of tokens, so that a state that comes back can be told from one that only looks alike.

The state is where each task stands, and all that its frames lead to: variables, the cells of closures, globals that the
code names, the insides of objects. Objects count by their shape and place, and not by their identity. The clock moves
on, so moments count by their distance from now.

What cannot be looked into (objects of C types, the iterator of a `for` loop that may have gone on, sets of objects)
makes a state unknown: nothing is proven by it. What only the evaluation stack holds, as the exits of `with` blocks, is
not seen.
"""

from __future__ import annotations

import _thread
import dataclasses
import datetime
import decimal
import dis
import enum
import functools
import random
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
)
from typing import TYPE_CHECKING, Any

from omni_ipc.testbed.tasks import Task

if TYPE_CHECKING:
    from omni_ipc.testbed.kernel import Kernel

_MOST_TOKENS = 20_000
_CLOSE_S = 1e-9
_VALUES = (int, str, bytes, complex, type(None), range, enum.Enum)
_FIXED = (type, ModuleType, CodeType)
_ENGINE = tuple(
    f"{__name__.rpartition('.')[0].rpartition('.')[0]}.{room}"
    for room in (
        "clock",
        "kernel",
        "runtime",
        "runner",
        "buffering",
        "faults",
        "strategies",
        "oracles",
        "identity",
        "tasks",
    )
)
_NO_STATE_FRAMES = (*_ENGINE, f"{__name__.rpartition('.')[0].rpartition('.')[0]}.loops.")
_NO_STATE_ROOMS = (*_ENGINE, "logging", "greenlet")  # what they keep is none of the scenario's
_NAMES = ("_maker", "_number", "bit", "kernel")  # of a controlled object; its place tells it, too


class _Unknown(Exception):
    """Something cannot be looked into."""


@dataclasses.dataclass(frozen=True, slots=True)
class State:
    """One state of a run.

    Args:
        now: virtual seconds since the run began.
        depth: steps that had been taken.
        hidden: tasks, by index, that are in a `for` loop: as long as they take no step, it stands still, too.
        tokens: what it is made of, in a fixed order.
    """

    now: float
    depth: int
    hidden: frozenset[int]
    tokens: tuple[object, ...]

    def is_same(self, later: State) -> bool:
        """Tell whether a later state differs from this one by the passage of time only."""
        return len(self.tokens) == len(later.tokens) and all(
            mine == theirs or (type(mine) is float and type(theirs) is float and self._has_moved(mine, theirs, later))
            for mine, theirs in zip(self.tokens, later.tokens, strict=True)
        )

    def _has_moved(self, mine: float, theirs: float, later: State) -> bool:
        return abs((theirs - later.now) - (mine - self.now)) < _CLOSE_S


def take_state(kernel: Kernel) -> State | None:
    """Return the state that a run is in, or None if it cannot be known."""
    walk = _Walk()
    try:
        for task in kernel.living:
            walk.task(task)
        walk.finish()
    except Exception:  # _Unknown, or of code under test that refuses to be looked at
        return None
    return State(kernel.clock.now, kernel.depth, frozenset(walk.hidden), tuple(walk.tokens))


class _Walk:
    """One walk through all that the living tasks lead to."""

    def __init__(self) -> None:
        self.tokens: list[object] = []
        self.hidden: set[int] = set()
        self._numbers: dict[int, int] = {}
        self._todo: deque[object] = deque()
        self._kept: list[object] = []  # what was made on the way, so that its id stays its own

    def task(self, task: Task) -> None:
        """Add where a task stands."""
        operation = task.pending
        self.tokens += [task.index, task.atomic, task.ready() if task.deadline is None else task.deadline]
        self.tokens.append(operation.action if operation is not None else None)
        frame = task.frame()
        while frame is not None:
            if not frame.f_globals.get("__name__", "").startswith(_NO_STATE_FRAMES):
                self._frame(frame)
                if _is_in_loop(frame):
                    self.hidden.add(task.index)
            frame = frame.f_back

    def finish(self) -> None:
        """Add all that was met on the way."""
        while self._todo:
            self._look_into(self._todo.popleft())
            if len(self.tokens) > _MOST_TOKENS:
                raise _Unknown

    def _frame(self, frame: FrameType) -> None:
        self.tokens += [id(frame.f_code), frame.f_lasti]
        self._meet_all(frame.f_locals.values())
        module = frame.f_globals.get("__name__")
        for name in _globals(frame.f_code):
            value = frame.f_globals.get(name)
            if isinstance(value, (*_VALUES, float, *_CONTAINERS)) or type(value).__module__ == module:
                self._meet(value)

    def _meet_all(self, values: Iterable[object]) -> None:
        for value in values:
            self._meet(value)

    def _meet(self, value: object) -> None:
        """Add a value; what it consists of follows later."""
        if type(value) is float or isinstance(value, _VALUES):
            self.tokens.append(value)
        elif isinstance(value, Task):
            self.tokens.append(value.index)
        elif isinstance(value, _FIXED) or type(value).__module__.startswith(_NO_STATE_ROOMS):
            self.tokens.append(id(value))
        elif id(value) in self._numbers:
            self.tokens.append(self._numbers[id(value)])
        else:
            self.tokens += [type(value), len(self._numbers)]
            self._numbers[id(value)] = len(self._numbers)
            self._todo.append(value)

    def _look_into(self, value: Any) -> None:
        whole = next((look for kind, look in WHOLE.items() if isinstance(value, kind)), None)
        parts = list(_members(value)) if whole is None else whole(value)
        for kind, look in () if whole is not None else _LOOKS.items():
            if isinstance(value, kind):
                parts += look(value)
                break
        else:
            if whole is None and not parts and not _is_empty(value):
                raise _Unknown
        self._kept.append(parts)
        self.tokens.append(len(parts))
        self._meet_all(parts)


def _members(value: object) -> Iterator[object]:
    """Give the attributes of an object, but for those that only name it."""
    if isinstance(value, (*_CONTAINERS, FunctionType)) and type(value).__module__ == "builtins":
        return
    names = _NAMES if hasattr(value, "_maker") else ()
    yield from (part for name, part in getattr(value, "__dict__", {}).items() if name not in names)
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__weakref__", "__dict__", *names):
                yield getattr(value, f"_{kind.__name__.lstrip('_')}{name}" if name.startswith("__") else name, None)


def _is_empty(value: object) -> bool:
    """Tell whether an object without attributes can have no state: its classes are written in Python."""
    return all("__slots__" in vars(kind) or hasattr(value, "__dict__") for kind in type(value).__mro__[:-1])


def _of_set(value: Iterable[object]) -> list[object]:
    if not all(map(_is_plain, value)):
        raise _Unknown
    return sorted(value, key=lambda item: (type(item).__name__, repr(item)))


def _is_plain(item: object) -> bool:
    return isinstance(item, _VALUES) or (type(item) is tuple and all(map(_is_plain, item)))


def _of_cell(cell: CellType) -> list[object]:
    try:
        return [cell.cell_contents]
    except ValueError:  # not assigned yet
        return []


def _of_suspended(value: Any) -> list[object]:
    """Give the variables of a generator or a coroutine, where it stands, and what it waits for."""
    kind = "cr" if isinstance(value, CoroutineType) else "gi"
    frame, inner = getattr(value, f"{kind}_frame"), getattr(value, "cr_await" if kind == "cr" else "gi_yieldfrom")
    if frame is None:
        return []
    if _is_in_loop(frame):
        raise _Unknown
    return [frame.f_lasti, inner, *frame.f_locals.values()]


_LOOKS: dict[type, Callable[[Any], list[object]]] = {
    list: list,
    tuple: list,
    deque: list,
    dict: lambda value: [part for item in value.items() for part in item],
    set: _of_set,
    frozenset: _of_set,
    bytearray: lambda value: [bytes(value)],
    memoryview: lambda value: [bytes(value)],
    CellType: _of_cell,
    FunctionType: lambda value: [value.__code__, *(value.__closure__ or ()), *(value.__defaults__ or ())],
    MethodType: lambda value: [value.__func__, value.__self__],
    functools.partial: lambda value: [value.func, *value.args, *value.keywords.values()],
    GeneratorType: _of_suspended,
    CoroutineType: _of_suspended,
    weakref.ref: lambda value: [value()],
    random.Random: lambda value: [hash(value.getstate())],
    BuiltinFunctionType: lambda value: [value.__name__, value.__self__],
    BaseException: lambda value: list(value.args),
    datetime.date: lambda value: [repr(value)],
    datetime.time: lambda value: [repr(value)],
    datetime.timedelta: lambda value: [repr(value)],
    decimal.Decimal: lambda value: [repr(value)],
}
WHOLE: dict[type, Callable[[Any], list[object]]] = {}
"""Class -> what tells all of the state of its objects, in place of their attributes; other rooms add theirs."""
if hasattr(_thread, "_ThreadHandle"):
    WHOLE[_thread._ThreadHandle] = lambda _: []  # threads under control do not use it
_CONTAINERS = (list, tuple, deque, dict, set, frozenset, bytearray)


def _is_in_loop(frame: FrameType) -> bool:
    return any(start < frame.f_lasti < end for start, end in _loops(frame.f_code))


@functools.cache
def _loops(code: CodeType) -> tuple[tuple[int, int], ...]:
    """Return where the bodies of `for` loops begin and end."""
    return tuple((step.offset, step.argval) for step in dis.get_instructions(code) if step.opname == "FOR_ITER")


@functools.cache
def _globals(code: CodeType) -> tuple[str, ...]:
    """Return the names of the globals that a code may rebind or look up."""
    return tuple(
        dict.fromkeys(
            step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "STORE_GLOBAL")
        )
    )
