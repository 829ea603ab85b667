"""Accesses of the run that is on: noted once for each stretch of a task between two of its steps, or made points."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from types import FrameType
from typing import Any, NamedTuple

from omni_ipc.testbed.instrument.generators import Generators
from omni_ipc.testbed.instrument.kinds import Told, step_of
from omni_ipc.testbed.instrument.points import Points
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.tasks import Task

Notes = dict[tuple[int, int], object]
Uses = list[tuple[int, Any]]
"""The sites and the objects of accesses that one operation makes."""


Stretch = tuple[Task, int, Notes]
"""What a task did between two of its steps: the number of steps of the run that were taken before, and the objects that
it used, by site and id."""


class Unkept(NamedTuple):
    """Stands for an object of a type that must not be kept."""

    kind: type


class Noting:
    """Takes note of accesses, as long as more than one task lives, or there is one whose end nobody has waited for.

    Attributes:
        marked: by site, whether accesses there are points.
        unseen: what was met that cannot be seen, and where.
        generators: those that were met.
    """

    def __init__(self) -> None:
        self.unseen: dict[str, None] = {}
        self.generators = Generators()
        self._items: Mapping[type, Told] = {}
        self._codes: Container[int] = ()
        self.marked = bytearray()
        self._stretches: list[Stretch] = []
        self._kernel: Kernel | None = None
        self._company: Kernel | None = None  # the same, while accesses are noted
        self._points: Points | None = None
        self._depth = -1
        self._task: Task | None = None
        self._notes: Notes = {}
        self._outer: list[tuple[Any, ...]] = []  # of runs in which this one is nested

    def begin(self, kernel: Kernel, points: Points, marked: bytearray) -> None:
        """Follow a run."""
        following = self._kernel, self._company, self._points, self.marked
        self._outer.append((*following, self._stretches, self._items, self._codes, self.unseen))
        self._kernel, self._company, self._points, self.marked = kernel, None, points, marked
        self._stretches, self._items, self._codes, self.unseen = [], points.effects.items, points.effects.codes, {}
        kernel.accompanied = self._accompany

    def end(self) -> tuple[list[Stretch], dict[str, None]]:
        """Follow it no more, and return what was noted, and what could not be seen."""
        noted = self._stretches, self.unseen
        self._notes = {}
        (*following, self._stretches, self._items, self._codes, self.unseen) = self._outer.pop()
        self._kernel, self._company, self._points, self.marked = following
        self._depth, self._task = -1, None
        return noted

    def _accompany(self, kernel: Kernel) -> None:
        """Begin, or cease, to note what tasks use: what one does alone comes before or after all that others do."""
        if kernel is self._kernel:  # and no earlier run, whose threads somebody has kept
            self._company = kernel if kernel.unjoined > 0 else None
            self._depth, self._task = -1, None

    def _open(self, kernel: Kernel) -> None:
        """Begin a stretch."""
        self._depth, self._task = kernel.depth, kernel.current
        self._notes = {}
        if not kernel.over and self._task.index >= 0:
            self._stretches.append((self._task, self._depth, self._notes))

    def _pause(self, kernel: Kernel, site: int, value: object, arguments: tuple[Any, ...]) -> None:
        """Let others run before an access."""
        if kernel.over or kernel.current.index < 0 or self._points is None:
            return
        self._points.pause(kernel, site, value, arguments)
        if kernel.depth != self._depth or kernel.current is not self._task:
            self._open(kernel)
        self._notes[site, id(value)] = value

    def _together(self, kernel: Kernel, uses: Callable[[], Uses]) -> None:
        """Announce accesses that one operation makes; those that are points are one."""
        used = uses()
        if any(self.marked[site] for site, _ in used):
            if kernel.over or kernel.current.index < 0 or self._points is None:
                return
            self._points.pause_together(kernel, lambda: [use for use in uses() if self.marked[use[0]]])
            used = uses()
        if kernel.depth != self._depth or kernel.current is not self._task:
            self._open(kernel)
        for site, value in used:
            if is_unkept(value):
                self._notes[site, self.generators.key_of(value)] = Unkept(type(value))
            else:
                self._notes[site, id(value)] = value


def is_unkept(value: object) -> bool:
    """Tell whether an object must not be kept alive: the end of a generator's life is an event."""
    return step_of(type(value)) is not None or type(value) is FrameType
