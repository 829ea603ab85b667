"""The guard: names what a scenario uses that is not under control, and ends steps that block for real.

It reacts only to code under test that runs as a controlled task. What was imported by name before the exploration
(``from time import sleep``), and what C code does, it cannot see; a step that blocks for good it ends all the same, as
long as the exploration runs in the main thread.
"""

from __future__ import annotations

import concurrent.futures
import functools
import queue
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import PurePath
from types import FrameType, TracebackType
from typing import Any

from omni_ipc.errors import Inconclusive
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.watchdog import Watchdog
from omni_ipc.testbed.where import is_stdlib, locate

_TRUSTED = frozenset({"numpy", "msgspec", "torch", "greenlet"})  # keep locks and clocks of their own, and to themselves

_CLOCK = "Take the time from the runtime: rt.now()."
_LOCK = "Take it from the runtime: rt.lock(), rt.rlock()."
_CHANCE = "Draw from a random.Random(seed) of the scenario's own."

_PRIMITIVES: tuple[tuple[Any, str, str, str], ...] = (
    (time, "sleep", "time.sleep()", "Use rt.sleep()."),
    *((time, name, f"time.{name}()", _CLOCK) for name in ("time", "time_ns", "monotonic", "monotonic_ns")),
    *((time, name, f"time.{name}()", _CLOCK) for name in ("perf_counter", "perf_counter_ns")),
    (threading, "Lock", "a real threading.Lock", _LOCK),
    (threading, "RLock", "a real threading.RLock", _LOCK),
    (threading.Condition, "__init__", "a real threading.Condition", "Use rt.condition()."),
    (threading.Event, "__init__", "a real threading.Event", "Use rt.event()."),
    (threading.Semaphore, "__init__", "a real threading.Semaphore", "Use rt.semaphore()."),
    (threading.BoundedSemaphore, "__init__", "a real threading.BoundedSemaphore", "Use rt.semaphore()."),
    (threading.Barrier, "__init__", "a real threading.Barrier", "Build it of rt.condition()."),
    (threading.Thread, "start", "a real thread", "Use rt.spawn()."),
    (queue.Queue, "__init__", "a real queue.Queue", "Use rt.queue()."),
    (queue, "SimpleQueue", "a real queue.SimpleQueue", "Use rt.queue()."),
    (concurrent.futures.Future, "__init__", "a real concurrent.futures.Future", "Use rt.future()."),
    *(
        (random, name, f"random.{name}()", _CHANCE)
        for name in (
            "random",
            "randint",
            "randrange",
            "choice",
            "choices",
            "sample",
            "shuffle",
            "uniform",
            "getrandbits",
        )
    ),
)
_ALWAYS_OURS = frozenset({"a real thread"})  # whoever in the standard library starts it, it is the code under test's


class Guard:
    """Replaces the primitives by ones that tell, while it is open.

    Attributes:
        kernel: the run that is guarded now.
    """

    def __init__(self) -> None:
        self.kernel: Kernel | None = None
        self._thread = 0
        self._saved: list[tuple[Any, str, Any]] = []
        self._watchdog = Watchdog(self)
        self._interrupt: Any = None

    def __enter__(self) -> Guard:
        self._thread = threading.get_ident()
        for owner, name, title, remedy in _PRIMITIVES:
            original = getattr(owner, name)
            self._saved.append((owner, name, original))
            setattr(owner, name, self._telling(original, title, remedy))
        if threading.current_thread() is threading.main_thread():
            self._watchdog.start()
            if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                self._interrupt = signal.signal(signal.SIGINT, self._on_interrupt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._interrupt is not None:
            signal.signal(signal.SIGINT, self._interrupt)
            self._interrupt = None
        self._watchdog.stop()
        while self._saved:
            owner, name, original = self._saved.pop()
            setattr(owner, name, original)

    def running(self) -> Kernel | None:
        """Return the run in which a task runs now, in this thread."""
        kernel = self.kernel
        if kernel is None or kernel.current is kernel.outside or threading.get_ident() != self._thread:
            return None
        return kernel

    def _telling(self, original: Callable[..., Any], title: str, remedy: str) -> Callable[..., Any]:
        @functools.wraps(original)
        def primitive(*args: Any, **options: Any) -> Any:
            kernel = self.running()
            if kernel is not None and not kernel.over:
                frame = _user(sys._getframe(1), through_stdlib=title in _ALWAYS_OURS)
                if frame is not None:
                    _object(kernel, title, frame, remedy)
            return original(*args, **options)

        return primitive

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        """End the run at its next point, so that no code under test takes Ctrl-C for an error of its own."""
        kernel = self.running()
        if kernel is None or kernel.escape is not None:
            raise KeyboardInterrupt
        kernel.interrupt(KeyboardInterrupt())


def _user(frame: FrameType | None, *, through_stdlib: bool) -> FrameType | None:
    """Return the caller of a primitive if it is code under test."""
    while through_stdlib and frame is not None and is_stdlib(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None or is_stdlib(frame.f_code.co_filename) or _is_trusted(frame.f_code.co_filename):
        return None
    return frame


@functools.cache
def _is_trusted(file: str) -> bool:
    parts = PurePath(file).parts
    return "site-packages" in parts and parts[parts.index("site-packages") + 1] in _TRUSTED


def _object(kernel: Kernel, title: str, frame: FrameType, remedy: str) -> None:
    kernel.stop(
        Inconclusive(f"Task '{kernel.current.name}' used {title} at {locate(frame)}: it is not under control. {remedy}")
    )
