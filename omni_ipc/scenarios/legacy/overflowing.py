"""The way of pickled_queue.py between two processes: slots go by the worker's lanes, and larger payloads by datagrams.

send ─┬─ fits ────────► lane ────────────────────────► receive
      └─ is larger ─┬─► lane: a message without payload ─► receive ─┐
                    └─► datagram: message and payload ──────────────┴─► receive waits for it
"""

from __future__ import annotations

import os
from typing import Any

from omni_ipc.scenarios.legacy.datagrams import Publisher, Subscriber
from omni_ipc.scenarios.legacy.pickling import INLINE_BYTES, dumps, loads
from omni_ipc.scenarios.links import Packet
from omni_ipc.scenarios.result_link import PAUSE_S
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.links import Delivery, Receiver, Sender
from omni_ipc.serving.messages import OutputReady, Reply
from omni_ipc.serving.worker import Worker


class OverflowingWorker(Worker):
    """Announces its outputs by slots and datagrams.

    Attributes:
        pause_s: how long it takes from the slot to the payload.
        finds_subscriber: the engine has subscribed before anything is sent.
    """

    slot_bytes = 448  # one output of the scenario fits, with its message; a batch of two does not
    inline_bytes = INLINE_BYTES
    pause_s = 0.0
    finds_subscriber = False

    def __init__(self, *, rt: Runtime, outputs: Sender[Reply], **others: Any) -> None:
        super().__init__(rt=rt, outputs=_OverflowingSender(rt, outputs, self), **others)


class AggregatingWorker(OverflowingWorker):
    """Sets large arrays aside one by one."""

    inline_bytes = 192  # no single output is over it


class PausingWorker(OverflowingWorker):
    """Takes its time from the slot to the payload."""

    pause_s = PAUSE_S
    finds_subscriber = True


class _OverflowingSender:
    def __init__(self, rt: Runtime, lane: Sender[Reply], limits: OverflowingWorker) -> None:
        self._rt = rt
        self._lane = lane
        self._limits = limits
        self._publisher = Publisher(rt, os.getpid())

    def send(self, message: Reply, payload: Any = None) -> None:
        pickled = dumps((message, payload), self._limits.inline_bytes)
        if pickled.wire_bytes <= self._limits.slot_bytes:
            self._lane.send(message, payload)
            return
        self._lane.send(message)
        if self._limits.pause_s:
            self._rt.sleep(self._limits.pause_s)
        self._publisher.publish(pickled)

    def close(self) -> None:
        self._publisher.close()
        self._lane.close()


class OverflowingReceiver:
    """The engine's end of it.

    Args:
        lanes: the worker's.
    """

    def __init__(self, rt: Runtime, lanes: Receiver[Reply], subscriber: Subscriber) -> None:
        self._rt = rt
        self._lanes = lanes
        self._subscriber = subscriber

    def receive(self, timeout: float) -> Delivery[Reply]:
        deadline = self._rt.now() + timeout
        delivery = self._lanes.receive(timeout)
        if not isinstance(delivery.message, OutputReady):
            return delivery
        if (payload := delivery.unpack()) is not None:
            return Packet(delivery.message, payload)
        return Packet(*loads(self._subscriber.receive(deadline - self._rt.now())))

    def close(self) -> None:
        self._subscriber.close()
        self._lanes.close()
