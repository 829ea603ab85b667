"""What is instrumented at a time: functions with rewritten code, and the state that their modules keep."""

from __future__ import annotations

import ast
import functools
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from types import FunctionType
from typing import Any

from omni_ipc.testbed.identity import Identities
from omni_ipc.testbed.instrument.codes import Exchange, rewrite
from omni_ipc.testbed.instrument.effects import Effects
from omni_ipc.testbed.instrument.modules import Subject
from omni_ipc.testbed.instrument.points import Points
from omni_ipc.testbed.instrument.races import Judge
from omni_ipc.testbed.instrument.reach import Reach
from omni_ipc.testbed.instrument.rewriting import Reflection
from omni_ipc.testbed.instrument.sites import BY_LIBRARY, CHANGED_BY_C, READ_BY_C, RUN_BY_LOOP, SITES
from omni_ipc.testbed.instrument.standins import StandIns
from omni_ipc.testbed.instrument.state import State
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.standard.kept import Kept
from omni_ipc.testbed.standard.world import WORLD


class World:
    """Some modules, instrumented until it is closed.

    Attributes:
        marked: by site, whether accesses there are points.
        points: makes them.
        judge: finds accesses that should be.
    """

    def __init__(
        self, subjects: Sequence[Subject], scenario: Callable[..., object] | None, identities: Identities
    ) -> None:
        self._modules = {subject.name for subject in subjects}
        self._exchange = Exchange()
        self._effects = Effects(self.knows, self.knows_module, self._exchange.rewritten)
        self._sites = SITES.names([READ_BY_C, CHANGED_BY_C, *BY_LIBRARY.values(), RUN_BY_LOOP])
        self._kept = Kept()
        reach = Reach(self._modules.__contains__)
        handlers: list[Callable[[], object]] = logging._handlerList  # type: ignore[attr-defined]
        reach.walk(
            [
                *((subject.name, subject.module) for subject in subjects),
                ("scenario", scenario),
                *(("logging.handler", handler()) for handler in handlers),
            ]
        )
        try:
            self._rewrite(subjects, reach.functions)
            self._keep(reach, identities)
        except BaseException:
            self._exchange.undo()
            raise

    def _keep(self, reach: Reach, identities: Identities) -> None:
        """Take down what the modules keep, and give names to it."""
        self.marked = bytearray(len(SITES))
        self.points = Points(self._effects, identities)
        self.judge = Judge(self._effects, self.points.names, self.marked, self.points.inherits)
        with self._kept:
            kernel = WORLD.maker()
            assert kernel is not None, "modules are instrumented while a guard is open"
            self._state = State(reach, StandIns(kernel).of)
        names = self.points.names
        for path, holder in reach.holders:
            names.keep(holder, path)
        for owner in reach.owners:
            names.bare(owner, lasting=True)

    def _rewrite(self, subjects: Sequence[Subject], functions: Sequence[FunctionType]) -> None:
        written = frozenset().union(*(_written(subject.source) for subject in subjects))
        for subject in subjects:
            codes = rewrite(subject.source, subject.name, subject.file, written)
            own = [function for function in functions if function.__code__.co_filename == subject.file]
            self._exchange.put(own, codes)
            self._sites |= SITES.names(codes.sites)

    def close(self) -> None:
        """Give functions their code back, and modules their state."""
        self._exchange.undo()
        self._state.end()

    def begin(self, kernel: Kernel) -> None:
        """Let modules be as they were, for a run."""
        self._state.begin()
        self._kept.begin(kernel)
        self.points.begin()

    def knows(self, value: Any) -> bool:
        """Tell whether a function is instrumented, or a class is of an instrumented module."""
        return value.__module__ in self._modules if isinstance(value, type) else self._exchange.knows(value)

    def knows_module(self, name: str) -> bool:
        """Tell whether a module is instrumented."""
        return name in self._modules

    # Points

    def mark(self, sites: Iterable[int]) -> set[int]:
        """Make accesses at these sites points, and return those that were none."""
        new = {site for site in sites if not self.marked[site]}
        for site in new:
            self.marked[site] = 1
        return new

    def mark_named(self, names: Collection[str]) -> None:
        """Make points of accesses by their names, as far as they are there."""
        self.mark(number for number, name in self._sites.items() if name in names)

    def marked_names(self) -> tuple[str, ...]:
        """Name the accesses that are points, for a replay."""
        return tuple(name for number, name in self._sites.items() if self.marked[number])

    def strangers(self, sites: Collection[int]) -> Iterator[tuple[FunctionType, str]]:
        """Give the functions that do what is done at some sites, and are not instrumented; with each, its name."""
        for (number, kind), use in self._effects.known.items():
            if use is not None and use.by is not None and number in sites:
                site = SITES[number]
                name = f"{kind.__module__}.{kind.__qualname__}.{use.by.__name__}"
                yield use.by, f"{name}, called at {site.module}:{site.line} in {site.qualname}"


@functools.lru_cache(maxsize=256)
def _written(source: str) -> frozenset[str]:
    """Name the attributes of modules that a module assigns; the same source is parsed once in a process."""
    return Reflection(ast.parse(source)).written
