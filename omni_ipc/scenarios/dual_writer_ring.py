"""Two writer contexts of one worker, each with a lane of its own: real lanes, over plain memory of this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from omni_ipc.records import Field
from omni_ipc.scenarios.launch import TaskLink, launch_worker
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.world import CONFIG, EngineWorld, Launch, PendingStep
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.messages import Reply
from omni_ipc.transport.bell import create_doorbell
from omni_ipc.transport.channel import Delivery, LaneSender, PortReceiver
from omni_ipc.transport.lane import Lane, lane_bytes
from omni_ipc.transport.layout import (
    DOORBELL_BYTES,
    LAST,
    READ_POSITION,
    RECORD,
    WRITE_POSITION,
    Kind,
    padded,
)
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.writer import LaneWriter

REQUEST = "1"
WRITERS = ("worker.main", "worker.output")
RING_BYTES = 4096
PLACES = len(WRITERS)  # each writer sends one message


class DualWriterRingWorld(EngineWorld):
    """A dispatcher executes a batch of one: two threads write its ComputeDone and its OutputReady.

    Whichever of the two is lost, the consumer is stranded: without the first, nobody splits the batch.
    """

    def __init__(self, rt: Runtime, parts: Parts, launch: Launch | None = None) -> None:
        self._lanes: dict[str, Lane] = {}
        self._sent = dict.fromkeys(WRITERS, 0)
        self._taken: dict[str, tuple[int, ...]] = dict.fromkeys(WRITERS, ())
        super().__init__(
            rt=rt,
            parts=parts,
            launch=launch or self._launch_over_lanes,
            requests=(REQUEST,),
            mint=lambda table: table.mint_batch(1),
        )

    def _launch_over_lanes(self, rt: Runtime, parts: Parts) -> TaskLink:
        self._lanes = {
            name: Lane.create(rt=rt, buffer=memoryview(bytearray(lane_bytes(RING_BYTES))), name=name)
            for name in WRITERS
        }
        doorbell = create_doorbell(rt=rt, buffer=memoryview(bytearray(DOORBELL_BYTES)))
        replies, outputs = (
            _NotingSender(LaneWriter(lane, doorbell=doorbell), timeout=CONFIG.output_timeout_s, note=self._note_sent)
            for lane in self._lanes.values()
        )
        readers = [LaneReader(lane) for lane in self._lanes.values()]
        results = _NotingReceiver(Port(rt=rt, lanes=readers, doorbell=doorbell), note=self._note_taken)
        return launch_worker(rt, parts, replies=replies, outputs=outputs, results=results)

    def _engage(self) -> None:
        """One after the other: the race is among the writers, and a crowd of readers would only multiply schedules."""
        self._run_dispatcher()
        for output in self.outputs:
            self._consume(output)

    def _why_silent(self) -> str:
        unused = [name for name, lane in self._lanes.items() if lane.counts().written == 0]
        return f": nothing was ever written to lane {unused[0]}, so its writer uses another's" if unused else ""

    def project(self, pending: PendingStep) -> dict[str, object]:
        """Project onto DualWriterRing; a place of the model is a message here, whatever its bytes."""
        return {
            "sent": self._sent,
            "taken": self._taken,
            "claim": {writer: self._claim(pending(writer)) for writer in WRITERS},
            "write": {name: _place(lane, lane.words.load(WRITE_POSITION)) for name, lane in self._lanes.items()},
            "read": {name: _place(lane, lane.words.load(READ_POSITION)) for name, lane in self._lanes.items()},
            "cells": {name: _cells(lane) for name, lane in self._lanes.items()},
        }

    def _note_sent(self, message: Reply) -> None:
        self._sent[_author(message)] += 1

    def _note_taken(self, message: Reply) -> None:
        author = _author(message)
        self._taken[author] = (*self._taken[author], len(self._taken[author]) + 1)

    def _claim(self, step: tuple[str, Mapping[str, Field]] | None) -> int:
        match step:
            case ("Writer.Publish", {"lane": str(lane), "position": int(position)}):
                return _place(self._lanes[lane], position)
        return 0


def _place(lane: Lane, position: int) -> int:
    """Number the place at a byte position: 1 is the first message's."""
    return 1 + len(list(_messages(lane, position)))


def _cells(lane: Lane) -> tuple[tuple[object, ...], ...]:
    """Tell who wrote each place: (writer, the how manieth of its messages), or ()."""
    written = [(_AUTHOR[kind], 1) for kind in _messages(lane, lane.words.load(WRITE_POSITION)) if kind in _AUTHOR]
    return tuple(written[place] if place < len(written) else () for place in range(PLACES))


def _messages(lane: Lane, end: int) -> Iterator[str]:
    """Read the tags of the messages in the ring, from its first byte; END has none."""
    position, tag = 0, ""
    while position < end:
        length, kind, flags, _, _ = RECORD.unpack(lane.read(position, RECORD.size))
        if kind == Kind.MESSAGE:
            envelope = msgspec.msgpack.decode(lane.read(position + RECORD.size, length))
            tag = envelope[0]["type"]
        position += padded(RECORD.size + length)
        if flags & LAST:
            yield tag


_AUTHOR = {"ComputeDone": "worker.main", "OutputReady": "worker.output"}


def _author(message: Reply) -> str:
    return _AUTHOR[type(message).__name__]


class _NotingSender(LaneSender[Reply]):
    """Tells of each message once it is published."""

    def __init__(self, writer: LaneWriter, *, timeout: float, note: Callable[[Reply], None]) -> None:
        super().__init__(writer, timeout=timeout)
        self._note = note

    def send(self, message: Reply, payload: Any = None) -> None:
        super().send(message, payload)
        self._note(message)


class _NotingReceiver(PortReceiver[Reply]):
    """Tells of each message once it is taken."""

    def __init__(self, port: Port, *, note: Callable[[Reply], None]) -> None:
        super().__init__(port, Reply)
        self._note = note

    def receive(self, timeout: float) -> Delivery[Reply]:
        delivery = super().receive(timeout)
        self._note(delivery.message)
        return delivery
