"""Instrumentation for one exploration."""

from __future__ import annotations

import builtins
import inspect
import sys
from collections.abc import Callable, Collection
from types import FunctionType, ModuleType, TracebackType
from typing import Any

from omni_ipc.errors import UsageError
from omni_ipc.interrupts import postponed
from omni_ipc.testbed.identity import Identities
from omni_ipc.testbed.instrument.generators import RUN
from omni_ipc.testbed.instrument.kinds import bare
from omni_ipc.testbed.instrument.modules import Subject, find_modules, home_of, subject_of
from omni_ipc.testbed.instrument.tracker import Tracker, hooks_of
from omni_ipc.testbed.instrument.world import World
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.standard.world import is_trusted
from omni_ipc.testbed.where import is_foundation, is_stdlib

_TRACKER = Tracker()
_HOOKS = hooks_of(_TRACKER)
_OPEN: list[object] = []  # they may be nested


_UNSEEN = (
    "tasks share what is used by {}, and that has no points inside, because it is a part of Python, or has no source: "
    "guard it with a lock, or use a plain container"
)


class Instrumentation:
    """Modules with a point at each access to state that tasks share; a context manager, around all runs.

    A module that was not named is added when it is found that its functions work on what tasks share.

    Args:
        scenario: its own module is instrumented, too; None if it is not to be.
        modules: names of modules and packages.
        identities: the bits of all runs.
        points: names of accesses that are points from the beginning.

    Attributes:
        modules: those that were named, and those that were added.
        left_out: modules of packages that could not be instrumented, and why.
        unseen: what tasks did that could not be seen, a sentence's part each.

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
        self._scenario = scenario
        self._identities = identities
        self._wanted = set(points)
        self.modules = tuple(modules)
        self.unseen: dict[str, None] = {}
        found, self.left_out = find_modules(modules)
        home = None if scenario is None else home_of(scenario)
        if home is not None and home not in found:
            found.append(home)
        named = {name.removesuffix(".*") for name in modules}
        self._subjects = [subject for module in found if (subject := self._subject(module, named)) is not None]
        self._strangers: dict[str, str] = {}
        self._races: set[int] = set()
        self._followed = 0
        self._world: World | None = None

    def _subject(self, module: ModuleType, named: Collection[str]) -> Subject | None:
        try:
            return subject_of(module)
        except UsageError as error:
            if module.__name__ in named:
                raise
            self.left_out[module.__name__] = str(error)
            return None

    def __enter__(self) -> Instrumentation:
        try:
            with postponed():
                _OPEN.append(self)
                vars(builtins).update(_HOOKS)
                self._open()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        with postponed():
            if self._world is not None:
                self._world.close()
            _OPEN.remove(self)
            for name in _HOOKS if not _OPEN else ():
                vars(builtins).pop(name)

    def _open(self) -> None:
        self._world = World(self._subjects, self._scenario, self._identities)
        self._world.mark_named(self._wanted)
        self._world.points.followed.update(name for name in self._wanted if name.startswith(RUN))

    @property
    def world(self) -> World:
        """What is instrumented now."""
        assert self._world is not None, "the instrumentation is not open"
        return self._world

    # Runs

    def begin(self, kernel: Kernel) -> None:
        """Follow a run that is about to begin; it finds the modules as they were."""
        world = self.world
        world.begin(kernel)
        _TRACKER.begin(kernel, world.points, world.marked)
        if self._scenario is not None:
            kernel.starting = self._look

    def end(self, kernel: Kernel, schedule: int) -> None:
        """Follow it no more, and judge what was seen.

        Args:
            schedule: its number, the same for each run of it.
        """
        stretches, unseen = _TRACKER.end()
        self._races = self.world.judge.races(kernel, schedule, stretches)
        self.unseen |= unseen
        for code, module in _TRACKER.strangers.items():
            if self._races or not is_stdlib(code.co_filename):  # of the library, only if something raced at all
                what = "coroutine" if code.co_flags & inspect.CO_COROUTINE else "generator"
                self._strangers[f"{module}.{code.co_qualname}, a {what}"] = module

    def refine(self) -> bool:
        """Make points of the races that the last run had, and tell whether there were any.

        The runs before did not have them: a search that is to leave nothing out begins anew.
        """
        before, self._followed = self._followed, len(self.world.points.followed)
        if not self._races and not self._strangers and self._followed == before:
            return False
        new = self.world.mark(self._races)
        for function, name in self.world.strangers(new):
            self._meet(function, name)
        return self._add_strangers() or bool(new) or self._followed != before

    def points(self) -> tuple[str, ...]:
        """Name the accesses that are points, and the coroutines that are followed, for a replay."""
        return (*self.world.marked_names(), *sorted(self.world.points.followed))

    def sources(self) -> dict[str, str]:
        """Return the text that was instrumented of each file."""
        return {subject.file: subject.source for subject in self._subjects}

    # Code that was not named

    def _look(self, function: Any, *_: object) -> None:
        """Look at what a new thread is to run."""
        if self.world.knows(function):  # as most often
            return
        function = bare(function)
        if isinstance(function, FunctionType):
            file = function.__code__.co_filename
            if not is_foundation(file):
                self._meet(function, f"{function.__module__ or file}.{function.__qualname__}, which a thread runs")

    def _meet(self, function: FunctionType, name: str) -> None:
        """Take note of a function that is not instrumented, and works on what tasks share."""
        if self.world.knows(function):
            return
        if function.__code__.co_filename.startswith("<") and self.world.knows_module(function.__module__):
            self.unseen[
                f"'{function.__qualname__}' was made of a string, and has no points; write it as a function"
            ] = None
        else:
            self._strangers[name] = function.__globals__.get("__name__", "")

    def _add_strangers(self) -> bool:
        """Instrument the modules of such functions, and tell whether there were any that could be."""
        known = {subject.name for subject in self._subjects}
        added = []
        for name, module in self._strangers.items():
            subject = None if module in known else self._stranger(module)
            if subject is not None:
                known.add(module)
                added.append(subject)
            elif module not in known:
                self.unseen[_UNSEEN.format(name)] = None
        self._strangers.clear()
        if added:
            self._wanted.update(self.points())
            self.world.close()
            self._subjects += added
            self.modules += tuple(subject.name for subject in added)
            self._open()
        return bool(added)

    def _stranger(self, name: str) -> Subject | None:
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        if not isinstance(module, ModuleType) or file is None or is_stdlib(file) or is_trusted(file):
            return None
        return self._subject(module, ())
