"""Defects of the way of large results: a pickled queue, and a socket for what is larger than its slots."""

from __future__ import annotations

from omni_ipc.scenarios.legacy.datagrams import Subscriber
from omni_ipc.scenarios.legacy.overflowing import (
    AggregatingWorker,
    OverflowingReceiver,
    OverflowingWorker,
    PausingWorker,
)
from omni_ipc.scenarios.legacy.pickled_queue import PickledQueue
from omni_ipc.scenarios.legacy.pickled_way import PickledWay
from omni_ipc.scenarios.legacy.pickling import Pickled
from omni_ipc.scenarios.legacy.pubsub import Socket
from omni_ipc.scenarios.result_link import Ends, ResultLink
from omni_ipc.scenarios.ways import Way
from omni_ipc.scenarios.world import CONFIG
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.messages import Reply
from omni_ipc.serving.workers import HostedWorkers


class _Overflowing(ResultLink):
    """Goes by the sizes, and the times, of the worker that does the same from a process of its own."""

    worker: type[OverflowingWorker]

    def open(self, rt: Runtime) -> Ends:
        overflow: Socket[Pickled] = Socket(rt=rt)
        self._join(rt, overflow)
        queue: PickledQueue[Reply] = PickledQueue(
            rt=rt,
            overflow=overflow,
            slot_bytes=self.worker.slot_bytes,
            inline_bytes=self.worker.inline_bytes,
            pause_s=self.worker.pause_s,
        )
        return Ends(queue.writer(), queue.writer(), queue)

    def lay(self, rt: Runtime) -> Way:
        finds_subscriber = self.worker.finds_subscriber
        overflow: Socket[Pickled] = Socket(rt=rt, high_water=int(not finds_subscriber))
        if finds_subscriber:
            overflow.join()
        return PickledWay(rt, overflow, slot_bytes=self.worker.slot_bytes, inline_bytes=self.worker.inline_bytes)

    def attach(self, rt: Runtime, link: HostedWorkers) -> None:
        subscriber = Subscriber(rt, *link.pids)
        self._join(rt, subscriber)
        link.results = OverflowingReceiver(rt, link.results, subscriber)

    def _join(self, rt: Runtime, overflow: Socket[Pickled] | Subscriber) -> None:
        """Subscribe at once, or at the moment at which the output is published: in either order."""
        if self.worker.finds_subscriber:
            overflow.join()
        else:
            rt.spawn(_join_late, rt, overflow, name="subscriber")


class LossyOverflow(_Overflowing):
    """Sends what is larger than a slot by PUB/SUB, which drops it unless the subscriber has joined."""

    worker = OverflowingWorker


class TimeoutConsumes(_Overflowing):
    """Takes the slot of a large message, and lets go of it when the wait for its payload times out."""

    worker = PausingWorker


class AggregateOverflow(_Overflowing):
    """Sends large values aside one by one, so that many just under the threshold overflow a slot, onto PUB/SUB."""

    worker = AggregatingWorker


def _join_late(rt: Runtime, overflow: Socket[Pickled] | Subscriber) -> None:
    rt.sleep(CONFIG.poll_s)
    overflow.join()
