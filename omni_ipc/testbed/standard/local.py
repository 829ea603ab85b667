"""``threading.local`` under control: attributes that each task has for itself."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import repeat
from operator import is_
from types import ModuleType
from typing import Any

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.standard.sealed import tell
from omni_ipc.testbed.standard.world import running

_REAL: type = threading.local


class ControlledLocal:
    """An object whose attributes are those of the task that asks.

    What was given to it before any run, by the import of a module, is the main task's when a run begins.
    """

    __slots__ = ("__dict__", "__weakref__", "_arguments", "_first", "_nobodys")

    _arguments: tuple[tuple[Any, ...], dict[str, Any]]
    _first: object  # who made it, and so has its attributes without another call of __init__
    _nobodys: dict[str, Any]  # attributes outside of any run

    def __new__(cls, /, *args: Any, **options: Any) -> ControlledLocal:
        if (args or options) and cls.__init__ is object.__init__:
            raise TypeError("Initialization arguments are not supported")
        self = object.__new__(cls)
        kernel = running()
        object.__setattr__(self, "_arguments", (args, options))
        object.__setattr__(self, "_nobodys", {})
        object.__setattr__(self, "_first", None if kernel is None else kernel.current)
        return self

    def __getattribute__(self, name: str) -> Any:
        _enter(self)
        return object.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        _refuse_dict(self, name)
        _enter(self)
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        _refuse_dict(self, name)
        _enter(self)
        object.__delattr__(self, name)


ControlledLocal.__name__ = "_thread._local"  # as messages name it


def stand_ins(modules: Iterable[tuple[ModuleType, bool]]) -> dict[int, Any]:
    """Make one for each real one that modules hold by a global name, or a class of theirs by an attribute.

    The main task finds in it what the thread has that explores.

    Args:
        modules: with each, whether to look into its classes, too.
    """
    found: dict[int, Any] = {}
    for module, deep in modules:
        for names in _held(module, deep):
            if any(map(is_, map(type, names.values()), repeat(_REAL))):
                for value in names.values():
                    if type(value) is _REAL:
                        found[id(value)] = made = ControlledLocal()
                        object.__setattr__(made, "_nobodys", dict(vars(value)))
    return found


def _held(module: ModuleType, deep: bool) -> Iterator[Mapping[str, Any]]:
    yield vars(module)
    for value in vars(module).values() if deep else ():
        if isinstance(value, type) and value.__module__ == module.__name__:
            yield vars(value)


def tell_subclasses(modules: Iterable[ModuleType]) -> Iterator[Callable[[], object]]:
    """Let instances of subclasses that modules have made of the real one tell that tasks would share them."""
    names = {module.__name__ for module in modules}
    todo: list[type] = _REAL.__subclasses__()
    while todo:
        kind = todo.pop()
        todo += kind.__subclasses__()
        if kind.__module__ in names:
            for method in ("__getattribute__", "__setattr__"):
                yield _exchange(kind, method, tell(f"a threading.local of class '{kind.__name__}'"))


def _exchange(kind: type, name: str, by: Callable[[Any], Any]) -> Callable[[], object]:
    own = vars(kind).get(name)
    setattr(kind, name, by(getattr(kind, name)))
    return functools.partial(delattr, kind, name) if own is None else functools.partial(setattr, kind, name, own)


def make(_kernel: Kernel, *args: Any, **options: Any) -> ControlledLocal:
    """Make one as `threading.local` does."""
    return ControlledLocal(*args, **options)


def _enter(local: ControlledLocal) -> None:
    """Give the object the attributes of the current task; make them if the task has none yet."""
    kernel = running()
    get = object.__getattribute__
    if kernel is None:
        object.__setattr__(local, "__dict__", get(local, "_nobodys"))
        return
    task = kernel.current
    attributes = task.locals.get(id(local))
    if attributes is None:
        first = get(local, "_first")
        is_makers = task is first or (first is None and task is kernel.tasks[0])
        owned = task.locals[id(local)] = (local, dict(get(local, "_nobodys")) if is_makers else {})
        object.__setattr__(local, "__dict__", owned[1])
        if not is_makers:
            args, options = get(local, "_arguments")
            type(local).__init__(local, *args, **options)
        return
    object.__setattr__(local, "__dict__", attributes[1])


def _refuse_dict(local: ControlledLocal, name: str) -> None:
    if name == "__dict__":
        raise AttributeError(f"{type(local).__name__!r} object attribute '__dict__' is read-only")
