"""Instrumentation for one exploration."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Collection, Iterable
from types import ModuleType, TracebackType
from typing import Any

from omni_ipc.errors import UsageError
from omni_ipc.testbed.identity import Identities
from omni_ipc.testbed.instrument.codes import Exchange, rewrite
from omni_ipc.testbed.instrument.effects import Effects
from omni_ipc.testbed.instrument.modules import Subject, find_modules, home_of, subject_of
from omni_ipc.testbed.instrument.points import Points
from omni_ipc.testbed.instrument.races import Judge
from omni_ipc.testbed.instrument.reach import Reach
from omni_ipc.testbed.instrument.rewriting import written_on_modules
from omni_ipc.testbed.instrument.sites import SITES
from omni_ipc.testbed.instrument.standins import StandIns
from omni_ipc.testbed.instrument.state import State
from omni_ipc.testbed.instrument.tracker import Tracker, hooks_of
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.standard.kept import Kept
from omni_ipc.testbed.standard.world import WORLD

_TRACKER = Tracker()
_HOOKS = hooks_of(_TRACKER)
_OPEN: list[object] = []  # they may be nested


class Instrumentation:
    """Modules with a point at each access to state that tasks share; a context manager, around all runs.

    Args:
        scenario: its own module is instrumented, too; None if it is not to be.
        modules: names of modules and packages.
        identities: the bits of all runs.
        points: names of accesses that are points from the beginning.

    Attributes:
        left_out: modules of packages that could not be instrumented, and why.
        marked: by site, whether accesses there are points.

    Raises:
        UsageError: a module that was named cannot be instrumented.
    """

    def __init__(
        self,
        scenario: Callable[..., object] | None,
        modules: Collection[str],
        identities: Identities,
        points: Collection[str] = (),
    ) -> None:
        found, self.left_out = find_modules(modules)
        named = {name.removesuffix(".*") for name in modules}
        self._scenario = scenario
        self._subjects = [subject for module in found if (subject := self._subject(module, named)) is not None]
        home = None if scenario is None else home_of(scenario)
        if home is not None and home not in found:
            self._subjects += [] if (subject := self._subject(home, ())) is None else [subject]
        self._names = {subject.name for subject in self._subjects}
        self._exchange = Exchange()
        self._effects = Effects(self._knows)
        self._points = Points(self._effects, identities)
        self._kept = Kept()
        self._found: set[int] = set()
        self._sites: dict[int, str] = {}
        self._wanted = frozenset(points)
        self._state: State | None = None
        self._judge: Judge | None = None
        self.marked = bytearray()

    def _subject(self, module: ModuleType, named: Collection[str]) -> Subject | None:
        try:
            return subject_of(module)
        except UsageError as error:
            if module.__name__ in named:
                raise
            self.left_out[module.__name__] = str(error)
            return None

    def __enter__(self) -> Instrumentation:
        roots = [(subject.name, subject.module) for subject in self._subjects]
        reach = Reach(self._names.__contains__).walk([*roots, ("scenario", self._scenario)])
        trees = {subject.name: ast.parse(subject.source) for subject in self._subjects}
        written = frozenset().union(*map(written_on_modules, trees.values()))
        for subject in self._subjects:
            codes = rewrite(subject.source, subject.name, subject.file, written)
            functions = [function for function in reach.functions if function.__code__.co_filename == subject.file]
            self._exchange.put(functions, codes)
            self._sites |= SITES.names(codes.sites)
        self.marked = bytearray(len(SITES))
        self._judge = Judge(self._effects, self.marked)
        self._mark(number for number, name in self._sites.items() if name in self._wanted)
        with self._kept:
            kernel = WORLD.maker()
            assert kernel is not None
            self._state = State(reach, StandIns(kernel).of)
        for path, holder in reach.holders:
            self._points.names.keep(holder, path)
        _OPEN.append(self)
        vars(builtins).update(_HOOKS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exchange.undo()
        if self._state is not None:
            self._state.end()
        _OPEN.remove(self)
        for name in _HOOKS if not _OPEN else ():
            vars(builtins).pop(name)

    def begin(self, kernel: Kernel) -> None:
        """Follow a run that is about to begin; it finds the modules as they were."""
        assert self._state is not None
        self._state.begin()
        self._kept.begin(kernel)
        self._points.begin()
        _TRACKER.begin(kernel, self._points, self.marked)

    def end(self, kernel: Kernel) -> None:
        """Follow it no more, and judge what was seen."""
        assert self._judge is not None
        races = self._judge.races(kernel, _TRACKER.end())
        self._found = {site for site in races if not self.marked[site]}

    def refine(self) -> bool:
        """Make points of the races that the last run had, and tell whether there were any.

        The runs before did not have them: a search that is to leave nothing out begins anew.
        """
        self._mark(self._found)
        return bool(self._found)

    def points(self) -> tuple[str, ...]:
        """Name the accesses that are points, for a replay."""
        return tuple(name for number, name in self._sites.items() if self.marked[number])

    def _mark(self, sites: Iterable[int]) -> None:
        for site in sites:
            self.marked[site] = 1

    def _knows(self, value: Any) -> bool:
        """Tell whether a function is instrumented, or a class is of an instrumented module."""
        if isinstance(value, type):
            return value.__module__ in self._names
        return self._exchange.knows(value)
