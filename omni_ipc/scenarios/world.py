"""The world of the scenarios: one engine, one worker, and a consumer for each output.

dispatcher ─ execute ─► worker.main ─► worker.output
                           │ComputeDone     │OutputReady
consumers ◄─ futures ◄─── pump ◄────────────┘
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from omni_ipc.errors import OmniError
from omni_ipc.records import Field
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.pipelines import is_output_of
from omni_ipc.seam.api import Future, Runtime
from omni_ipc.serving.config import ServingConfig
from omni_ipc.serving.executor import Executor
from omni_ipc.serving.ids import Minted
from omni_ipc.serving.links import WorkerLink
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.requests import Request

DELIVERED = "delivered"

END = "World.End"
"""A region that a world may open before it shuts down: there the steps of its model end. Elsewhere it is no step."""

CONFIG = ServingConfig(output_timeout_s=1.0, rpc_timeout_s=1.0, drain_timeout_s=0.5, shutdown_timeout_s=1.0, poll_s=0.1)
"""Waits short enough to end a stranded consumer at once; no live schedule comes near them."""


Launch = Callable[[Runtime, Parts], WorkerLink]
"""Starts a worker: as tasks of this runtime, or as a process."""

Mint = Callable[[OutputTable], Minted]
"""Makes the ids of what the dispatcher is to have computed, so that consumers may ask first."""


PendingStep = Callable[[str], tuple[str, Mapping[str, Field]] | None]
"""What a task, named, will do next: (action, fields); a program counter."""


class OutputsLost(AssertionError):
    """Some consumers did not get what they asked for; one line each."""


class EngineWorld(abc.ABC):
    """Runs a dispatcher and a consumer for each output, and judges what the consumers got.

    Args:
        requests: the ids of the requests that the dispatcher executes in one call.
        mint: the ids of its outputs: `OutputTable.mint` for one alone.
    """

    def __init__(
        self,
        *,
        rt: Runtime,
        parts: Parts,
        launch: Launch,
        requests: Sequence[str],
        mint: Mint,
    ) -> None:
        self._rt = rt
        self._requests = [Request(name) for name in requests]
        self.table = parts.table(rt=rt)
        self.link = launch(rt, parts)
        self._minted = mint(self.table)
        self.outputs: Mapping[str, str] = dict(zip(self._minted.outputs, requests, strict=True))
        self.executor = Executor(
            rt=rt,
            link=self.link,
            table=self.table,
            config=CONFIG,
            pump=parts.pump,
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
        with self._rt.region(END):
            pass
        left = self.table.describe()
        if not self.executor.shutdown():
            self._endings["worker"] = (
                f"it did not say goodbye within {CONFIG.shutdown_timeout_s:g} s{self._why_silent()}"
            )
        self.link.join()
        endings = tuple(sorted(self._endings.items()))
        if lost := [f"{who}: {ending}" for who, ending in endings if not self._is_well(ending)]:
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

    def _is_well(self, ending: str) -> bool:
        """Tell whether somebody got what was promised; a world in which processes die promises less."""
        return ending == DELIVERED

    def _why_silent(self) -> str:
        """Say more of a worker that did not say goodbye, where a world can see more."""
        return ""

    @abc.abstractmethod
    def project(self, pending: PendingStep) -> Mapping[str, object]:
        """Give the model's variables, read off the state of the code."""

    def _run_dispatcher(self) -> None:
        try:
            self.executor.execute(self._requests, self._minted)
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
