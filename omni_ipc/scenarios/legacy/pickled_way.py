"""A pickled queue and its socket as the model Overflow sees them: a slot is a record, and so is a payload."""

from __future__ import annotations

from typing import Any

from omni_ipc.scenarios.legacy.pickled_queue import PickledQueue
from omni_ipc.scenarios.legacy.pickling import INLINE_BYTES, Pickled, loads
from omni_ipc.scenarios.legacy.pubsub import Socket
from omni_ipc.scenarios.ways import Records, Seen, number_of, record
from omni_ipc.scenarios.world import PendingStep
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.links import Delivery, Receiver, Sender
from omni_ipc.serving.messages import Reply


class PickledWay:
    """The historical way; it has slots for everything, and the k-th one is the k-th message's."""

    def __init__(
        self, rt: Runtime, overflow: Socket[Pickled], *, slot_bytes: int, inline_bytes: int = INLINE_BYTES
    ) -> None:
        self._overflow = overflow
        self._queue = _NotingQueue(rt=rt, overflow=overflow, slot_bytes=slot_bytes, inline_bytes=inline_bytes)
        self.sender: Sender[Reply] = self._queue.writer()
        self.receiver: Receiver[Reply] = self._queue

    def join(self) -> None:
        self._overflow.join()

    def begin(self) -> None:
        """Nothing is to be noted: slots are counted."""

    def look(self, pending: PendingStep, ended: int) -> Seen:
        action, fields = pending("reader") or ("", {})
        published = int(_way(pending("writer")) == "socket")
        slots: Any = self._queue._slots
        payloads: Any = self._overflow._way
        filled = ended + published
        return Seen(
            published=published,
            ways={
                "lane": tuple(record(number, 1) for number in range(filled - len(slots.queue) + 1, filled + 1)),
                "socket": tuple(record(number_of(loads(payload)[0]), 2) for payload in payloads.queue),
            },
            seen=int(action == "Reader.Take"),
            half=(record(self._queue.taken, 1),) if fields.get("way") == "socket" else (),
        )

    def origin(self, delivery: Delivery[Reply]) -> Records:
        slot, number = record(self._queue.taken, 1), number_of(delivery.message)
        return (slot, record(number, 2)) if self._queue.was_out_of_band else (slot,)


class _NotingQueue(PickledQueue[Reply]):
    """Knows how many slots were taken, and whether the payload of the last one came out of band."""

    taken = 0
    was_out_of_band = False

    def _slot(self, deadline: float) -> Pickled | None:
        slot = super()._slot(deadline)
        self.taken += 1
        self.was_out_of_band = False
        return slot

    def _payload(self, deadline: float) -> Pickled:
        payload = super()._payload(deadline)
        self.was_out_of_band = True
        return payload


def _way(step: tuple[str, Any] | None) -> object:
    return step[1].get("way") if step else None
