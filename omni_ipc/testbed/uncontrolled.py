"""The guard: leads code under test to what is under control, names what is not, and ends steps that block for real.

It reacts only to code under test that runs as a controlled task. What has a look-alike is redirected (`standard`); what
has none is told *instead of* being called (`primitives`): a scenario can neither end nor double the process that
explores it. Of what was made before the exploration, locks and all that is built of them are told when they are used
(`standard.sealed`). It does not see what C code does by itself, and clocks that objects keep (``self.clock =
time.monotonic``); see `bindings`. A step that blocks for good it ends all the same, as long as the exploration runs in
the main thread.
"""

from __future__ import annotations

import asyncio
import functools
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from pathlib import PurePath
from threading import get_ident
from types import FrameType, ModuleType, TracebackType
from typing import Any

from omni_ipc.errors import Inconclusive, UsageError
from omni_ipc.interrupts import postponed
from omni_ipc.testbed import torch_modes
from omni_ipc.testbed.bindings import Undo, rebind
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.loops.redirects import LOOP_REDIRECTS
from omni_ipc.testbed.primitives import PRIMITIVES, Primitive
from omni_ipc.testbed.standard import attributes, local, sealed
from omni_ipc.testbed.standard.redirects import REDIRECTS
from omni_ipc.testbed.standard.world import TRUSTED, WORLD, is_of_collector, is_trusted, running
from omni_ipc.testbed.tasks import RunEnded
from omni_ipc.testbed.watchdog import Watchdog
from omni_ipc.testbed.where import IMPORTING, is_foundation, is_stdlib, locate

_ROOM = __name__.rpartition(".")[0]
_OURS = (_ROOM, postponed.__module__)
_CALLERS = ("tasks", "standard.life", "standard.executor", "standard.contexts", "objects.future", "loops.turning")
_CALL_TASKS = {f"{_ROOM}.{name}" for name in _CALLERS}
_RUNNERS = {threading.Thread.run.__code__, threading.Timer.run.__code__, asyncio.Handle._run.__code__}


class Guard:
    """Replaces the standard library's primitives by what is under control, or tells, while it is open.

    What is replaced belongs to the process: guards may be nested in one thread, and not open in two at a time.

    Args:
        scenario: what is explored.
        packages: names of packages and modules that are looked into although they are installed.

    Attributes:
        kernel: the run that is guarded now.
    """

    def __init__(self, scenario: object = None, packages: Collection[str] = ()) -> None:
        self.kernel: Kernel | None = None
        self._scenario = scenario
        self._packages = frozenset(name.removesuffix(".*") for name in packages)

    def __enter__(self) -> Guard:
        is_first = _process.add(self)
        try:
            if is_first:
                _process.change()
            with postponed():
                _process.bind(self._scenario, self._packages)
        except BaseException:
            _process.close(self)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _process.close(self)
        if kind is None:
            self.raise_if_interrupted()

    def raise_if_interrupted(self) -> None:
        """Answer a Ctrl-C that came between two runs, where nothing is half done.

        Raises:
            KeyboardInterrupt: there was one.
        """
        _process.raise_if_interrupted()

    def runs(self) -> bool:
        """Tell whether a task of its run runs now."""
        return self.kernel is not None and self.kernel.current is not self.kernel.outside


