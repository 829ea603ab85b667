"""Identities of objects that code under test makes: the same in every schedule.

An object that instrumented code makes is named by the task that makes it and by its number among those of that task. So
are the objects that a module holds when a run begins, by their place. Objects that come from elsewhere share one
identity for each type: then accesses to different ones count as accesses to the same one, which is coarser, and sound.

Named objects are kept alive until their run ends, so that no other object gets the ``id()`` of one.
"""

from __future__ import annotations

import enum
import gc
from collections.abc import Hashable
from contextvars import Context
from types import CodeType, CoroutineType, FrameType, ModuleType
from typing import Any, NamedTuple

from omni_ipc.testbed.identity import CONTEXTS
from omni_ipc.testbed.instrument.memory import IS_ARRAY, holder_of
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.tasks import Task

PLAIN = frozenset({int, float, complex, str, bytes, bool, type(None)})
"""Types of keys whose hash and comparison run no code of anybody."""

ANY_KEY = ...
"""Stands for a key of which only code under test could tell which items it names."""

_BY_IDENTITY: object = object.__eq__
_LIBRARY = ("builtins", "collections")


class Name(NamedTuple):
    """Who an object is.

    Args:
        key: its identity.
        text: for people: "Counter2".
    """

    key: tuple[Hashable, ...]
    text: str


class Names:
    """The names of one run.

    A dictionary of attributes, as ``vars(obj)`` or ``globals()``, is its object, or module, under another name.
    """

    def __init__(self) -> None:
        self._lasting: dict[int, tuple[object, Name]] = {}
        self._made: dict[int, tuple[object, Task, int]] = {}
        self._lasting_owners: dict[int, tuple[object, Any]] = {}
        self._owners: dict[int, tuple[object, Any]] = {}

    def begin(self) -> None:
        """Forget the objects of the run before."""
        self._made.clear()
        self._owners = dict(self._lasting_owners)

    def bare(self, value: Any, *, lasting: bool = False) -> None:
        """Take note that code gets at the dictionary of an object's attributes.

        Args:
            lasting: it has it from before the runs.
        """
        try:
            names = type.__dict__["__dict__"].__get__(value) if isinstance(value, type) else _names_of(value)
        except AttributeError:
            return
        if not isinstance(names, dict):
            names = gc.get_referents(names)[0]
        owners = self._lasting_owners if lasting else self._owners
        owners[id(names)] = names, value

    def owner(self, value_id: int) -> Any:
        """Return the object whose attributes a dictionary has; None if it is an ordinary one."""
        found = self._owners.get(value_id)
        return None if found is None else found[1]

    def keep(self, value: object, path: str) -> None:
        """Name an object that outlives runs by its place: "pump.registry"."""
        self._lasting.setdefault(id(value), (value, Name(("place", path), path)))

    def make(self, kernel: Kernel, value: object) -> None:
        """Name an object that the current task has just made, unless it has a name."""
        if id(value) not in self._made:
            maker = kernel.current
            maker.made += 1
            self._made[id(value)] = value, maker, maker.made

    def maker(self, value: object) -> Task | None:
        """Return the task that has made an object in this run; None if it comes from elsewhere."""
        made = self._made.get(id(value))
        return None if made is None else made[1]

    def of(self, value: object) -> Name:
        """Return the name of an object; arrays have one in common, or that of what holds their elements."""
        if IS_ARRAY[type(value)]:
            holder = holder_of(value)
            return Name(("any", "array"), f"a {type(value).__name__}") if holder is value else self.of(holder)
        made = self._made.get(id(value))
        if made is not None:
            _, maker, number = made
            return Name((maker.key, number), _text(value, maker, number))
        lasting = self._lasting.get(id(value))
        if lasting is not None:
            return lasting[1]
        if isinstance(value, ModuleType):
            return name_of_module(value.__name__)
        if isinstance(value, Context):
            return Name(CONTEXTS, "a Context")
        if isinstance(value, (FrameType, CodeType)):
            return _name_of_code(value.f_code if isinstance(value, FrameType) else value)
        if isinstance(value, CoroutineType):
            return _name_of_code(value.cr_code)
        if isinstance(value, type):
            text = f"{value.__module__}.{value.__qualname__}"
            return Name(("class", text), value.__qualname__)
        kind = type(value)
        return Name(("any", kind.__module__, kind.__qualname__), f"a {kind.__name__}")

    def key_of(self, value: Any) -> Hashable:
        """Return what stands for a key of a mapping: itself if it is plain, `ANY_KEY` if others may equal it."""
        kind = type(value)
        if kind in PLAIN:
            return value if kind is not float or value == value else "nan"
        if kind is tuple:
            keys = tuple(self.key_of(item) for item in value)
            return ANY_KEY if ANY_KEY in keys else keys
        if value is ANY_KEY or kind.__eq__ is not _BY_IDENTITY:
            return ANY_KEY
        if isinstance(value, enum.Enum):
            return (kind.__qualname__, value.name)
        return self.of(value).key


def _name_of_code(code: CodeType) -> Name:
    return Name(("run", code.co_filename, code.co_qualname), code.co_qualname)


def name_of_module(module: str) -> Name:
    """Return the name of what holds a module's globals."""
    return Name(("global", module), module.rpartition(".")[2])


def _names_of(value: Any) -> Any:
    return object.__getattribute__(value, "__dict__")


def _text(value: object, maker: Task, number: int) -> str:
    """Call an object by its class; a container, of which there are many, also by its maker and number."""
    kind = type(value)
    if kind.__module__ not in _LIBRARY:
        return kind.__name__
    return f"{maker.name}.{kind.__name__}{number}" if maker.index > 0 else f"{kind.__name__}{number}"


def is_plain(key: object) -> bool:
    """Tell whether a key is a value whose hash and comparison run no code of anybody."""
    return type(key) in PLAIN or (type(key) is tuple and all(is_plain(item) for item in key))


def bases_of(value: object) -> tuple[type, ...]:
    """Return the classes in which an attribute is looked for that an object does not have itself."""
    return value.__mro__[1:] if isinstance(value, type) else type(value).__mro__
