"""Two batches whose outputs are larger than a record, sent by a worker that pauses between the pieces.

Meanwhile the engine's receive times out, again and again, in the middle of a message.

Here time passes, and nobody looks into the way; at the grain of the model Overflow it is `large_messages`.
"""

from __future__ import annotations

from omni_ipc.scenarios.launch import TaskLink, launch_worker
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.result_link import PAUSE_S
from omni_ipc.scenarios.world import CONFIG, EngineWorld, Launch, PendingStep
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.links import Sender
from omni_ipc.serving.messages import Reply

REQUESTS = ("1", "2")


class OverflowWorld(EngineWorld):
    """A dispatcher executes the batch; two consumers wait for its outputs."""

    def __init__(self, rt: Runtime, parts: Parts, launch: Launch | None = None) -> None:
        super().__init__(
            rt=rt,
            parts=parts,
            launch=launch or _launch,
            requests=REQUESTS,
            mint=lambda table: table.mint_batch(len(REQUESTS)),
        )

    def _engage(self) -> None:
        """One after the other: the race is on the link."""
        self._run_dispatcher()
        for output in self.outputs:
            self._consume(output)

    def project(self, pending: PendingStep) -> dict[str, object]:
        return {}


def _launch(rt: Runtime, parts: Parts) -> TaskLink:
    ends = parts.link().open(rt)
    replies = _Later(rt, ends.replies, after_s=PAUSE_S)
    outputs = _Later(rt, ends.outputs, after_s=CONFIG.poll_s)
    return launch_worker(rt, parts, replies=replies, outputs=outputs, results=ends.results)


class _Later:
    """A sender that begins when everybody else has come to rest."""

    def __init__(self, rt: Runtime, sender: Sender[Reply], *, after_s: float) -> None:
        self._rt = rt
        self._sender = sender
        self._after_s = after_s

    def send(self, message: Reply, payload: object = None) -> None:
        self._rt.sleep(self._after_s)
        self._sender.send(message, payload)

    def close(self) -> None:
        self._rt.sleep(self._after_s)
        self._sender.close()
