"""Processes of this machine, one a place."""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import sys
from collections import deque
from typing import IO

from omni_ipc.errors import UsageError
from omni_ipc.interrupts import postponed
from omni_ipc.machines.api import Ended, Event, Lost, Program, Said
from omni_ipc.signals import name_of


class _Process:
    """One program that runs."""

    def __init__(self, shard: int, process: subprocess.Popen[bytes], out: IO[bytes]) -> None:
        self.shard = shard
        self.process = process
        self.out = out
        self._rest = b""

    def hear(self) -> list[Event]:
        """Take in what it has said, or how it has ended."""
        data = self.out.read()
        if data is None:
            return []
        if not data:
            return [self._end()]
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [Said(self.shard, line) for line in lines]

    def _end(self) -> Event:
        status = self.process.wait()
        self.out.close()
        if status >= 0:
            return Ended(self.shard, status)
        return Lost(self.shard, f"its process was ended by {name_of(-status)}")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.out.close()


class LocalMachines:
    """Processes of this machine; none outlives it.

    Args:
        places: programs that run at a time.
    """

    def __init__(self, places: int) -> None:
        self.path = tuple(sys.path)
        self.heard: deque[Event] = deque()
        self._places = places
        self._running: dict[int, _Process] = {}  # by shard
        self._selector = selectors.DefaultSelector()

    def __len__(self) -> int:
        return self._places

    def __str__(self) -> str:
        return f"{self._places} process{'es' if self._places != 1 else ''} of this machine"

    def start(self, shard: int, program: Program) -> None:
        """Run a program, which prints where this process does.

        Raises:
            UsageError: it cannot be started.
        """
        with postponed():
            try:
                process = subprocess.Popen(
                    [sys.executable, "-m", program.module],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                    process_group=0,  # the terminal's Ctrl-C is for the starter alone, whatever a program is doing then
                )
            except OSError as error:
                raise UsageError(f"No process can be started: {error}. Run fewer at a time.") from None
            assert process.stdin is not None
            assert process.stdout is not None
            running = self._running[shard] = _Process(shard, process, process.stdout)
            with contextlib.suppress(BrokenPipeError), process.stdin:  # one that is gone is told by how it ended
                process.stdin.write(program.order)
            os.set_blocking(process.stdout.fileno(), False)
            self._selector.register(process.stdout, selectors.EVENT_READ, running)

    def wait(self, timeout_s: float) -> None:
        ready = self._selector.select(timeout_s)
        with postponed():  # what was read must be kept
            for key, _ in ready:
                heard = key.data.hear()
                if any(not isinstance(event, Said) for event in heard):
                    self._selector.unregister(key.fileobj)
                    del self._running[key.data.shard]
                self.heard += heard

    def stop(self) -> None:
        for running in self._running.values():
            running.process.terminate()

    def kill(self) -> None:
        self.heard.clear()
        while self._running:
            with postponed():
                _, running = self._running.popitem()
                self._selector.unregister(running.out)
                running.kill()

    def close(self) -> None:
        self.kill()
        self._selector.close()
