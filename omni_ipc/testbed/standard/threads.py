"""``threading.Thread`` under control.

A thread object stays what it is, whatever class of the user's it has; only its life is another.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

from omni_ipc.errors import Inconclusive
from omni_ipc.testbed.identity import ASKED_LIVES
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.operations import Reading
from omni_ipc.testbed.standard.current import dress
from omni_ipc.testbed.standard.life import Joining, Life, Starting, identify
from omni_ipc.testbed.standard.world import WORLD, asks, running
from omni_ipc.testbed.where import locate

Method = Callable[..., Any]


def _life(thread: threading.Thread) -> Life | None:
    """Return the life of a thread that was made under control; None if nobody asks who is under control.

    Raises:
        Inconclusive: a task uses a thread that was made before its run.
    """
    life = thread.__dict__.get("_started")
    if isinstance(life, Life):
        return life
    kernel = running()
    if kernel is not None and life is not None and asks(sys._getframe(2)):
        kernel.stop(
            Inconclusive(
                f"Task '{kernel.current.name}' used thread '{thread.name}', which was made before the run, at "
                f"{locate(sys._getframe(2))}: it is not under control. Make it in the scenario."
            )
        )
    return None


def initialize(original: Method) -> Method:
    """Replace ``Thread.__init__``."""

    @functools.wraps(original)
    def __init__(self: threading.Thread, *args: Any, **options: Any) -> None:  # noqa: N807
        kernel = WORLD.maker()
        if kernel is None or not asks(sys._getframe(1)):
            return original(self, *args, **options)  # type: ignore[no-any-return]
        if type(self).__setattr__ is object.__setattr__ and not WORLD.imports and dress(kernel, self, args, options):
            return None
        event = threading.Event
        threading.Event = functools.partial(Life, kernel, self)  # type: ignore[misc,assignment]  # its life, not an event
        try:
            original(self, *args, **options)
        finally:
            threading.Event = event  # type: ignore[misc]
        return None

    return __init__


def start(original: Method) -> Method:
    """Replace ``Thread.start``."""

    def start(self: threading.Thread) -> None:
        life = _life(self)
        if life is None:
            return original(self)  # type: ignore[no-any-return]
        life.kernel.perform(Starting(life))
        return None

    return start


def start_new(kernel: Kernel, function: Any, args: Any, options: Any = None, /) -> int:
    """Start a thread as `_thread` does: nobody can wait for it."""
    if not callable(function) or not isinstance(args, tuple) or not isinstance(options or {}, dict):
        raise TypeError("a function, a tuple and a dictionary are needed")
    thread = threading.Thread(target=function, args=args, kwargs=options or {}, daemon=True)
    life = Life(kernel, thread)
    thread._started = life  # type: ignore[attr-defined]
    kernel.perform(Starting(life))
    assert life.task is not None
    return identify(life.task)


def join(original: Method) -> Method:
    """Replace ``Thread.join``."""

    def join(self: threading.Thread, timeout: float | None = None) -> None:
        life = _life(self)
        if life is None:
            return original(self, timeout)  # type: ignore[no-any-return]
        task = life.task or life.kernel.perform(Reading("thread.join", life, life.require_started))
        if task is life.kernel.current:
            raise RuntimeError("cannot join current thread")
        life.kernel.perform_within(Joining(life, task), timeout)
        return None

    return join


def is_alive(original: Method) -> Method:
    """Replace ``Thread.is_alive``."""

    def is_alive(self: threading.Thread) -> bool:
        life = _life(self)
        if life is None:
            return bool(original(self))
        if life.task is None or not life.task.joined:
            life.kernel.identities.meet(ASKED_LIVES)
        look = Reading("thread.is_alive", life, lambda: life.task is not None and not life.task.ended)
        look.reads |= life.task.bit if life.task is not None else 0
        return bool(life.kernel.perform(look))

    return is_alive


def number(original: Method) -> Method:
    """Replace ``Thread.__hash__``, so that sets of threads have the same order in each run."""

    def __hash__(self: threading.Thread) -> int:  # noqa: N807
        life = self.__dict__.get("_started")
        return hash(life.identity) if type(life) is Life else original(self)

    return __hash__


def represent(original: Method) -> Method:
    """Replace ``Thread.__repr__``, which would ask whether the thread is alive."""

    def __repr__(self: threading.Thread) -> str:  # noqa: N807
        life = self.__dict__.get("_started")
        if not isinstance(life, Life):
            return str(original(self))
        status = "initial" if life.task is None else "stopped" if life.task.ended else "started"
        daemon = " daemon" if self.daemon else ""
        ident = "" if life.task is None else f" {identify(life.task)}"
        return f"<{type(self).__name__}({self.name}, {status}{daemon}{ident})>"

    return __repr__
