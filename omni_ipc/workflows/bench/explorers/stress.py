"""Plain threads, again and again, switched as often as CPython does it.

Each exploration is a process, because what hangs cannot be ended otherwise.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator

from omni_ipc.workflows.bench.explorers.serving import BOUNDED, VIOLATED, Answer, Question, Scenario, describe, serve

_HANG_S = 0.5
_SWITCH_S = 1e-6
_WELL = b"."


def explore(question: Question) -> Answer:
    """Run it until it fails, hangs, or the time is over."""
    scenario, begun, schedules = question.scenario(), time.monotonic(), 0
    with _forked(scenario) as output:
        while (seconds := time.monotonic() - begun) < question.seconds:
            if not select.select([output], [], [], _HANG_S)[0]:
                return Answer(VIOLATED, "it hangs", schedules + 1, seconds)
            told = os.read(output, 1 << 16)
            ran = len(told) - len(told.lstrip(_WELL))
            schedules += ran
            if ran < len(told):
                return Answer(VIOLATED, told[ran:].decode(), schedules + 1, time.monotonic() - begun)
        return Answer(BOUNDED, "", schedules, seconds)


@contextlib.contextmanager
def _forked(scenario: Scenario) -> Iterator[int]:
    """Run it in a child time and again; give what the child tells on: a dot for each good run, or its failure."""
    output, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(output)
        _repeat(scenario, write)
    os.close(write)
    try:
        yield output
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(output)


def _repeat(scenario: Scenario, write: int) -> None:
    errors: list[BaseException | None] = []
    threading.excepthook = lambda raised: errors.append(raised.exc_value)
    sys.setswitchinterval(_SWITCH_S)
    while not errors:
        try:
            scenario()
        except BaseException as error:
            errors.append(error)
        if not errors:
            os.write(write, _WELL)
    os.write(write, describe(errors[0]).encode())
    os._exit(0)


if __name__ == "__main__":
    serve(explore)
