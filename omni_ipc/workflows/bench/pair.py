"""The process of one subject: python -m omni_ipc.workflows.bench.pair MODULE:CLASS

It reads commands on standard input, a line of JSON each, and answers each with a line on standard output. For each it
makes the subject anew and forks: a Pipe, a Queue and our descriptors are then inherited alike, and whatever a subject
starts, threads included, ends with the two. It ends with its standard input.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Iterator, Sequence

import msgspec

from omni_ipc.workflows.bench import measures
from omni_ipc.workflows.bench.answering import answer_commands, described
from omni_ipc.workflows.bench.measures import Found, Measure, Taken
from omni_ipc.workflows.bench.subject import Alone, Case, Subject, load

_STDIN = 0
_CORES = sorted(os.sched_getaffinity(0))
_PATIENCE_S = 20.0  # beyond the seconds of a measurement


class Command(msgspec.Struct, frozen=True):
    """Measure one case."""

    measure: Measure
    case: Case
    seconds: float


def main() -> None:
    """Answer commands until there are no more."""
    answer_commands(load, Command, _carry_out)


def _carry_out(command: Command, kind: Callable[[Case], Subject | Alone]) -> Found:
    with contextlib.closing(kind(command.case)) as subject, contextlib.ExitStack() as children:
        if isinstance(subject, Alone):
            results = [children.enter_context(_child(lambda: measures.alone(subject, command.seconds), _CORES))]
        else:
            taken = Taken()
            reading, writing = (_CORES[:1], _CORES[-1:]) if subject.spins else (_CORES, _CORES)
            read = _child(lambda: measures.read(command.measure, subject.receiver(), taken), reading)
            write = _child(lambda: measures.write(command.measure, subject.sender(), taken, command.seconds), writing)
            results = [children.enter_context(read), children.enter_context(write)]
        return _gather(results, time.monotonic() + command.seconds + _PATIENCE_S)


@contextlib.contextmanager
def _child(role: Callable[[], Found], cores: Sequence[int]) -> Iterator[int]:
    """Fork a child that plays a role on some cores; give the descriptor that it tells what it found on, and end it."""
    result, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.sched_setaffinity(0, cores)
            found = role()
        except BaseException as error:
            found = Found(reason=described(error))
        os.write(write, msgspec.json.encode(found))
        os._exit(0)
    os.close(write)
    try:
        yield result
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(result)


def _gather(results: list[int], deadline: float) -> Found:
    """Wait for all of them; the first that failed is the answer, else the first."""
    found: dict[int, Found] = {}
    while len(found) < len(results):
        waiting = [result for result in results if result not in found]
        ready, _, _ = select.select([*waiting, _STDIN], [], [], max(deadline - time.monotonic(), 0))
        if _STDIN in ready or not ready:
            return Found(reason="it did not end in time")
        for result in ready:
            data = os.read(result, 1 << 16)
            found[result] = msgspec.json.decode(data, type=Found) if data else Found(reason="a process of it died")
            if found[result].reason:
                return found[result]
    return found[results[0]]


if __name__ == "__main__":
    main()
