"""One reader of any number of lanes: it takes in turn, and sleeps when all are empty."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from omni_ipc.errors import FormatError, PeerClosed, Timeout
from omni_ipc.seam.api import Runtime
from omni_ipc.transport.bell import Bell
from omni_ipc.transport.framing import Message
from omni_ipc.transport.reader import LaneReader


class Port:
    """The lanes of one reader, and the doorbell that their writers ring."""

    def __init__(self, *, rt: Runtime, lanes: Sequence[LaneReader], doorbell: Bell) -> None:
        self._rt = rt
        self._lanes = deque(lanes)
        self._doorbell = doorbell
        self.closed = False

    @property
    def lanes(self) -> tuple[str, ...]:
        """Names of the lanes that may still bring something."""
        return tuple(lane.name for lane in self._lanes)

    def receive(self, timeout: float) -> tuple[str, Message]:
        """Take the next message, and tell the lane that it came on; no lane waits for another that is busy.

        Args:
            timeout: seconds; 0 only looks.

        Raises:
            Timeout: nothing came; nothing has changed.
            PeerClosed: a writer has closed its lane (told once, in order; `lanes` names the rest), or no lane is left,
                or this port was closed.
            FormatError: a lane's bytes disagree with the format (told once; the lane is left out from then on).

        Points: Reader.Look, Reader.Take, Bell.Park.
        """
        deadline = self._rt.now() + timeout
        while True:
            found = self._take()
            if found is not None:
                return found
            remaining = deadline - self._rt.now()
            if remaining <= 0:
                raise Timeout(
                    f"Nothing came on {', '.join(self.lanes)} within {timeout:g} s. "
                    "Wait longer, or look at the writers."
                )
            self._doorbell.sleep_unless(self._ready, remaining)

    def close(self) -> None:
        """Stop receiving; a receive that waits in another task ends at once. Idempotent."""
        self.closed = True
        self._doorbell.ring()

    def _take(self) -> tuple[str, Message] | None:
        if self.closed or not self._lanes:
            raise PeerClosed("The port was closed." if self.closed else "Every writer of the port has closed its lane.")
        while (lane := self._look()) is not None:
            self._lanes.remove(lane)
            self._lanes.append(lane)  # the last in turn
            try:
                message = lane.take()
            except (PeerClosed, FormatError):
                self._lanes.remove(lane)
                raise
            if message is not None:
                return lane.name, message
        return None

    def _look(self) -> LaneReader | None:
        with self._rt.region("Reader.Look"):
            return next((lane for lane in self._lanes if lane.ready()), None)

    def _ready(self) -> bool:
        return self.closed or any(lane.ready() for lane in self._lanes)
