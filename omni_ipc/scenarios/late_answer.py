"""An answer that comes just when its call times out, and the call after it: neither may be taken for the other's.

dispatcher ─ echo(1) ─────────────────► worker: answers as late as the dispatcher waits
dispatcher ◄─ [1], or Timeout
dispatcher ─ echo(2) ─────────────────► worker: answers at once
dispatcher ◄─ [2]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omni_ipc.errors import OmniError, Timeout
from omni_ipc.scenarios.answering import AnsweringWorker
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.world import CONFIG, DELIVERED, EngineWorld, Launch, PendingStep
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.links import WorkerLink
from omni_ipc.serving.messages import Call, Command, Returned
from omni_ipc.serving.outputs import OutputTable

TIMED_OUT = "it timed out"


class EchoingWorker(AnsweringWorker):
    """Returns what it is called with; the first time late."""

    _late = True

    def send(self, message: Command, payload: Any = None) -> None:
        if not isinstance(message, Call):
            super().send(message, payload)
        elif self._late:
            self._late = False
            self._announcing.append(self._rt.spawn(self._answer_late, message, name="worker.main"))
        else:
            self._answer(message)

    def _answer_late(self, call: Call) -> None:
        self._rt.sleep(CONFIG.rpc_timeout_s)
        self._answer(call)

    def _answer(self, call: Call) -> None:
        with self._rt.region("Worker.Return", rpc=call.rpc):
            self._replies.send(Returned(call.rpc, call.epoch, 0, call.arguments["value"]))


class LateAnswerWorld(EngineWorld):
    """A dispatcher executes a request, and then calls twice."""

    def __init__(self, rt: Runtime, parts: Parts, launch: Launch | None = None) -> None:
        super().__init__(rt=rt, parts=parts, launch=launch or _launch, requests=("r",), mint=OutputTable.mint)

    def _run_dispatcher(self) -> None:
        super()._run_dispatcher()
        for value in (1, 2):
            self._endings[f"echo({value})"] = self._echo(value)

    def _engage(self) -> None:
        """One after the other: the race is between answers and calls."""
        self._run_dispatcher()
        for output in self.outputs:
            self._consume(output)

    def _echo(self, value: int) -> str:
        try:
            (answer,) = self.executor.call("echo", value=value)
        except Timeout as error:
            return TIMED_OUT if value == 1 else str(error)
        except OmniError as error:
            return str(error)
        return DELIVERED if answer == value else f"it got the answer {answer}"

    def _is_well(self, ending: str) -> bool:
        return ending in (DELIVERED, TIMED_OUT)

    def project(self, pending: PendingStep) -> Mapping[str, object]:
        return {}


def _launch(rt: Runtime, _: Parts) -> WorkerLink:
    return EchoingWorker(rt)
