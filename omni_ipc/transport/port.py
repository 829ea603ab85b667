"""One reader of any number of lanes: it takes in turn, and sleeps when all are empty."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import NoReturn

from omni_ipc.errors import LaneBroken, PeerClosed, PeerDied, Timeout, UsageError
from omni_ipc.seam.api import Runtime
from omni_ipc.transport.assembly import Message
from omni_ipc.transport.bell import Bell
from omni_ipc.transport.liveness import LOOK_EVERY_S, Looks
from omni_ipc.transport.reader import LaneReader

_IN_A_ROW = 64  # messages that may keep an event loop from its other tasks, and a port from looking at its writers
_LOOKS_A_TIME = 16  # between two looks at the clock
MOST_AT_ONCE = 256  # messages that one `receive_many` gives


class Port:
    """The lanes of one reader, and the doorbell that their writers ring.

    One task receives; a second one that is met in the middle of a receive is refused.
    """

    def __init__(self, *, rt: Runtime, lanes: Sequence[LaneReader], doorbell: Bell, spin_s: float = 0.0) -> None:
        """Read lanes.

        Args:
            rt: this process's runtime.
            lanes: the first ones; `add` brings more.
            doorbell: that their writers ring.
            spin_s: seconds that a receive looks again and again before it sleeps. It saves the time of a wake-up where
                a core is free for it, and costs more than that where none is; in controlled time it never ends.
        """
        self._rt = rt
        self._spin_s = spin_s
        self._lanes = deque(lanes)
        self._added: deque[LaneReader] = deque()
        self._doorbell = doorbell
        self._looks = Looks(rt)
        self._receiving = False
        self._takes = 0
        self._received = 0  # in an event loop
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
            LaneBroken: a lane's bytes disagree with the format (told once; the lane is left out from then on).
            UsageError: another task receives.

        Points: Reader.Look, Reader.Take, Bell.Park.
        """
        lane, messages = self._receive(1, timeout)
        return lane, messages[0]

    def receive_many(self, timeout: float) -> tuple[str, list[Message]]:
        """Take the next messages of one lane, at least one and at most 256: far less work for each of them.

        Raises:
            See `receive`; what came before the end of a lane is given first.

        Points: See `receive`.
        """
        return self._receive(MOST_AT_ONCE, timeout)

    async def receive_async(self, timeout: float = math.inf) -> tuple[str, Message]:
        """Do as `receive` does, in an event loop; the doorbell must have an eventfd.

        A task that is cancelled here has taken nothing.

        Raises:
            See `receive`.
        """
        from omni_ipc.transport import asyncio_bell  # asyncio doubles the start of a process that does without

        deadline = self._rt.now() + timeout
        if self._receiving:
            self._refuse()
        self._receiving = True
        try:
            self._received += 1
            if self._received % _IN_A_ROW == 0:
                await asyncio_bell.let_others_run()
            while (found := self._take(1)) is None:
                await asyncio_bell.sleep_unless(self._doorbell, self._ready, self._remaining(deadline, timeout))
            lane, (message,) = found
            return lane, message
        finally:
            self._receiving = False

    def close(self) -> None:
        """Stop receiving: a receive that waits in another task, and writers that wait, end at once. Idempotent."""
        with self._rt.region("Port.Close"):
            self.closed = True
            for lane in (*self._lanes, *self._added):
                lane.close()
            self._doorbell.ring()

    def _receive(self, most: int, timeout: float) -> tuple[str, list[Message]]:
        if self._receiving:
            self._refuse()
        self._receiving = True
        try:
            return self._take(most) or self._await(most, timeout)
        finally:
            self._receiving = False

    def _await(self, most: int, timeout: float) -> tuple[str, list[Message]]:
        begun = self._rt.now()  # the clock is asked only by who waits
        while True:
            self._wait(begun, timeout)
            if (found := self._take(most)) is not None:
                return found

    def _wait(self, begun: float, timeout: float) -> None:
        """Spin or sleep until something may have come."""
        remaining = self._remaining(begun + timeout, timeout)
        if self._spin_s and (left := begun + self._spin_s - self._rt.now()) > 0:
            self._spin(min(left, remaining, LOOK_EVERY_S))
        else:
            self._doorbell.sleep_unless(self._ready, remaining)

    def _spin(self, seconds: float) -> None:
        now, ready = self._rt.now, self._ready
        end = now() + seconds
        while now() < end:
            for _ in range(_LOOKS_A_TIME):
                if ready():
                    return

    def _refuse(self) -> NoReturn:
        raise UsageError(
            f"Two tasks receive from the port of {', '.join(self.lanes)} at once, and it has one reader. "
            "Let one receive and hand on, or give each a port of its own."
        )

    def _remaining(self, deadline: float, timeout: float) -> float:
        remaining = deadline - self._rt.now()
        if remaining <= 0:
            raise Timeout(
                f"Nothing came on {', '.join(self.lanes) or 'any lane'} within {timeout:g} s. "
                "Wait longer, or look at the writers."
            )
        return remaining

    def _take(self, most: int) -> tuple[str, list[Message]] | None:
        if self._added or self.closed or not self._lanes:
            self._review()
        if len(self._lanes) > 1:
            self._look_behind_busy_lanes()
        while (lane := self._look() or self._look_at_writers()) is not None:
            if lane is not self._lanes[-1]:
                self._lanes.remove(lane)
                self._lanes.append(lane)  # the last in turn
            try:
                messages = lane.take_many(most)
            except (PeerClosed, PeerDied, LaneBroken):
                self._lanes.remove(lane)
                raise
            if messages:
                return lane.name, messages
        return None

    def _look_behind_busy_lanes(self) -> None:
        """Look at the writers now and then, though there is always something to take."""
        self._takes += 1
        if self._takes % _IN_A_ROW == 0:
            self._look_at_writers()

    def _review(self) -> None:
        while self._added:
            self._lanes.append(self._added.popleft())
        if self.closed or (not self._lanes and self.ended):
            raise PeerClosed("The port was closed." if self.closed else "Every writer of the port has ended.")

    def _look(self) -> LaneReader | None:
        """Find the next lane in turn that has something.

        Spec: ReaderLook
        """
        if self._lanes and self._lanes[0].has_more:  # was seen before: nothing is asked of shared memory
            return self._lanes[0]
        with self._rt.region("Reader.Look"):
            for lane in self._lanes:
                if lane.ready():
                    return lane
            return None

    def _look_at_writers(self) -> LaneReader | None:
        """See which writers have died, now and then; then find the next lane in turn that tells of one."""
        if not self._looks.due():
            return None
        for lane in self._lanes:
            lane.look_at_writer()
        return next((lane for lane in self._lanes if lane.has_more), None)

    def _ready(self) -> bool:
        for lane in self._lanes:
            if lane.ready():
                return True
        return self.closed or bool(self._added)