class _Process:
    """What is changed in this process while a guard is open: primitives, the timer, and the answer to Ctrl-C."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._undo: list[Undo] = []
        self._signals: list[Undo] = []
        self._replacements: dict[int, Callable[..., Any]] = {}
        self._made: dict[tuple[int, str], tuple[Any, Any]] = {}  # originals and replacements, for the next opening
        self._watchdog = Watchdog(running)
        self._interrupted = False

    def add(self, guard: Guard) -> bool:
        """Add a guard, and tell whether it is the first one.

        Raises:
            UsageError: another thread explores.
        """
        with self._lock:
            if WORLD.guards and WORLD.thread != get_ident():
                raise UsageError(
                    "Another thread of this process explores already, and an exploration replaces clocks and locks of "
                    "the whole process. Let one end before the other begins, or use two processes."
                )
            WORLD.thread = get_ident()
            WORLD.guards.append(guard)
        return len(WORLD.guards) == 1

    def change(self) -> None:
        """Replace primitives, and watch."""
        with postponed():
            WORLD.hook = threading.excepthook
            for redirect in (*REDIRECTS, *LOOP_REDIRECTS, *torch_modes.redirects()):
                self._replace(redirect.owner, redirect.name, redirect.by)
            self._undo += attributes.patch()
            self._undo += sealed.patch()
            self._undo += torch_modes.patch()
            for primitive in PRIMITIVES:
                self._replace(primitive.find(), primitive.name, functools.partial(_telling, primitive=primitive))
        if threading.current_thread() is threading.main_thread():
            if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                self._interrupted = False
                before = signal.signal(signal.SIGINT, self._on_interrupt)
                self._signals.append(lambda: signal.signal(signal.SIGINT, before))
            self._signals.append(self._watchdog.stop)
            self._watchdog.start()

    def bind(self, scenario: object, packages: Collection[str]) -> None:
        """Replace also what code under test has bound by name."""
        modules = list(_modules_under_test(packages))
        replacements = {**self._replacements, **local.stand_ins(modules)}
        rebind(modules, scenario, replacements, self._undo)
        self._undo += local.tell_subclasses([module for module, _ in modules])

    def close(self, guard: Guard) -> None:
        """Remove a guard; with the last one, the process becomes what it was."""
        if WORLD.guards == [guard]:
            try:
                while self._signals:
                    self._signals.pop()()
            finally:
                with postponed():  # a second Ctrl-C, or the end of a test's time, would leave the rest
                    while self._undo:
                        self._undo.pop()()
                    self._replacements.clear()
                    self._remove(guard)
        else:
            self._remove(guard)

    def _remove(self, guard: Guard) -> None:
        with self._lock:
            WORLD.guards.remove(guard)

    def _replace(self, owner: Any, name: str, by: Callable[[Any], Any]) -> None:
        if owner is None or not hasattr(owner, name):  # not on this platform, or in this version
            return
        own = name in vars(owner)  # a class may have it from its base
        original = getattr(owner, name)
        known, replacement = self._made.get((id(owner), name), (None, None))
        if known is not original:
            replacement = by(original)
            self._made[id(owner), name] = original, replacement
        if isinstance(owner, ModuleType):
            self._replacements.setdefault(id(original), replacement)
        setattr(owner, name, replacement)
        self._undo.append(
            functools.partial(setattr, owner, name, original) if own else functools.partial(delattr, owner, name)
        )

    def raise_if_interrupted(self) -> None:
        """Answer a Ctrl-C, or the end of a test's time, that came between two runs."""
        self._watchdog.answer_late()
        if self._interrupted:
            self._interrupted = False
            raise KeyboardInterrupt

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        """Answer the first Ctrl-C where nothing is half done, and a second one at once.

        That is at the next point of a run, so that no code under test takes it for an error of its own, or before the
        next run.
        """
        kernel = running()
        if self._interrupted or (kernel is not None and kernel.escape is not None):
            raise KeyboardInterrupt
        if kernel is None:
            self._interrupted = True
        else:
            kernel.interrupt(KeyboardInterrupt())


_process = _Process()


def _telling(original: Callable[..., Any], primitive: Primitive) -> Callable[..., Any]:
    """Make what stands in for a primitive that has no look-alike."""

    @functools.wraps(original)
    def telling(*args: Any, **options: Any) -> Any:
        kernel = running()
        if kernel is not None and (primitive.fatal or not kernel.over) and primitive.when(args):
            frame = _user(sys._getframe(1), deep=primitive.deep)
            if frame is not None:
                _object(kernel, primitive, frame)
        return original(*args, **options)

    return telling


def _modules_under_test(packages: Collection[str]) -> Iterator[tuple[ModuleType, bool]]:
    """Give modules that may be under test, and whether they are named, or written here, and not installed."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is None or is_foundation(file) or name.partition(".")[0] in TRUSTED:
            continue
        if isinstance(module, ModuleType):
            yield module, not _is_installed(file) or any(f"{name}.".startswith(f"{known}.") for known in packages)


@functools.cache
def _is_installed(file: str) -> bool:
    return not {"site-packages", "dist-packages"}.isdisjoint(PurePath(file).parts)


def _user(frame: FrameType | None, *, deep: bool) -> FrameType | None:
    """Return the caller of a primitive if it is code under test, or who runs a task for it: then it *is* the task."""
    caller = frame
    while frame is not None and (deep or frame.f_code in _RUNNERS) and is_stdlib(frame.f_code.co_filename):
        if frame.f_code.co_filename == IMPORTING:
            return None  # what a module of the standard library sets up once, whoever imports it first
        if frame.f_globals.get("__name__") == "asyncio.runners":
            return None  # it would answer Ctrl-C, and is refused where the guard does not, in other threads than main
        frame = frame.f_back
    if frame is None or is_stdlib(frame.f_code.co_filename) or is_trusted(frame.f_code.co_filename):
        return None
    if frame.f_globals.get("__name__", "") in _CALL_TASKS:
        return caller
    if frame.f_globals.get("__name__", "").startswith(_OURS):  # a guard inside of another one's run
        return None
    return None if is_of_collector(frame) else frame


def _object(kernel: Kernel, primitive: Primitive, frame: FrameType) -> None:
    if kernel.over:
        raise RunEnded
    kernel.stop(
        Inconclusive(
            f"Task '{kernel.current.name}' used {primitive.title} at {locate(frame) or 'its start'}: "
            f"it is not under control. {primitive.remedy}"
        )
    )
