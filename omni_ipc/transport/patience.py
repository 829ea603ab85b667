"""How a lane's writer waits for its reader: with a deadline, and no longer than the reader lives."""

from __future__ import annotations

import functools
from collections.abc import Callable

from omni_ipc.errors import PeerClosed, PeerDied
from omni_ipc.transport import liveness
from omni_ipc.transport.lane import Lane
from omni_ipc.transport.layout import READER_CLOSED, Side


class Patience:
    """The waits of one writer; what ended one ends all that come."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self._rt = lane.rt
        self._words = lane.words
        self._looks = liveness.Looks(lane.rt)
        self._end: Callable[[], PeerClosed | PeerDied] | None = None

    def until(self, ready: Callable[[], bool], deadline: float) -> bool:
        """Wait for something that the reader does, and tell whether it came in time; its death ends the wait.

        Spec: WriterLook
        """
        while True:
            with self._rt.region("Writer.Look", lane=self._lane.name):
                self._end = self._end or self._look_at_reader()
                done = ready()  # asked after the look: what the reader did before its end counts
            if done:
                return True
            if self._end is not None:
                raise self._end()
            remaining = deadline - self._rt.now()
            if remaining <= 0:
                return False
            self._lane.room_bell.sleep_unless(lambda: ready() or self._is_closed(), remaining)

    def _is_closed(self) -> bool:
        return bool(self._words.load(READER_CLOSED))

    def _look_at_reader(self) -> Callable[[], PeerClosed | PeerDied] | None:
        """Find out whether the reader will take nothing more."""
        if self._is_closed():
            return functools.partial(
                PeerClosed,
                f"Lane '{self._lane.name}' was closed by its reader before it took record {self._lane.counts().taken}; "
                "that record and those behind it are lost. Send no more on it.",
            )
        reader = self._lane.signature(Side.READER) if self._looks.due() else None
        if reader is None or (how := liveness.ending(reader)) is None:
            return None
        who = f"The reader of lane '{self._lane.name}', process {reader.pid},"
        return functools.partial(PeerDied, who, how, first_unread=self._lane.counts().taken)
