"""The process of engine and clients: runs rounds until its standard input ends (see process.py).

python -m omni_ipc.stress.served LEDGER_FD PIPE_FD < order
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence

import msgspec

from omni_ipc.errors import OmniError
from omni_ipc.serving.engine import PipelineSpec
from omni_ipc.serving.group import HostGroup
from omni_ipc.stress import stacks
from omni_ipc.stress.defective import build
from omni_ipc.stress.device_errors import is_lost_to_process
from omni_ipc.stress.ledger import Ledger
from omni_ipc.stress.leftovers import await_none, held, segments, trim
from omni_ipc.stress.messages import Began, Ended, Failed, Order, Teller, first_line
from omni_ipc.stress.plans import Plan, draw, room
from omni_ipc.stress.rounds import Around, Round
from omni_ipc.stress.runtimes import runtimes

PIPELINE = "omni_ipc.stress.pipeline:varied"

_AGAIN_S = 0.5  # after an engine that did not start
_LASTING = ("waiting", "MainThread", "keeper", "asyncio_")  # threads that stay for as long as the process


class Serving:
    """Rounds over the same workers' processes, one after another."""

    def __init__(self, around: Around) -> None:
        self._around = around
        self._config = around.config
        self._build = build(around.config.defect)
        self._teller = around.teller
        self._pipeline = PipelineSpec(PIPELINE, {"most_bytes": around.room.largest_bytes})
        self._before = 0  # descriptors of this process
        self._settled: dict[int, int] = {}  # worker's process -> number of its files behind its first round

    def run(self, first: int) -> None:
        """Run rounds, from that number on, until it is told to stop."""
        with HostGroup(self._config.workers) as hosts, asyncio.Runner() as runner:
            runner.get_loop()  # needs descriptors, which there may be none of later
            self._before = _descriptors(os.getpid())
            for number in itertools.takewhile(lambda _: not self._around.stop.is_set(), itertools.count(first)):
                try:
                    self._round(self._draw(number), hosts, runner)
                except (OmniError, OSError) as error:  # it may be refused memory, or descriptors
                    sentence = f"{type(error).__name__}: {first_line(error)}"
                    self._teller.say(Failed(time.monotonic(), number, sentence))
                    self._end_lost(hosts, (*self._teller.said(), sentence))
                    self._around.stop.wait(_AGAIN_S)
                else:
                    self._end_lost(hosts, self._teller.said())
                self._teller.forget()

    def _draw(self, number: int) -> Plan:
        return draw(self._config, number, self._around.room, suspicious=self._around.ledger.get("suspicious"))

    def _round(self, plan: Plan, hosts: HostGroup, runner: asyncio.Runner) -> None:
        with runtimes(self._config, plan.number, record=plan.recorded) as made:
            config = msgspec.structs.replace(plan.engine, **made.workers)
            with self._build.engine(
                config, self._pipeline, hosts=hosts, rt=made.engine, parts=self._build.parts
            ) as engine:
                self._teller.say(Began(plan.number, engine.pids, plan.seconds, plan.recorded, str(plan)))
                runner.run(Round(plan, engine, self._around).run())
            del engine
        trim()
        if left := await_none(lambda: self._left(hosts)):
            self._teller.found("leftover", f"After {plan}, {left}.")
        self._teller.say(Ended(plan.number, _own_bytes(hosts)))

    def _end_lost(self, hosts: HostGroup, told: Sequence[str]) -> None:
        """End the processes of workers if their device is lost to one of them: it stays so, and others may have it."""
        if any(is_lost_to_process(self._config.device, sentence) for sentence in told):
            for pid in hosts.pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def _left(self, hosts: HostGroup) -> str:
        """Say what is still held of a round; nothing, if there is nothing."""
        left = []
        if (count := _descriptors(os.getpid())) > self._before:  # fewer, if a worker was killed
            left.append(f"the process of the engine has {count} descriptors, and had {self._before} before")
        if (count := segments()) > 1:  # that of the ledger
            left.append(f"it has {count - 1} segments mapped")
        if names := sorted(each.name for each in threading.enumerate() if not each.name.startswith(_LASTING)):
            left.append(f"it has threads that do not end: {', '.join(names)}")
        for rank, pid in enumerate(hosts.pids):
            if (found := held(pid)) is None:  # it was killed
                continue
            before = self._settled.setdefault(pid, len(found.files))
            if found.shared or len(found.files) > before:
                left.append(f"worker {rank} has open {', '.join(found.files)}, and had {before} of these before")
        return ", ".join(left)


def _descriptors(pid: int) -> int:
    found = held(pid)
    return len(found.files) if found is not None else -1


def _own_bytes(hosts: HostGroup) -> dict[str, int]:
    names = {"engine": os.getpid(), **{f"worker {rank}": pid for rank, pid in enumerate(hosts.pids)}}
    return {name: found.own for name, pid in names.items() if (found := held(pid)) is not None}


def _watch(stop: threading.Event) -> None:
    """Set an event once nobody wants anything more."""
    sys.stdin.read()
    stop.set()


def main() -> None:
    """Serve until standard input ends."""
    ledger_fd, pipe_fd = map(int, sys.argv[1:])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the soak's business
    stacks.answer()
    order = msgspec.json.decode(sys.stdin.readline(), type=Order)
    stop = threading.Event()
    threading.Thread(target=_watch, args=(stop,), name=f"{_LASTING[0]} for the end", daemon=True).start()
    with contextlib.closing(Ledger.attach(ledger_fd)) as ledger:
        Serving(Around(order.config, room(order.config), ledger, Teller(pipe_fd), stop)).run(order.number)


if __name__ == "__main__":
    main()
