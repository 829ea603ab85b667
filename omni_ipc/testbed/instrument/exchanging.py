"""What an object *is*, exchanged under its users: its class, its code, the special methods of its class.

Who uses it makes no access to what is exchanged, as ``len(obj)`` names no method: nothing there could be a point. So it
is told, with its line.
"""

from __future__ import annotations

import builtins
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from omni_ipc.testbed.instrument.noting import Stretch
from omni_ipc.testbed.instrument.tables import DESCRIBING, EXCHANGED, is_special
from omni_ipc.testbed.instrument.using import Using
from omni_ipc.testbed.tasks import Task
from omni_ipc.testbed.where import locate_here

_UNNOTED = (type, FunctionType, MethodType, CellType)  # most of their uses leave no note


class _Exchange(NamedTuple):
    """An object that was exchanged, or a part of it, by whom, and how that is told."""

    value: object
    task: Task
    told: str


class Exchanging(Using):
    """The part that tells of what is exchanged."""

    def __init__(self) -> None:
        super().__init__()
        self._exchanges: list[_Exchange] = []

    def end(self) -> tuple[list[Stretch], dict[str, None]]:
        exchanges, self._exchanges = self._exchanges, []
        for exchange in exchanges:
            if not self._is_own(exchange):
                self.unseen[exchange.told] = None
        return super().end()

    def _is_own(self, exchange: _Exchange) -> bool:
        """Tell whether an object is one that a task has made, and nobody else used."""
        assert self._points is not None
        value, task, _ = exchange
        if isinstance(value, _UNNOTED) or self._points.names.maker(value) is not task:
            return False
        return all(user is task or all(at != id(value) for _, at in notes) for user, _, notes in self._stretches)

    def touch_set(self, site: int, last: Any, *others: Any) -> Any:
        """Announce that an attribute is set, or deleted, by a function that was given its name."""
        self._use(site, others[0], (*others[1:], last))
        self._exchange(others[0], (*others, last)[1])
        return last

    def _exchange(self, value: object, name: object) -> None:
        kernel = self._company
        if kernel is None or kernel.over:
            return
        if isinstance(name, str) and _makes_another(value, name):
            what = f"'{name}' of {_noun(value)}"
            told = f"{what} is exchanged while other tasks may use it, at no point; do it before they begin"
            self._exchanges.append(_Exchange(value, kernel.current, f"{told}, at {locate_here()}"))


def _makes_another(value: object, name: str) -> bool:
    if name in EXCHANGED or value is builtins:
        return True
    return isinstance(value, type) and is_special(name) and name not in DESCRIBING


def _noun(value: object) -> str:
    if isinstance(value, (type, FunctionType, ModuleType)):
        return f"'{value.__name__}'"
    return f"a {type(value).__name__}"
