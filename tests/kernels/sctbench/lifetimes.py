"""Things that are used before they are there, or when they are gone; and work that is counted wrongly on the way."""

from __future__ import annotations

import dataclasses
import threading
from contextlib import AbstractContextManager, nullcontext

from tests.kernels.kernel import EXCEPTION, Kernel, together

Lock = AbstractContextManager[object]


class Driver:
    """A device: how many use it, the stopper included, and whether it is on its way out."""

    def __init__(self) -> None:
        self.pending = 1
        self.stopping = False
        self.stopped = False
        self.idle = threading.Event()
        self.lock = threading.Lock()

    def count(self, change: int) -> None:
        """Change how many use it."""
        with self.lock:
            self.pending += change
            if self.pending == 0:
                self.idle.set()


def bluetooth() -> None:
    """Look whether the device is being stopped, and be counted afterwards."""
    _use_and_stop(count_first=False)


def bluetooth_fixed() -> None:
    """Be counted, and look then."""
    _use_and_stop(count_first=True)


def _use_and_stop(*, count_first: bool) -> None:
    driver = Driver()

    def use() -> None:
        if count_first:
            driver.count(+1)
        if not driver.stopping:
            if not count_first:
                driver.count(+1)
            assert not driver.stopped, "used after it was stopped"
            driver.count(-1)
        elif count_first:
            driver.count(-1)

    def stop() -> None:
        driver.stopping = True
        driver.count(-1)
        driver.idle.wait()
        driver.stopped = True

    together(use, stop)


class Fifo:
    """Blocks that wait to be compressed, and a lock that goes with them."""

    def __init__(self) -> None:
        self.lock: threading.Lock | None = threading.Lock()
        self.blocks = [1]


def pbzip2() -> None:
    """Free the queue when it is empty: its consumer still holds on to it."""
    _compress(wait=False)


def pbzip2_fixed() -> None:
    """Free it when its consumer is gone."""
    _compress(wait=True)


def _compress(*, wait: bool) -> None:
    fifo, gone = Fifo(), threading.Event()

    def consume() -> None:
        while True:
            with fifo.lock:  # type: ignore[union-attr]
                if not fifo.blocks:
                    break
                fifo.blocks.pop()
        gone.set()

    def free() -> None:
        if wait:
            gone.wait()
        fifo.lock = None

    together(consume, free)


def ctrace() -> None:
    """Look whether the log is open, and open it: two do."""
    _open_log(nullcontext())


def ctrace_fixed() -> None:
    """One at a time."""
    _open_log(threading.Lock())


def _open_log(lock: Lock) -> None:
    log: list[str] | None = None

    def trace(line: str) -> None:
        nonlocal log
        with lock:
            if log is None:
                log = []
        log.append(line)

    together(lambda: trace("a"), lambda: trace("b"))
    assert log is not None
    assert sorted(log) == ["a", "b"], f"the log has {log}"


@dataclasses.dataclass
class Download:
    """How much of a file has come, and from where on to go on."""

    written: int = 0
    offset: int = 0
    saved: tuple[int, int] = (0, 0)


def aget() -> None:
    """Save the state of a download while a block is half booked."""
    _download_and_interrupt(nullcontext())


def aget_fixed() -> None:
    """Book blocks whole."""
    _download_and_interrupt(threading.Lock())


def _download_and_interrupt(lock: Lock) -> None:
    download = Download()

    def receive() -> None:
        for _ in range(2):
            with lock:
                download.offset += 10
                download.written += 10

    def interrupt() -> None:
        with lock:
            download.saved = download.written, download.offset

    together(receive, interrupt)
    written, offset = download.saved
    assert written == offset, f"saved {written} bytes, to go on at {offset}"


_progress: dict[str, int] = {}


def arithmetic_prog() -> None:
    """Say that a sum is ready before its last number is in."""
    _sum_up(say_first=True)


def arithmetic_prog_fixed() -> None:
    """Say so afterwards."""
    _sum_up(say_first=False)


def _sum_up(*, say_first: bool) -> None:
    _progress.clear()
    _progress.update(total=0, ready=0)

    def add() -> None:
        for number in (1, 2, 3):
            if say_first and number == 3:
                _progress["ready"] = 1
            _progress["total"] += number
        _progress["ready"] = 1

    def check() -> None:
        if _progress["ready"]:
            total = _progress["total"]
            assert total == 6, f"the sum is {total}"

    together(add, check)


KERNELS = (
    Kernel(bluetooth, bluetooth_fixed, EXCEPTION, "used after it was stopped", "SCTBench, CS.bluetooth_driver_bad"),
    Kernel(pbzip2, pbzip2_fixed, EXCEPTION, "NoneType", "SCTBench, CB.pbzip2-0.9.4"),
    Kernel(ctrace, ctrace_fixed, EXCEPTION, "the log has", "SCTBench, misc: ctrace"),
    Kernel(aget, aget_fixed, EXCEPTION, "to go on at", "SCTBench, CB.aget-bug2"),
    Kernel(arithmetic_prog, arithmetic_prog_fixed, EXCEPTION, "the sum is", "SCTBench, CS.arithmetic_prog_bad"),
)
