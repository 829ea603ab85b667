"""The process of one server: python -m omni_ipc.workflows.bench.served MODULE:CLASS

It reads commands on standard input, a line of JSON each, and answers each with a line on standard output. For each it
starts the server anew. It ends with its standard input.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from omni_ipc.errors import InternalError
from omni_ipc.pipelines.synthetic import expected
from omni_ipc.serving.admission import Admission
from omni_ipc.serving.core import EngineCore, EngineParts
from omni_ipc.serving.requests import Request
from omni_ipc.serving.scheduler import Scheduler
from omni_ipc.workflows.bench.answering import answer_commands
from omni_ipc.workflows.bench.measures import Found
from omni_ipc.workflows.bench.server import CONFIG, RT, Case, Server, load

_FEWEST = 2
_IN_FLIGHT = 64  # requests, when it is counted how many pass


class Want(enum.StrEnum):
    """What to find out."""

    OVERHEAD = "overhead"  # of a request through the whole engine, beyond the forward that it was part of
    COPIES = "copies"  # bytes that are copied, for each byte of an output
    REQUESTS = "requests"  # that pass in a second, through the whole engine


class Command(msgspec.Struct, frozen=True):
    """Measure one case."""

    want: Want
    case: Case
    seconds: float


def main() -> None:
    """Answer commands until there are no more."""
    answer_commands(load, Command, carry_out)


def carry_out(command: Command, kind: Callable[[Case], Server]) -> Found:
    """Start the server, and measure."""
    with contextlib.closing(kind(command.case)) as server:
        match command.want:
            case Want.OVERHEAD:
                value = _overhead(server, command.case, command.seconds)
            case Want.COPIES:
                value = _copies(server, command.case)
            case Want.REQUESTS:
                value = _requests(server, command.seconds)
        return Found({command.want.value: value})


class WholeBatches(Scheduler):
    """Waits for as many requests as a batch has, so that what is measured does not depend on who comes when."""

    def next_batch(self, running: Sequence[Admission] = (), *, look_s: float) -> Sequence[Admission] | None:
        with self._guard:
            self._guard.wait_for(lambda: len(self._waiting) >= self._max_batch or self._closed is not None)
        return super().next_batch(running, look_s=look_s)


def _overhead(server: Server, case: Case, seconds: float) -> float:
    """Give the microseconds of a request between the call and the end of its output, without those of the forward."""
    times: list[float] = []
    with _engine_over(server, case) as engine:
        _serve(engine, case)
        end = time.monotonic() + seconds
        while len(times) < _FEWEST or time.monotonic() < end:
            begun = time.perf_counter()
            execution_s = _serve(engine, case)
            times.append(time.perf_counter() - begun - execution_s)
    return statistics.median(times) * 1e6 / case.batch


def _copies(server: Server, case: Case) -> float:
    """Give how many bytes are copied for each byte of an output."""
    with _engine_over(server, case) as engine:
        before = server.copied()
        for _ in range(_FEWEST):
            _serve(engine, case)
        return (server.copied() - before) / (_FEWEST * case.batch * case.nbytes)


def _requests(server: Server, seconds: float) -> float:
    """Give how many requests pass in a second, with so many in flight."""
    times: list[float] = []
    with EngineCore(rt=RT, executor=server.executor, config=CONFIG) as engine:
        _pass_many(engine)
        end = time.monotonic() + seconds
        while len(times) < _FEWEST or time.monotonic() < end:
            begun = time.perf_counter()
            _pass_many(engine)
            times.append(time.perf_counter() - begun)
    return _IN_FLIGHT / statistics.median(times)


def _pass_many(engine: EngineCore) -> None:
    for stream in [engine.submit(Request(f"{number}")) for number in range(_IN_FLIGHT)]:
        stream.result()


def _engine_over(server: Server, case: Case) -> EngineCore:
    config = msgspec.structs.replace(CONFIG, max_batch=case.batch)
    return EngineCore(rt=RT, executor=server.executor, config=config, parts=EngineParts(scheduler=WholeBatches))


def _serve(engine: EngineCore, case: Case) -> float:
    """Have a batch served, from the calls to the outputs, and look at each; tells how long the forward took."""
    execution_s = 0.0
    for stream in [engine.submit(Request(f"{number}")) for number in range(case.batch)]:
        output = stream.result()
        _look(output.value, case.nbytes)
        execution_s = output.execution_time_s
    return execution_s


def _look(value: Any, nbytes: int) -> None:
    """See that an output is whole, by its size and its ends."""
    (array,) = value["tensors"]
    if array.nbytes != nbytes or int(array[-1]) != _last(value["request"], nbytes):
        raise InternalError(f"The output of request '{value['request']}' is not whole.")


@functools.cache
def _last(request: str, nbytes: int) -> int:
    return int(expected(request, nbytes)[-1])


if __name__ == "__main__":
    main()
