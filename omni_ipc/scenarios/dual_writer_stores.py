"""Two writers and the readers of their rings, at the grain of the model DualWriterStores: late stores are steps.

    worker.main ───► ring ───► its reader          each store to a ring is a step,
    worker.output ─► ring ───► its reader          and so is its arrival in memory

The world has the ends that a worker sends by, without its work. A reader that finds nothing looks anew when time has
passed: in a walk at once, as the model's does; and elsewhere not before the others have come as far as they can, for
until then it might look for ever, and find what it would have found by looking later for the first time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from omni_ipc.device.host import HostDevice
from omni_ipc.errors import LaneBroken, Timeout, UsageError
from omni_ipc.records import Field
from omni_ipc.scenarios.links import QueueLink
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.pipelines import ArrayPipeline
from omni_ipc.scenarios.stepped_ring import SteppedRing, message_of, name_of, place_at
from omni_ipc.scenarios.world import DELIVERED, END, Launch, OutputsLost, PendingStep
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.links import Sender
from omni_ipc.serving.messages import Command, OutputReady, Reply
from omni_ipc.transport.channel import LaneSender, PortReceiver
from omni_ipc.transport.port import Port

MESSAGES = {"worker.main": 2, "worker.output": 1}  # as many as make one be overtaken, if both write to one ring
WRITERS = tuple(MESSAGES)
PLACES = len(WRITERS) * max(MESSAGES.values())  # as the model counts them: room for everything
STEPS = frozenset(
    {
        *((writer, f"Writer.{verb}") for writer in WRITERS for verb in ("Claim", "Fill", "Count", "Advance")),
        *((f"reader of {ring}", f"Reader.{verb}") for ring in WRITERS for verb in ("Look", "Take")),
    }
)

_ANEW_S = 1.0
"""Virtual seconds until a reader looks again."""

_STANDS = {
    "Writer.Claim": "claim",
    "Writer.Fill": "fill",
    "Writer.Count": "count",
    "Writer.Advance": "advance",
}


class DualWriterStoresWorld:
    """Sends the messages of both writers, and receives until nothing more can come."""

    def __init__(self, rt: Runtime, parts: Parts, launch: Launch | None = None) -> None:
        if launch is not None:
            raise UsageError("Writers and readers of this scenario are tasks. Replay it there: --on controlled.")
        self._rt = rt
        self._sending = dict.fromkeys(WRITERS, 0)  # the number of the message that is being sent, or was sent last
        self._claims: dict[str, Mapping[str, Field]] = {writer: {"place": 0, "sequence": 0} for writer in WRITERS}
        self._through: list[str] = []  # the writers all of whose sends have returned
        self._taken: dict[str, tuple[tuple[str, int], ...]] = dict.fromkeys(WRITERS, ())
        self._how_far = dict.fromkeys(WRITERS, "there")
        with rt.region("Rings.Lay"):
            self._rings = {name: SteppedRing(rt, name, self) for name in WRITERS}
            self._senders = self._lend(parts)
            self._readers = {name: parts.reader(ring.lane) for name, ring in self._rings.items()}
            for ring in self._rings.values():
                ring.lane.words.fence()

    def run(self) -> Sequence[tuple[str, str]]:
        """Run to the end.

        Returns:
            How it ended for each message.

        Raises:
            OutputsLost: not all of them were received, once and in their order.
        """
        writers = [self._rt.spawn(self._write, writer, name=writer) for writer in WRITERS]
        readers = [self._rt.spawn(self._read, ring, name=f"reader of {ring}") for ring in WRITERS]
        for task in (*writers, *readers):
            task.join()
        with self._rt.region(END):
            pass
        sent = {ring: tuple((ring, 1 + number) for number in range(count)) for ring, count in MESSAGES.items()}
        if self._taken != sent:
            raise OutputsLost(f"{sent} was sent, and received: {self._taken}")
        return [(f"{writer} {number}", DELIVERED) for messages in sent.values() for writer, number in messages]

    def project(self, pending: PendingStep) -> Mapping[str, object]:
        """Project onto the variables of DualWriterStores."""
        at = {writer: _STANDS.get((pending(writer) or ("",))[0]) for writer in WRITERS}
        return {
            "at": {writer: stand or "claim" for writer, stand in at.items()},
            "claim": {writer: self._claim(writer, pending(writer)) for writer in WRITERS},
            "sent": {writer: number - (at[writer] is not None) for writer, number in self._sending.items()},
            "cells": {name: ring.records(PLACES) for name, ring in self._rings.items()},
            "count": {name: ring.count for name, ring in self._rings.items()},
            "write": {name: ring.write for name, ring in self._rings.items()},
            "seen": {name: place_at(reader._seen) for name, reader in self._readers.items()},
            "read": {name: place_at(reader._position) for name, reader in self._readers.items()},
            "taken": self._taken,
            "reader": self._how_far,
        }

    def accessed(self, action: str, fields: Mapping[str, Field]) -> None:
        """Hear of a store to a ring."""
        if action == "Writer.Fill":
            self._claims[str(fields["writer"])] = _claim_of(fields)

    def timed_out(self) -> None:
        """Hear nothing: no sleep is a step here."""

    def cell(self, place: Mapping[str, Field]) -> str | None:
        """Name what a store changes, if it is one of a writer to a ring."""
        return next(filter(None, (ring.cell(place) for ring in self._rings.values())), None)

    def _lend(self, parts: Parts) -> dict[str, Sender[Reply]]:
        """Make a worker, and borrow the ends that its two threads send by."""
        replies, outputs = (
            LaneSender[Reply](parts.writer(ring.lane, doorbell=ring.doorbell), timeout=0)
            for ring in self._rings.values()
        )
        requests: QueueLink[Command] = QueueLink(rt=self._rt)
        worker = parts.worker(
            rt=self._rt,
            requests=requests,
            replies=replies,
            outputs=outputs,
            pipeline=ArrayPipeline(),
            device=HostDevice(),
        )
        return dict(zip(WRITERS, (worker._replies, worker._announcer._lane), strict=True))

    def _claim(self, writer: str, step: tuple[str, Mapping[str, Field]] | None) -> Mapping[str, Field]:
        """Tell the place and number of the record that a writer is about to store, or stored last."""
        match step:
            case ("Writer.Fill", fields):
                return _claim_of(fields)
        return self._claims[writer]

    def _write(self, writer: str) -> None:
        for number in range(1, MESSAGES[writer] + 1):
            self._sending[writer] = number
            self._senders[writer].send(OutputReady(name_of(writer, number), split=False))
        self._through.append(writer)

    def _read(self, ring: str) -> None:
        port = Port(rt=self._rt, lanes=[self._readers[ring]], doorbell=self._rings[ring].doorbell)
        receiver: PortReceiver[Any] = PortReceiver(port, Reply)
        while self._how_far[ring] == "there":
            self._receive(ring, receiver)

    def _receive(self, ring: str, receiver: PortReceiver[Any]) -> None:
        try:
            message = receiver.receive(0).message
        except Timeout:
            if len(self._through) == len(WRITERS):
                self._how_far[ring] = "done"
            else:
                self._rt.sleep(_ANEW_S)
        except LaneBroken:
            self._how_far[ring] = "broken"
        else:
            self._taken[ring] += (message_of(message.output),)


def _claim_of(fields: Mapping[str, Field]) -> Mapping[str, Field]:
    return {name: fields[name] for name in ("place", "sequence")}
