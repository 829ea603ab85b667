"""Who the current thread is, and who lives."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from typing import Any

from omni_ipc.testbed.identity import COUNTED_THREADS
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.operations import Operation
from omni_ipc.testbed.standard.life import Life, identify
from omni_ipc.testbed.tasks import Task

_FRESH = dict(vars(threading.Thread(name="fresh", daemon=False)))
"""What a thread holds that was just made: to have its class make it costs several times as much."""
_OPTIONS = frozenset({"target", "name", "args", "kwargs", "daemon"})


def identify_current(kernel: Kernel) -> int:
    """Return the identifier of the current thread."""
    return identify(kernel.current)


def main(kernel: Kernel) -> threading.Thread:
    """Return the thread of the scenario itself."""
    return thread_of(kernel, kernel.tasks[0])


def count(kernel: Kernel) -> int:
    """Count the threads that live."""
    return len(living(kernel))


def current(kernel: Kernel) -> threading.Thread:
    """Return the thread of the current task; one is made up for a task that no thread object stands for."""
    return thread_of(kernel, kernel.current)


def thread_of(kernel: Kernel, task: Task) -> threading.Thread:
    """Return the thread object of a task."""
    if task.thread is None:
        kind = threading._MainThread if task is kernel.tasks[0] else threading.Thread  # type: ignore[attr-defined]
        thread = threading.Thread.__new__(kind)
        name = "MainThread" if task is kernel.tasks[0] else task.name
        thread.__dict__ |= _FRESH | {"_name": name, "_daemonic": task.daemon}
        thread._started = Life.of(task, kernel, thread)
        thread._ident = thread._native_id = identify(task)
        task.thread = thread
    result: threading.Thread = task.thread
    return result


def dress(kernel: Kernel, thread: threading.Thread, args: tuple[Any, ...], options: Mapping[str, Any]) -> bool:
    """Do what ``Thread.__init__`` does, and tell whether it was done: the class itself tells of odd arguments."""
    if args or not _OPTIONS.issuperset(options):
        return False
    target, name, kwargs, daemon = map(options.get, ("target", "name", "kwargs", "daemon"))
    if name:
        name = str(name)
    else:
        name = name_new(kernel, "Thread-%d")
        if target is not None and hasattr(target, "__name__"):
            name = f"{name} ({target.__name__})"
    if daemon is None:
        maker = kernel.current
        daemon = maker.daemon if maker.thread is None else maker.thread.daemon
    thread.__dict__.update(
        _FRESH,
        _target=target,
        _name=name,
        _daemonic=daemon,
        _args=options.get("args", ()),
        _kwargs={} if kwargs is None else kwargs,
        _stderr=sys.stderr,
        _started=Life(kernel, thread),
    )
    return True


def name_new(kernel: Kernel, template: str) -> str:
    """Number threads anew in each run."""
    number = kernel.numbered[template] = kernel.numbered.get(template, 0) + 1
    return template % number


def living(kernel: Kernel) -> list[threading.Thread]:
    """List the threads that live."""
    if not kernel.identities.meet(COUNTED_THREADS):
        return _living(kernel)
    look = Operation("threading.enumerate", None, lambda: _living(kernel))
    look.reads |= kernel.identities.census
    listed: list[threading.Thread] = kernel.perform(look)
    return listed


def _living(kernel: Kernel) -> list[threading.Thread]:
    return [thread_of(kernel, task) for task in kernel.living if task.is_thread]
