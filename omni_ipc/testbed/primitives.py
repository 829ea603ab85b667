"""What a scenario must not use: clocks, locks, chance, processes, sockets and signals that nobody controls.

Each is replaced where it is looked up. What is imported only while a scenario runs is seen by what it stands on: uuid
by os.urandom(), asyncio by its selector, multiprocessing by its process (but not its locks).

What has a look-alike is in `standard.redirects` instead. Not seen: what C code does by itself, as a generator of numpy
that was made without a seed by its class, or a file object that was opened on a pipe before the run.
"""

from __future__ import annotations

import _posixsubprocess  # noqa: F401 - these are imported so that they are replaced before a scenario imports them
import abc  # noqa: F401
import concurrent.futures  # noqa: F401
import dataclasses
import fcntl
import importlib
import locale  # noqa: F401
import os
import queue  # noqa: F401
import random  # noqa: F401
import select  # noqa: F401
import selectors  # noqa: F401
import signal  # noqa: F401
import socket  # noqa: F401
import stat
import subprocess  # noqa: F401
import sys
import threading  # noqa: F401
import time  # noqa: F401
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from omni_ipc.testbed.standard.world import running

_Arguments = tuple[Any, ...]


def _always(_: _Arguments) -> bool:
    return True


@dataclasses.dataclass(frozen=True, slots=True)
class Primitive:
    """One callable.

    Args:
        owner: a module, or "module:Class".
        title: how it is told.
        remedy: what to use instead, as a sentence.
        deep: it counts, too, if the standard library calls it for the code under test.
        fatal: it would end, double or hijack the process that explores, so it is refused even after the run's end.
        when: tells by the positional arguments, ``self`` included, whether this call counts.
    """

    owner: str
    name: str
    title: str
    remedy: str
    deep: bool = False
    fatal: bool = False
    when: Callable[[_Arguments], bool] = _always

    def find(self) -> Any:
        """Return module or class; None if the module is not imported, or lacks it on this platform."""
        module, _, kind = self.owner.partition(":")
        package = module.rpartition(".")[0]
        if module not in sys.modules and package in sys.modules:  # as numpy's, which come when they are used
            importlib.import_module(module)
        owner = sys.modules.get(module)
        if kind:
            owner = getattr(owner, kind, None)
        return owner if hasattr(owner, self.name) else None


_CLOCK = "Take the time from time.monotonic() or rt.now()."
_CHANCE = "Draw from a random.Random(seed) of the scenario's own."
_PROCESS = "Let a task play the other process: threading.Thread() or rt.spawn()."
_END = "Return from the task, or raise."
_SIGNAL = "Leave signals and timers to the process that explores; wait with time.sleep() or rt.sleep()."
_GREENLET = "Tasks are greenlets, and may not switch by themselves. Use threads, or asyncio."
_LOOP = "Take loops from asyncio as it is: asyncio.run(), asyncio.new_event_loop()."
_STREAMS = "Leave standard input, output and error to the process that explores."
_CLASSES = "Register classes before tasks begin."
_OF_PROCESS = "It belongs to the whole process: set it before tasks begin."
_TALK = "Let tasks talk by queues and events: queue.Queue() or rt.queue(), threading.Event() or rt.event()."
_LOCK = "Take a lock: threading.Lock() or rt.lock()."


def _told(owner: str, names: str, remedy: str, **options: Any) -> Iterator[Primitive]:
    """Functions and methods that are told by their own names."""
    place = owner.rpartition(":")[2].lstrip("_")
    for name in names.split():
        yield Primitive(owner, name, f"{place}.{name}()", remedy, **options)


def _made(owners: Iterable[str], name: str, remedy: str, **options: Any) -> Iterator[Primitive]:
    """Objects that are told by what they are."""
    for owner in owners:
        yield Primitive(owner, name, f"a real {owner.replace(':', '.')}", remedy, **options)


def _is_a_stream(arguments: _Arguments) -> bool:
    return bool(arguments) and arguments[0] in (0, 1, 2)


def _leads_a_stream_away(arguments: _Arguments) -> bool:
    return _is_a_stream(arguments[1:])


def _uses_pipes(arguments: _Arguments) -> bool:
    """Tell a call whose first argument, or second, is the descriptor of what one task reads and another one writes."""
    return any(map(_is_a_pipe, arguments[:2]))


def _begins_with_a_pipe(arguments: _Arguments) -> bool:
    return _uses_pipes(arguments[:1])


def _is_a_pipe(descriptor: object) -> bool:
    try:
        mode = os.fstat(descriptor).st_mode if isinstance(descriptor, int) else 0
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _begins_with_what_blocks(arguments: _Arguments) -> bool:
    try:
        return os.get_blocking(*arguments[:1])
    except (OSError, TypeError):
        return False


def _waits(place: int, *, unless: int) -> Callable[[_Arguments], bool]:
    """Tell a call that may wait, by the flags that it is given at this place."""
    return lambda arguments: len(arguments) <= place or not arguments[place] & unless


def _is_beside_others(_: _Arguments) -> bool:
    """Tell whether other tasks live; a module that a task imports sets up what it needs."""
    kernel = running()
    return kernel is not None and kernel.unjoined > 0 and sys._getframe(2).f_code.co_name != "<module>"


def _lacks(place: int) -> Callable[[_Arguments], bool]:
    """Tell a call that leaves the argument at this place to the clock, or to chance."""
    return lambda arguments: len(arguments) <= place or arguments[place] is None


