"""Objects that outlive runs: what modules make when they are imported. Each run finds them as the import left them."""

from __future__ import annotations

from collections import deque
from types import TracebackType
from typing import Any

from omni_ipc.testbed.identity import Identities
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.standard.life import Life
from omni_ipc.testbed.standard.world import WORLD, running
from omni_ipc.testbed.strategies.default import DefaultOrder
from omni_ipc.testbed.tasks import Pool


class Kept:
    """What was made while modules were imported.

    While it is entered, look-alikes are made for code under test although no task runs, and belong to no run; what is
    done with them is done at once. It may be entered within a run, by a task that imports something.
    """

    def __init__(self) -> None:
        self._kernel = Kernel(DefaultOrder(), pool=Pool(), identities=Identities(), limit=0)
        self._made: list[Any] = []
        self._kernel.keeps = self._made
        self._states: list[list[dict[str, Any]]] = []

    def __enter__(self) -> Kept:
        kernel = running()
        WORLD.imports.append((self._kernel, None if kernel is None else kernel.current))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        WORLD.imports.pop()
        kernel = running()
        if kernel is not None and not WORLD.imports:
            late = self._made[len(self._states) :]
            self._note()
            for made in late:
                made.adopt(kernel)

    def begin(self, kernel: Kernel) -> None:
        """Let the objects belong to a run that is about to begin, each as it was when the imports were done."""
        self._note()
        for made, states in zip(self._made, self._states, strict=True):
            for holder, state in zip(_holders(made), states, strict=True):
                vars(holder).clear()
                vars(holder).update(_copied(state))
            made.adopt(kernel)

    def _note(self) -> None:
        """Note in which state new objects are."""
        for made in self._made[len(self._states) :]:
            self._states.append([_copied(vars(holder)) for holder in _holders(made)])


def _holders(made: Any) -> tuple[Any, ...]:
    """Return who has the state of something."""
    return (made, made.thread) if isinstance(made, Life) else (made,)


def _copied(state: dict[str, Any]) -> dict[str, Any]:
    return {name: value.copy() if type(value) in (list, dict, set, deque) else value for name, value in state.items()}
