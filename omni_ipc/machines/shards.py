"""Programs on machines, each to its end: one whose machine is lost is run anew, on another if there is one."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from time import monotonic
from typing import NamedTuple

from omni_ipc.errors import Inconclusive, OmniError
from omni_ipc.machines.api import Event, Lost, Machines, Program, Said

_LOOK_S = 0.25
_PATIENCE_S = 10.0


class Retried(NamedTuple):
    """A program was lost, and begins anew: what it has said counts no more."""

    shard: int
    how: str


class Shards:
    """Runs programs; leaving the ``with`` asks those that still run to end, waits for a while, and kills the rest.

    Args:
        retries: how often one that was lost is run anew.
        patience_s: until those that were asked to end are killed.
    """

    def __init__(
        self, machines: Machines, programs: Sequence[Program], *, retries: int = 0, patience_s: float = _PATIENCE_S
    ) -> None:
        self._machines = machines
        self._programs = programs
        self._waiting = deque(range(len(programs)))
        self._running: set[int] = set()
        self._retries = retries
        self._patience_s = patience_s
        self._lost: Counter[int] = Counter()

    def __enter__(self) -> Shards:
        return self

    def __exit__(self, *_: object) -> None:
        for _event in self.stop():
            pass

    def events(self) -> Iterator[Event | Retried | None]:
        """Run all to their ends, and tell what they say; None, from time to time, if there is nothing to tell.

        Raises:
            Inconclusive: no machine is left for a program that has not run.
            UsageError: a program cannot be started.
        """
        while self._waiting or self._running:
            self._place()
            self._machines.wait(_LOOK_S)
            if not self._machines.heard:
                yield None
            while self._machines.heard:
                event = self._next()
                yield self._again(event) if isinstance(event, Lost) else event

    def stop(self) -> Iterator[Event]:
        """Ask those that run to end, and tell their last words; interrupted, it kills them."""
        self._waiting.clear()
        until = monotonic() + self._patience_s
        try:
            if self._running:
                self._machines.stop()
            while self._running and (left_s := until - monotonic()) > 0:
                self._machines.wait(0.0 if self._machines.heard else left_s)
                while self._machines.heard:
                    yield self._next()
        finally:
            self._running.clear()
            self._machines.kill()

    def _place(self) -> None:
        """Start what waits, where there is room."""
        while self._waiting and len(self._running) < len(self._machines):
            shard = self._waiting.popleft()
            self._running.add(shard)  # first: an interruption behind the next line must not forget it
            try:
                self._machines.start(shard, self._programs[shard])
            except OmniError:
                self._running.discard(shard)
                raise
        if self._waiting and not self._running:
            raise Inconclusive(
                f"No machine is left: {len(self._waiting)} of {len(self._programs)} shards have not run. See to the "
                "machines, and run it again."
            )

    def _next(self) -> Event:
        event = self._machines.heard[0]
        if not isinstance(event, Said):  # first: whoever is interrupted behind the next line must not wait for it
            self._running.discard(event.shard)
        self._machines.heard.popleft()
        return event

    def _again(self, lost: Lost) -> Lost | Retried:
        """Have a program that was lost run anew, unless that was done often enough."""
        self._lost[lost.shard] += 1
        if self._lost[lost.shard] > self._retries:
            return lost
        self._waiting.append(lost.shard)
        return Retried(lost.shard, lost.how)
