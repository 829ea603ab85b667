"""The process of engine and clients, from outside: started, heard, looked at, and ended, whatever it does.

soak ── order ──────────────────► served.py: rounds of engine and clients ── HostGroup ──► workers
     ◄── Began, Told, … Ended ───
     ◄══ ledger ═════════════════
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

import msgspec

from omni_ipc.conformance.processes.leash import start_leashed
from omni_ipc.errors import EnvironmentMissing
from omni_ipc.signals import name_of
from omni_ipc.stress.ledger import Ledger
from omni_ipc.stress.messages import Message, Order
from omni_ipc.transport.liveness import stat_fields

_PIECE_BYTES = 1 << 16
_MALLOC = {"MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "131072"}
"""What is freed goes back to the machine at once: so it can be told from what is still held."""


class ServedProcess:
    """One process; a context manager that kills it, and with it its workers.

    Args:
        order: what it is to do.
        ledger: where it counts.
        log: what it and its workers print is added to this file.

    Raises:
        EnvironmentMissing: it cannot be started.
    """

    def __init__(self, order: Order, ledger: Ledger, log: Path) -> None:
        self._rest = b""
        hears, tells = os.pipe()
        self._hears = hears
        os.set_blocking(hears, False)
        try:
            with open(log, "ab") as out:
                self._process = start_leashed(
                    [sys.executable, "-m", "omni_ipc.stress.served", str(ledger.fd), str(tells)],
                    pass_fds=[ledger.fd, tells],
                    stdin=subprocess.PIPE,
                    stdout=out,
                    stderr=out,
                    text=True,
                    start_new_session=True,  # Ctrl-C is the soak's business
                    env={**os.environ, **_MALLOC, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                )
        except OSError as error:
            os.close(hears)
            raise EnvironmentMissing(
                f"The process of the engine cannot be started: {error.strerror}.",
                "Free memory, processes or descriptors: see `free -m` and `ulimit -a`.",
            ) from None
        finally:
            os.close(tells)
        self._say(msgspec.json.encode(order).decode())

    def __enter__(self) -> ServedProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """Its id."""
        return self._process.pid

    def hear(self, timeout_s: float) -> list[Message]:
        """Take in what it has said since, or says within that time."""
        select.select([self._hears], [], [], timeout_s)
        data = b""
        with contextlib.suppress(BlockingIOError):
            while piece := os.read(self._hears, _PIECE_BYTES):
                data += piece
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [msgspec.json.decode(line, type=Message) for line in lines]  # the rest is torn, if it was killed

    def ending(self) -> str | None:
        """Tell how it has ended; None while it lives."""
        status = self._process.poll()
        if status is None:
            return None
        return f"was killed by {name_of(-status)}" if status < 0 else f"ended with exit status {status}"

    @property
    def ended_well(self) -> bool:
        """Tell whether it has ended as it should."""
        return self._process.poll() == 0

    def stop(self) -> None:
        """Let it end behind the round that it is in."""
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()

    def close(self) -> None:
        """Kill it, if it still lives; the kernel kills its workers then."""
        self.stop()
        self._process.kill()
        self._process.wait()
        os.close(self._hears)

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it has ended; whoever listens is told
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()


def children(pid: int, among: Mapping[str, int]) -> dict[str, int]:
    """Give those processes that are children of another one, by name: an id may be somebody else's by now."""
    return {name: child for name, child in among.items() if _parent(child) == pid}


def _parent(pid: int) -> int | None:
    fields = stat_fields(str(pid))
    return None if fields is None else int(fields[1])