PRIMITIVES: tuple[Primitive, ...] = (
    *_told("time", "process_time thread_time process_time_ns thread_time_ns", _CLOCK),
    *_told("_thread", "start_joinable_thread", "Use threading.Thread."),
    *_told("random", "random seed randint randrange randbytes getrandbits choice choices sample shuffle", _CHANCE),
    *_told("random", "uniform triangular gauss normalvariate lognormvariate expovariate betavariate", _CHANCE),
    *_told("random", "gammavariate paretovariate vonmisesvariate weibullvariate binomialvariate", _CHANCE),
    Primitive("random:Random", "__init__", "a random.Random without a seed", _CHANCE, when=_lacks(1)),
    *_told("random:Random", "seed", _CHANCE, when=_lacks(1)),
    *_told("random:SystemRandom", "random getrandbits randbytes", _CHANCE, deep=True),
    *_told("numpy.random", "seed random rand randn randint random_sample ranf sample bytes", _CHANCE),
    *_told("numpy.random", "choice shuffle permutation normal uniform standard_normal exponential poisson", _CHANCE),
    *_told("numpy.random", "default_rng", _CHANCE, when=_lacks(0)),
    *_told("secrets", "choice randbelow randbits token_bytes token_hex token_urlsafe", _CHANCE),
    *_told("uuid", "uuid1 uuid4", _CHANCE),
    *_told("os", "urandom getrandom", _CHANCE, deep=True),
    Primitive("abc:ABCMeta", "register", "ABCMeta.register()", _CLASSES, when=_is_beside_others),
    *_told("locale", "setlocale", _OF_PROCESS, deep=True, when=_is_beside_others),
    *_told("logging.config", "dictConfig fileConfig", _OF_PROCESS, when=_is_beside_others),
    *_told("time", "tzset", _OF_PROCESS, when=_is_beside_others),
    *_told("torch", "manual_seed seed set_rng_state", _OF_PROCESS, when=_is_beside_others),
    *_told("torch", "set_default_dtype set_default_device", _OF_PROCESS, when=_is_beside_others),
    *_told("greenlet", "greenlet getcurrent", _GREENLET),
    *_told("asyncio", "set_event_loop_policy", _LOOP),
    *_told("asyncio.events", "set_event_loop_policy", _LOOP),
    Primitive("multiprocessing.process:BaseProcess", "start", "a real process", _PROCESS, deep=True, fatal=True),
    *(
        primitive
        for owner in ("multiprocessing", "multiprocessing.context:BaseContext")
        for primitive in (
            *_told(owner, "Lock RLock Condition Event Semaphore BoundedSemaphore Barrier", _TALK, deep=True),
            *_told(owner, "Queue SimpleQueue JoinableQueue Pipe Pool Manager", _TALK, deep=True),
        )
    ),
    Primitive("subprocess:Popen", "__init__", "a real process", _PROCESS, deep=True, fatal=True),
    *_told("_posixsubprocess", "fork_exec", _PROCESS, deep=True, fatal=True),
    *(
        primitive
        for module in ("os", "posix")
        for primitive in (
            *_told(module, "fork fork1 forkpty system posix_spawn posix_spawnp", _PROCESS, deep=True, fatal=True),
            *_told(module, "_exit abort execv execve", _END, deep=True, fatal=True),
            *_told(module, "kill killpg", _SIGNAL, deep=True, fatal=True),
            *_told(module, "chdir fchdir umask", _OF_PROCESS, deep=True, when=_is_beside_others),
            *_told(module, "close", _STREAMS, deep=True, fatal=True, when=_is_a_stream),
            *_told(module, "dup2", _STREAMS, deep=True, fatal=True, when=_leads_a_stream_away),
            *_told(module, "wait", _PROCESS),
            *_told(module, "wait3", _PROCESS, when=_waits(0, unless=os.WNOHANG)),
            *_told(module, "waitpid wait4", _PROCESS, when=_waits(1, unless=os.WNOHANG)),
            *_told(module, "waitid", _PROCESS, when=_waits(2, unless=os.WNOHANG)),
            *_told(module, "pipe pipe2 mkfifo openpty", _TALK),
            *_told(module, "eventfd_read", _TALK, when=_begins_with_what_blocks),
            *_told(module, "read readv write writev", _TALK, when=_begins_with_a_pipe),
            *_told(module, "sendfile splice", _TALK, when=_uses_pipes),
        )
    ),
    *(
        primitive
        for module in ("signal", "_signal")
        for primitive in (
            *_told(module, "signal setitimer alarm raise_signal pthread_kill", _SIGNAL, deep=True, fatal=True),
            *_told(module, "pthread_sigmask siginterrupt set_wakeup_fd", _SIGNAL, deep=True, fatal=True),
            *_told(module, "pause sigwait sigwaitinfo sigtimedwait", _SIGNAL, deep=True),
        )
    ),
    *_told("fcntl", "flock lockf", _LOCK, deep=True, when=_waits(1, unless=fcntl.LOCK_NB | fcntl.LOCK_UN)),
    *_told("select", "select poll epoll kqueue devpoll", _TALK),
    Primitive("selectors:_BaseSelectorImpl", "__init__", "a real selector", _TALK, deep=True),
    *_made(["socket:socket"], "__init__", _TALK, deep=True),
    *_told(
        "socket:socket", "connect connect_ex accept recv recv_into recvfrom recvfrom_into recvmsg", _TALK, deep=True
    ),
    *_told("socket:socket", "send sendall sendto sendmsg sendfile", _TALK, deep=True),
)
