"""A writer and a reader of messages in pieces, at the grain of the model Overflow: nobody waits, and each look decides.

writer ─ claim, publish, a record at a time ─► way ─ look, take ─► reader

One message is large only as a whole, one has a large array, and one is small. A writer without room is told Full; a
reader who finds nothing is told Timeout, and asks again until the writer is through.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from omni_ipc.errors import Full, Timeout, UsageError
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.ways import Records, name_of, number_of
from omni_ipc.scenarios.world import DELIVERED, END, Launch, OutputsLost, PendingStep
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.messages import OutputReady

ARRAYS_BYTES = {1: (170, 170), 2: (360,), 3: ()}
SENT, FULL = "sent", "full"

_WRITER = {"Writer.Look": "look", "Writer.Publish": "publish"}


class LargeMessagesWorld:
    """Sends each message once, and receives until nothing more can come."""

    def __init__(self, rt: Runtime, parts: Parts, launch: Launch | None = None) -> None:
        if launch is not None:
            raise UsageError("The writer of this scenario is a task of its own. Replay it there: --on controlled.")
        self._rt = rt
        self._way = parts.link().lay(rt)
        self._outcomes: dict[int, str] = {}
        self._got: list[Records] = []
        self._received: dict[int, bool] = {}  # message -> whether its bytes were its own
        self._reader = "absent"

    def run(self) -> Sequence[tuple[str, str]]:
        """Run to the end.

        Returns:
            How it ended for each message.

        Raises:
            OutputsLost: what was sent did not arrive, or otherwise than it was sent.
        """
        for task in (self._rt.spawn(self._write, name="writer"), self._rt.spawn(self._read, name="reader")):
            task.join()
        with self._rt.region(END):
            pass
        sent = [number for number, outcome in self._outcomes.items() if outcome == SENT]
        if [*self._received] != sent or not all(self._received.values()):
            raise OutputsLost(f"the messages {sent} were sent, and received: {self._received or 'none'}")
        return [(str(number), DELIVERED if number in sent else FULL) for number in self._outcomes]

    def project(self, pending: PendingStep) -> Mapping[str, object]:
        """Project onto the variables of Overflow."""
        ended = len(self._outcomes)
        seen = self._way.look(pending, ended)
        return {
            "next": {"message": ended + 1, "published": seen.published},
            "writer": _WRITER.get((pending("writer") or ("",))[0], "claim"),
            "ways": seen.ways,
            "outcome": tuple(self._outcomes.get(number, "none") for number in ARRAYS_BYTES),
            "reader": self._reader,
            "seen": seen.seen,
            "half": seen.half,
            "got": tuple(self._got),
        }

    def _write(self) -> None:
        for number, sizes in ARRAYS_BYTES.items():
            self._way.begin()
            payload = [np.full(nbytes, number, np.uint8) for nbytes in sizes]
            try:
                self._way.sender.send(OutputReady(name_of(number), split=False), payload or None)
            except Full:
                self._outcomes[number] = FULL
            else:
                self._outcomes[number] = SENT

    def _read(self) -> None:
        """Attach, and receive until nothing more can come.

        Spec: ReaderJoin
        """
        with self._rt.region("Reader.Join"):
            self._way.join()
            self._reader = "there"
        while self._reader == "there":
            self._receive()

    def _receive(self) -> None:
        try:
            delivery = self._way.receiver.receive(0)
        except Timeout:
            if len(self._outcomes) == len(ARRAYS_BYTES):
                self._reader = "done"
            return
        number = number_of(delivery.message)
        self._got.append(self._way.origin(delivery))
        arrays = delivery.unpack() or []
        intact = tuple(map(len, arrays)) == ARRAYS_BYTES[number] and all(set(array) == {number} for array in arrays)
        self._received[number] = intact and number not in self._received
