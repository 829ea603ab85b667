"""The ring in a small world, with what ties it to its model."""

from __future__ import annotations

import dataclasses

from ring import HastyRing, Ring

from omni_ipc.scenarios import Parts, Scenario
from omni_ipc.scenarios.world import PendingStep
from omni_ipc.seam.api import Runtime

ITEMS = ("a", "b", "c")
SIZE = 2


class RingWorld:
    """A producer for each item, which offers it until it is taken in; and a consumer, which polls until it has all."""

    ring = Ring

    def __init__(self, rt: Runtime, parts: Parts) -> None:
        self._rt = rt
        self._queue = self.ring(rt, SIZE)
        self._accepted: set[str] = set()
        self._polled: list[str] = []

    def run(self) -> list[str]:
        tasks = [self._rt.spawn(self._produce, item, name=f"producer {item}") for item in ITEMS]
        tasks.append(self._rt.spawn(self._consume, name="consumer"))
        for task in tasks:
            task.join()
        return self._polled

    def project(self, pending: PendingStep) -> dict[str, object]:
        """Give the model's variables."""
        return {"queue": self._queue.items(), "accepted": self._accepted, "polled": self._polled}

    def _produce(self, item: str) -> None:
        while not self._queue.offer(item):
            pass
        self._accepted.add(item)

    def _consume(self) -> None:
        while len(self._polled) < len(ITEMS):
            if (item := self._queue.poll()) is not None:
                self._polled.append(item)


class HastyWorld(RingWorld):
    """The same with the other ring."""

    ring = HastyRing


def ring() -> Scenario:
    """Tie the ring to its model."""
    return Scenario(
        name="ring",
        model="RingBuffer",
        world=RingWorld,
        tasks={"Producer": "producer {item}", "Consumer": "consumer"},
        steps=frozenset({*((f"producer {item}", "Producer.Offer") for item in ITEMS), ("consumer", "Consumer.Poll")}),
    )


def hasty() -> Scenario:
    """With the mistake that the walk is to find."""
    return dataclasses.replace(ring(), world=HastyWorld)
