"""What code calls an object that it uses: the attribute or the variable that holds it, where it is used.

The runtime names objects by their kind and number, the same in every schedule: "dict4". A reader knows them by
"Pump._early". Nothing is called to find that out: no property, no comparison, no ``__getattr__``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from itertools import islice
from types import CodeType, FrameType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, cast

from omni_ipc.testbed.objects.condition import ControlledCondition
from omni_ipc.testbed.where import is_foundation

_DEPTH = 3  # attributes of attributes of what a frame has
_MOST_LOOKED_AT = 400
_MOST_ITEMS = 40  # of a container
_MOST_FRAMES = 4
_LONGEST_KEY = 24
_NO_HOLDERS = (str, bytes, int, float, complex, type(None), ModuleType, FunctionType, MethodType, CodeType)
_SEQUENCES: tuple[Any, ...] = (list, tuple, deque)
_ROOM = f"{__name__.rpartition('.')[0]}."


def called(value: object, frame: FrameType | None) -> str | None:
    """Name an object by what holds it: "Pump._early", "seen", "Pump._queues['a']"; None if nothing near does.

    Args:
        frame: innermost one of who uses it.
    """
    seen = 0
    while frame is not None and seen < _MOST_FRAMES:
        file = frame.f_code.co_filename
        if not is_foundation(file):
            seen += 1
            found = _among(value, frame.f_locals) or _among(value, frame.f_globals)
            if found is not None:
                return found
        frame = frame.f_back
    return None


def _among(value: object, variables: dict[str, object]) -> str | None:
    """Look for an object in what variables hold: an attribute tells more than a variable, and that than a place."""
    own = [name for name in variables if name.isidentifier() and not name.startswith("__")]  # tools add others
    near = deque((name, variables[name], 0) for name in own)
    met: set[int] = set()
    found: list[str] = []
    while near and len(met) < _MOST_LOOKED_AT:
        name, held, depth = near.popleft()
        if held is value:
            found.append(name)
            if _rank(name) == 0:
                break
        elif id(held) not in met and depth < _DEPTH:
            met.add(id(held))
            near.extend((inner, what, depth + 1) for inner, what in _parts(name, held))
    return min(found, key=_rank, default=None)


def _rank(name: str) -> int:
    return 2 if name.endswith("]") else 0 if "." in name else 1


def _parts(name: str, holder: object) -> Iterator[tuple[str, object]]:
    """Give what an object holds, with the names that it has there."""
    kind = type(holder)
    if kind is ControlledCondition:
        yield f"{name}.lock", vars(holder)["lock"]
    elif issubclass(kind, _NO_HOLDERS) or kind.__module__.startswith(_ROOM):
        return
    elif issubclass(kind, dict):
        items = islice(dict.items(cast(dict[Any, Any], holder)), _MOST_ITEMS)
        yield from ((f"{name}[{key!r}]", item) for key, item in list(items) if _is_short(key))
    elif sequence := next((known for known in _SEQUENCES if issubclass(kind, known)), None):
        places = islice(sequence.__iter__(cast(Any, holder)), _MOST_ITEMS)
        yield from ((f"{name}[{index}]", item) for index, item in enumerate(list(places)))
    elif issubclass(kind, type):
        yield from _attributes(str(type.__getattribute__(holder, "__name__")), vars(holder))
    else:
        yield from _attributes(kind.__name__, _state(holder))


def _attributes(owner: str, state: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    mangled = f"_{owner.lstrip('_')}__"
    for name, item in list(state.items()):
        if not (name.startswith("__") and name.endswith("__")):
            yield f"{owner}.{name.replace(mangled, '__', 1) if name.startswith(mangled) else name}", item


def _state(holder: object) -> dict[str, object]:
    """Return the attributes of an object, and behind them those of its classes."""
    state: dict[str, object] = {}
    for base in reversed(type(holder).__mro__):
        for name, item in vars(base).items():
            if not isinstance(item, MemberDescriptorType):
                state[name] = item
                continue
            try:
                state[name] = item.__get__(holder)
            except AttributeError:  # not set yet
                continue
    try:
        own = object.__getattribute__(holder, "__dict__")
    except AttributeError:
        return state
    return {**state, **own} if isinstance(own, dict) else state


def _is_short(key: object) -> bool:
    return type(key) is int or (type(key) is str and len(key) <= _LONGEST_KEY and " " not in key)
