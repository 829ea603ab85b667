"""Watches a command from outside: what blocks or breaks a process in C cannot be told from within it.

this process ─ fork ─► goes on with the command ── beats, and the stack if it blocks ──┐
      └── waits, passes signals on, ends it if it blocks, ends as it does ◄────────────┘
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import signal
import sys
from time import monotonic

from omni_ipc.signals import name_of
from omni_ipc.testbed import alarm
from omni_ipc.testbed.alarm import ALARM, BEAT
from omni_ipc.testbed.where import is_foundation

_GRACE_S = 2.0  # in which a process that blocked may show that it goes on: it was stopped, and not blocked
_LOOK_S = 0.25
_PASSED_ON = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP}
_PR_SET_PDEATHSIG = 1
_BLOCKED = 3
_FRAME = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+) in (?P<name>.*)$', re.MULTILINE)


def go_on_watched() -> None:
    """Go on in a child process; this one ends as that one does, with status 3 if it blocks in C or dies there.

    The child leads a group of its own, so that each signal reaches it once, whether it was sent to this process or to
    its group.
    """
    hears, tells = os.pipe()
    waited_for = _PASSED_ON | {signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited_for)
    watcher = os.getpid()
    child = os.fork()
    if child == 0:
        os.close(hears)
        os.setpgid(0, 0)
        os.set_blocking(tells, False)
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if os.getppid() != watcher:
            os._exit(_BLOCKED)
        ALARM.tell(tells, beats=True)
        return
    with contextlib.suppress(OSError):  # it has done so, and has ended perhaps
        os.setpgid(child, child)
    os.close(tells)
    os.set_blocking(hears, False)
    os._exit(_Watch(child, hears).until_its_end(waited_for))


class _Watch:
    """Waits for a process, and hears what its alarm says."""

    def __init__(self, child: int, hears: int) -> None:
        self._child = child
        self._hears = hears
        self._stack = b""
        self._rang = 0.0
        self._passed_on: set[int] = set()

    def until_its_end(self, signals: set[signal.Signals]) -> int:
        """Return the exit status to end with."""
        while True:
            came = signal.sigtimedwait(signals, _LOOK_S)
            if came is not None and came.si_signo != signal.SIGCHLD:
                self._pass_on(came.si_signo)
            ended, status = os.waitpid(self._child, os.WNOHANG)
            if ended:
                return self._judge(os.waitstatus_to_exitcode(status))
            self._hear()
            if self._stack and monotonic() - self._rang > _GRACE_S:
                return self._end_blocked()

    def _pass_on(self, number: int) -> None:
        self._passed_on.add(number)
        os.killpg(self._child, number)
        if number == signal.SIGTSTP:
            os.kill(os.getpid(), signal.SIGSTOP)
            os.killpg(self._child, signal.SIGCONT)

    def _end_blocked(self) -> int:
        os.kill(self._child, signal.SIGKILL)
        os.waitpid(self._child, 0)
        place = _place(self._stack.decode())
        return _tell(
            f"A step has blocked in C code for {alarm.PATIENCE_S:g} s, at {place}, and no Python can interrupt it: "
            "nothing was concluded. Wait by what threading, queue, concurrent.futures, asyncio and time make for the "
            "scenario, or put something in the place of the call for the test."
        )

    def _hear(self) -> None:
        """Take in what the alarm says; what stands before the last beat is over."""
        with contextlib.suppress(BlockingIOError):
            while heard := os.read(self._hears, 65536):
                before, self._stack = self._stack, (self._stack + heard).rpartition(BEAT)[2]
                if self._stack and not before:
                    self._rang = monotonic()

    def _judge(self, code: int) -> int:
        if code >= 0 or -code in self._passed_on:
            return code if code >= 0 else _BLOCKED
        return _tell(
            f"The process that ran the scenario was ended by {name_of(-code)}: nothing was concluded. If "
            "nobody sent it, look at what the scenario does in C code."
        )


def _tell(sentence: str) -> int:
    if sys.stderr is not None:
        print(f"omni-ipc: {sentence}", file=sys.stderr, flush=True)
    return _BLOCKED


def _place(stack: str) -> str:
    """Name the innermost line that is neither Python's nor ours."""
    frames = [found.groupdict() for found in _FRAME.finditer(stack)]
    theirs = [frame for frame in frames if not is_foundation(frame["file"])]
    for frame in (theirs or frames)[:1]:
        return f"{os.path.basename(frame['file'])}:{frame['line']} in {frame['name']}"
    return "a place that cannot be told"
