"""One measurement, from both of its processes: how long a message takes, how many pass, what a waiting reader costs.

Latency is one-way: from before the send, in the writer, until the reader holds the message; both read the machine's
one monotonic clock. A message is sent when the reader has released the one before, and some time later, so that it
finds a reader that waits.
"""

from __future__ import annotations

import enum
import mmap
import select
import struct
import time
from typing import Any

import msgspec

from omni_ipc.errors import InternalError
from omni_ipc.workflows.bench.subject import Alone, Receiver, Sender

_WARM_UP = 2
_FEWEST = 3
_MOST = 5000
_PAUSE_NS = 50_000
_LONGER = 5  # a stream needs its time to settle
_NOBODY, _OVER = 2**64 - 1, 2**64 - 2
_LAST = 0  # the stamp of the message that ends a measurement
_STAMP = struct.Struct("<Q")

_let_threads_run = select.poll().poll
"""Give other threads of this process their turn, and with 0 come back at once: a sleep of 0 would be one of 50 µs."""


class Measure(enum.StrEnum):
    """What to find out."""

    LATENCY = "latency"
    RATE = "rate"
    IDLE = "idle"
    ALONE = "alone"  # how long an operation takes


class Found(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one measurement gave, or why it gave nothing."""

    values: dict[str, float] = {}  # metric → value, in the unit of the metric
    reason: str = ""


class Taken:
    """How many messages the reader has released, once it is there: a word that both processes see."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, mmap.PAGESIZE)
        self._words = memoryview(self._memory).cast("Q")
        self._words[0] = _NOBODY

    def tell(self, count: int) -> None:
        """Say how many, as the reader."""
        self._words[0] = count

    def wait(self, count: int) -> None:
        """Wait until so many are, as the writer, with an eye on the word: to be told would take its time, too."""
        words = self._words
        while words[0] != count:
            _let_threads_run(0)


def write(measure: Measure, sender: Sender, taken: Taken, seconds: float) -> Found:
    """Do the writer's part."""
    taken.wait(0)
    end = time.monotonic() + seconds
    if measure is Measure.LATENCY:
        _write_one_by_one(sender, taken, end)
    elif measure is Measure.RATE:
        sender.send(time.monotonic_ns())  # until it is taken, somebody may still be connecting
        taken.wait(1)
        end = time.monotonic() + seconds * _LONGER
        while time.monotonic() < end:
            sender.send(time.monotonic_ns())
    else:
        time.sleep(seconds)
    sender.send(_LAST)
    taken.wait(_OVER)
    sender.close()
    return Found()


def read(measure: Measure, receiver: Receiver, taken: Taken) -> Found:
    """Do the reader's part, and tell what was found."""
    taken.tell(0)
    if measure is Measure.LATENCY:
        values = _latency(receiver, taken)
    else:
        values = _rate(receiver, taken) if measure is Measure.RATE else _idle(receiver)
    taken.tell(_OVER)
    receiver.close()
    return Found(values)


def alone(subject: Alone, seconds: float) -> Found:
    """Measure an operation that needs no second process."""
    clock, end, times = time.perf_counter_ns, time.monotonic() + seconds, list[int]()
    while len(times) < _WARM_UP + _FEWEST or (time.monotonic() < end and len(times) < _MOST):
        begun = clock()
        subject.once()
        times.append(clock() - begun)
    return Found(_percentiles(times[_WARM_UP:], subject.operations))


def _write_one_by_one(sender: Sender, taken: Taken, end: float) -> None:
    clock, send = time.monotonic_ns, sender.send
    sent = 0
    while sent < _WARM_UP + _FEWEST or (time.monotonic() < end and sent < _MOST):
        taken.wait(sent)
        pause_until = clock() + _PAUSE_NS
        while clock() < pause_until:
            _let_threads_run(0)
        send(clock())
        sent += 1
    taken.wait(sent)


def _latency(receiver: Receiver, taken: Taken) -> dict[str, float]:
    clock, receive, release = time.monotonic_ns, receiver.receive, receiver.release
    times: list[int] = []
    while True:
        buffer = receive()
        now = clock()
        stamp = _stamp(buffer)
        if stamp == _LAST:
            return _percentiles(times[_WARM_UP:])
        times.append(now - stamp)
        del buffer
        release()
        taken.tell(len(times))


def _rate(receiver: Receiver, taken: Taken) -> dict[str, float]:
    receiver.receive()
    receiver.release()
    taken.tell(1)
    count, begun = 0, 0
    while True:
        stamp = _STAMP.unpack_from(receiver.receive())[0]
        if stamp == _LAST:
            return {"rate": count / max(time.monotonic_ns() - begun, 1) * 1e9}
        count += receiver.count
        begun = begun or stamp
        receiver.release()


def _idle(receiver: Receiver) -> dict[str, float]:
    begun, used = time.monotonic(), time.process_time()
    receiver.receive()
    return {"cpu": (time.process_time() - used) / (time.monotonic() - begun)}


def _stamp(buffer: Any) -> int:
    """Read when a message was sent, and that it is whole."""
    (first,), (last,) = _STAMP.unpack_from(buffer), _STAMP.unpack_from(buffer, memoryview(buffer).nbytes - _STAMP.size)
    if first != last:
        raise InternalError(f"A message of {memoryview(buffer).nbytes} bytes is not whole: {first} and {last}.")
    return int(first)


def _percentiles(times_ns: list[int], operations: int = 1) -> dict[str, float]:
    """Give median and 99th percentile in microseconds."""
    ordered = sorted(times_ns)
    scale = 1e3 * operations
    return {"p50": ordered[len(ordered) // 2] / scale, "p99": ordered[len(ordered) * 99 // 100] / scale}
