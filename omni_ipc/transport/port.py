"""One reader of any number of lanes: it takes in turn, and sleeps when all are empty."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence

from omni_ipc.errors import FormatError, PeerClosed, PeerDied, Timeout, UsageError
from omni_ipc.seam.api import Runtime
from omni_ipc.transport.bell import Bell
from omni_ipc.transport.framing import Message
from omni_ipc.transport.liveness import Looks
from omni_ipc.transport.reader import LaneReader

_IN_A_ROW = 64  # messages that an event loop is kept from its other tasks by


class Port:
    """The lanes of one reader, and the doorbell that their writers ring.

    One task receives; a second one that is met in the middle of a receive is refused.
    """

    def __init__(self, *, rt: Runtime, lanes: Sequence[LaneReader], doorbell: Bell) -> None:
        self._rt = rt
        self._lanes = deque(lanes)
        self._added: deque[LaneReader] = deque()
        self._doorbell = doorbell
        self._looks = Looks(rt)
        self._receiving = False
        self._received = 0
        self.growing = False  # more lanes may come, so that having none is no end
        self.closed = False

    @property
    def lanes(self) -> tuple[str, ...]:
        """Names of the lanes that may still bring something."""
        return tuple(lane.name for lane in (*self._lanes, *self._added))

    @property
    def ended(self) -> bool:
        """Tell whether nothing will come any more."""
        return self.closed or not (self.growing or self._lanes or self._added)

    def add(self, lane: LaneReader) -> None:
        """Read one more lane from now on; for any task, also while another one receives."""
        self._added.append(lane)
        self._doorbell.ring()

    def receive(self, timeout: float) -> tuple[str, Message]:
        """Take the next message, and tell the lane that it came on; no lane waits for another that is busy.

        Args:
            timeout: seconds; 0 only looks.

        Raises:
            Timeout: nothing came; nothing has changed.
            PeerClosed: a writer has closed its lane (told once, in order; `lanes` names the rest), or no lane is left,
                or this port was closed.
            PeerDied: a writer has died, and everything that it had published was taken (told once, as above).
            FormatError: a lane's bytes disagree with the format (told once; the lane is left out from then on).
            UsageError: another task receives.

        Points: Reader.Look, Reader.Take, Bell.Park.
        """
        deadline = self._rt.now() + timeout
        self._begin()
        try:
            while (found := self._take()) is None:
                self._doorbell.sleep_unless(self._ready, self._remaining(deadline, timeout))
            return found
        finally:
            self._receiving = False

    async def receive_async(self, timeout: float = math.inf) -> tuple[str, Message]:
        """Do as `receive` does, in an event loop; the doorbell must have an eventfd.

        A task that is cancelled here has taken nothing.

        Raises:
            See `receive`.
        """
        from omni_ipc.transport import asyncio_bell  # asyncio doubles the start of a process that does without

        deadline = self._rt.now() + timeout
        self._begin()
        try:
            self._received += 1
            if self._received % _IN_A_ROW == 0:
                await asyncio_bell.let_others_run()
            while (found := self._take()) is None:
                await asyncio_bell.sleep_unless(self._doorbell, self._ready, self._remaining(deadline, timeout))
            return found
        finally:
            self._receiving = False

    def close(self) -> None:
        """Stop receiving: a receive that waits in another task, and writers that wait, end at once. Idempotent."""
        with self._rt.region("Port.Close"):
            self.closed = True
            for lane in (*self._lanes, *self._added):
                lane.close()
            self._doorbell.ring()

    def _begin(self) -> None:
        if self._receiving:
            raise UsageError(
                f"Two tasks receive from the port of {', '.join(self.lanes)} at once, and it has one reader. "
                "Let one receive and hand on, or give each a port of its own."
            )
        self._receiving = True

    def _remaining(self, deadline: float, timeout: float) -> float:
        remaining = deadline - self._rt.now()
        if remaining <= 0:
            raise Timeout(
                f"Nothing came on {', '.join(self.lanes) or 'any lane'} within {timeout:g} s. "
                "Wait longer, or look at the writers."
            )
        return remaining

    def _take(self) -> tuple[str, Message] | None:
        while self._added:
            self._lanes.append(self._added.popleft())
        if self.ended:
            raise PeerClosed("The port was closed." if self.closed else "Every writer of the port has ended.")
        if self._looks.due():
            for each in self._lanes:
                each.look_at_writer()
        while (lane := self._look()) is not None:
            self._lanes.remove(lane)
            self._lanes.append(lane)  # the last in turn
            try:
                message = lane.take()
            except (PeerClosed, PeerDied, FormatError):
                self._lanes.remove(lane)
                raise
            if message is not None:
                return lane.name, message
        return None

    def _look(self) -> LaneReader | None:
        with self._rt.region("Reader.Look"):
            return next((lane for lane in self._lanes if lane.ready()), None)

    def _ready(self) -> bool:
        return self.closed or bool(self._added) or any(lane.ready() for lane in self._lanes)
