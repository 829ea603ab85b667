"""State that modules keep from run to run: each run finds it as it was when the exploration began."""

from __future__ import annotations

import contextlib
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from operator import is_
from types import CellType
from typing import Any

from omni_ipc.testbed.instrument.reach import Reach
from omni_ipc.testbed.instrument.slots import Slots
from omni_ipc.testbed.instrument.standins import is_primitive

_EMPTY = object()


class Saved:
    """What one holder held."""

    __slots__ = ("_keys", "_now", "_values", "holder")

    def __init__(self, holder: Any) -> None:
        self.holder = holder
        self._keys, self._values = _content(holder)
        self._now = _views(holder)

    def put_back(self) -> None:
        """Let it hold that again, and nothing else."""
        _fill(self.holder, self._keys, self._values)

    def is_there(self) -> bool:
        """Tell whether it holds that now."""
        if type(self.holder) is CellType:
            return _held(self.holder) is self._values[0]
        keys, values = self._now or _content(self.holder)
        if len(values) != len(self._values) or not all(map(is_, values, self._values)):
            return False
        return not self._keys or all(map(is_, keys, self._keys))

    def exchange(self, by: Callable[[Any], Any]) -> bool:
        """Exchange values that stand for others; tell whether there were any."""
        values = [by(value) if is_primitive(value) else value for value in self._values]
        if _are_same(values, self._values):
            return False
        _fill(self.holder, self._keys, values)
        return True


class State:
    """All that modules under test keep.

    Args:
        by: makes what stands in for a primitive.
    """

    def __init__(self, reach: Reach, by: Callable[[Any], Any]) -> None:
        self._caches = reach.caches
        before = [Saved(holder) for _, holder in reach.holders]
        self._exchanged = [saved for saved in before if saved.exchange(by)]
        self._saved = [Saved(holder) for _, holder in reach.holders]

    def begin(self) -> None:
        """Put all back, before a run."""
        for saved in self._saved:
            if not saved.is_there():
                saved.put_back()
        for cache in self._caches:
            cache.cache_clear()

    def end(self) -> None:
        """Put all back, and give modules their own primitives."""
        self.begin()
        for saved in self._exchanged:
            saved.put_back()


def _are_same(some: Sequence[Any], others: Sequence[Any]) -> bool:
    return len(some) == len(others) and all(map(is_, some, others))


def _views(holder: Any) -> tuple[Collection[Any], Collection[Any]] | None:
    """Return what shows names or keys, and values, as they are at any time; None if they must be asked for anew."""
    if isinstance(holder, type):
        names = vars(holder)
        return names.keys(), names.values()
    if isinstance(holder, dict) and not isinstance(holder, OrderedDict):
        return dict.keys(holder), dict.values(holder)
    return ((), holder) if type(holder) in (list, deque, set, bytearray) else None


def _content(holder: Any) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return names or keys, and values; of what has none, the values only."""
    match holder:
        case type():
            names = vars(holder)
            return list(names), list(names.values())
        case OrderedDict():
            return list(OrderedDict.keys(holder)), list(OrderedDict.values(holder))
        case dict():
            return list(dict.keys(holder)), list(dict.values(holder))
        case list() | deque() | set():
            return (), list(holder)
        case bytearray():
            return (), list(bytes(holder))
        case CellType():
            return (), [_held(holder)]
        case Slots():
            return (), holder.read()
    raise AssertionError(f"a {type(holder).__name__} holds nothing")


def _held(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _EMPTY


def _fill(holder: Any, keys: Sequence[Any], values: Sequence[Any]) -> None:
    match holder:
        case type():
            _fill_class(holder, dict(zip(keys, values, strict=True)))
        case dict():
            base = OrderedDict if isinstance(holder, OrderedDict) else dict
            base.clear(holder)
            for key, value in zip(keys, values, strict=True):
                base.__setitem__(holder, key, value)
        case list():
            list.__setitem__(holder, slice(None), values)
        case deque() | set():
            _refill(holder, values)
        case bytearray():
            holder[:] = bytes(values)
        case CellType():
            _fill_cell(holder, values[0])
        case Slots():
            holder.write(values)


def _refill(holder: Any, values: Iterable[Any]) -> None:
    if isinstance(holder, deque):
        deque.clear(holder)
        deque.extend(holder, values)
    else:
        set.clear(holder)
        set.update(holder, values)


def _fill_cell(cell: CellType, value: Any) -> None:
    if value is not _EMPTY:
        cell.cell_contents = value
    else:
        with contextlib.suppress(ValueError):
            del cell.cell_contents


def _fill_class(kind: type, wanted: dict[str, Any]) -> None:
    now = dict(vars(kind))
    for name in now.keys() - wanted.keys():
        type.__delattr__(kind, name)
    for name, value in wanted.items():
        if name not in now or now[name] is not value:
            type.__setattr__(kind, name, value)
