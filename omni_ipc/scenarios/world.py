"""The world of the scenarios: one engine, one worker, and a consumer for each output.

dispatcher ─ execute ─► worker.main ─► worker.output
                           │ComputeDone     │OutputReady
consumers ◄─ futures ◄─── pump ◄────────────┘
"""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from omni_ipc.errors import OmniError
from omni_ipc.records import Field
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.pipelines import is_output_of
from omni_ipc.seam.api import Future, Runtime
from omni_ipc.serving.config import ServingConfig
from omni_ipc.serving.executor import Executor
from omni_ipc.serving.links import Receiver, Sender
from omni_ipc.serving.messages import Reply, Request

DELIVERED = "delivered"

CONFIG = ServingConfig(output_timeout_s=1.0, rpc_timeout_s=1.0, shutdown_timeout_s=1.0, poll_s=0.1)
"""Waits short enough to end a stranded consumer at once; no live schedule comes near them."""


@dataclasses.dataclass(frozen=True, slots=True)
class WorkerLink:
    """A running worker, as the engine sees it.

    Args:
        death: the error to report once the worker is dead.
        join: waits until a worker that was told to stop has ended.
    """

    requests: Sender[Request]
    results: Receiver[Reply]
    death: Callable[[], OmniError | None] = lambda: None
    join: Callable[[], None] = lambda: None


Launch = Callable[[Runtime, Parts], WorkerLink]
"""Starts a worker: as tasks of this runtime, or as a process."""


PendingStep = Callable[[str], tuple[str, Mapping[str, Field]] | None]
"""What a task, named, will do next: (action, fields); a program counter."""


class OutputsLost(AssertionError):
    """Some consumers did not get what they asked for; one line each."""


class EngineWorld(abc.ABC):
    """Runs a dispatcher and a consumer for each output, and judges what the consumers got.

    Args:
        outputs: the request behind each output id.
        dispatch: sends the work, and returns when all is computed.
    """

    def __init__(
        self,
        *,
        rt: Runtime,
        parts: Parts,
        launch: Launch,
        outputs: Mapping[str, str],
        dispatch: Callable[[Executor], object],
    ) -> None:
        self._rt = rt
        self.outputs = outputs
        self._dispatch = dispatch
        self.table = parts.table(rt=rt)
        self.link = launch(rt, parts)
        self.executor = Executor(
            rt=rt,
            requests=self.link.requests,
            results=self.link.results,
            table=self.table,
            config=CONFIG,
            pump=parts.pump,
            death=self.link.death,
        )
        self.futures: dict[str, Future[Any]] = {}
        self._endings: dict[str, str] = {}

    def run(self) -> Sequence[tuple[str, str]]:
        """Run to the end.

        Returns:
            How it ended for each output, and for the dispatcher.

        Raises:
            OutputsLost: not every output was delivered, byte for byte.
        """
        self.executor.start()
        self._engage()
        left = self.table.describe()
        if not self.executor.shutdown():
            self._endings["worker"] = (
                f"it did not say goodbye within {CONFIG.shutdown_timeout_s:g} s{self._why_silent()}"
            )
        self.link.join()
        endings = tuple(sorted(self._endings.items()))
        if lost := [f"{who}: {ending}" for who, ending in endings if ending != DELIVERED]:
            raise OutputsLost("\n".join(lost))
        if any((left.waiting, left.cached, left.unsplit, left.rpcs)):
            raise OutputsLost(f"every output was delivered, and yet the table still held: {left}")
        return endings

    def _engage(self) -> None:
        """Let dispatcher and consumers work to their end, all at once; a world may take less of a crowd."""
        tasks = [self._rt.spawn(self._run_dispatcher, name="dispatcher")]
        tasks += [self._rt.spawn(self._consume, output, name=f"consumer {output}") for output in self.outputs]
        for task in tasks:
            task.join()

    def _why_silent(self) -> str:
        """Say more of a worker that did not say goodbye, where a world can see more."""
        return ""

    @abc.abstractmethod
    def project(self, pending: PendingStep) -> Mapping[str, object]:
        """Give the model's variables, read off the state of the code."""

    def _run_dispatcher(self) -> None:
        try:
            self._dispatch(self.executor)
        except OmniError as error:
            self._endings["dispatcher"] = str(error)

    def _consume(self, output: str) -> None:
        try:
            future = self.futures[output] = self.executor.wait(output)
            value = self.executor.result(output, future)
        except OmniError as error:
            self._endings[output] = str(error)
        else:
            intact = is_output_of(self.outputs[output], value)
            self._endings[output] = DELIVERED if intact else "it came with other bytes than were computed"
