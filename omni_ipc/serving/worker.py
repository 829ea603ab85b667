"""One worker: a main loop that computes, and an output thread that brings the outputs to the engine.

requests ─► main loop ── forward() on the device ──┬─► ComputeDone on the reply lane, at once
                                                   └─► output thread: wait for the device event, copy to the host,
                                                       OutputReady on the output lane
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from omni_ipc.device.api import Device, DeviceEvent
from omni_ipc.errors import PeerClosed, PeerDied, Timeout
from omni_ipc.seam.api import Queue, Runtime
from omni_ipc.serving.links import Receiver, Sender
from omni_ipc.serving.messages import (
    ComputeDone,
    ComputeFailed,
    Execute,
    OutputFailed,
    OutputReady,
    Reply,
    Request,
    Stop,
)
from omni_ipc.transport.wire import RemoteError


class Pipeline(Protocol):
    """The user's model."""

    def forward(self, requests: Sequence[str]) -> Sequence[Any]:
        """Compute one output a request: a tree (dict, list, tuple) of tensors on the worker's device."""


class Worker:
    """Runs a pipeline on a device for one engine.

    Each of its two threads has a lane of its own to the engine: a lane is strictly one writer to one reader.

    Args:
        name: prefix of the names of its tasks: ``worker.main`` runs `run`, ``worker.output`` is the output thread.
    """

    def __init__(
        self,
        *,
        rt: Runtime,
        requests: Receiver[Request],
        replies: Sender[Reply],
        outputs: Sender[Reply],
        pipeline: Pipeline,
        device: Device,
        name: str = "worker",
        poll_s: float = 0.5,
    ) -> None:
        self._rt = rt
        self._requests = requests
        self._replies = replies  # SYNC worker.lanes: written by the main loop alone
        self._outputs = outputs  # SYNC worker.lanes: written by the output thread alone
        self._pipeline = pipeline
        self._device = device
        self._name = name
        self._poll_s = poll_s
        self._computed: Queue[tuple[Execute, Sequence[Any], DeviceEvent] | None] = rt.queue()

    def run(self) -> None:
        """Serve requests until told to stop; then announce what is computed, and close both lanes."""
        output_thread = self._rt.spawn(self._announce_outputs, name=f"{self._name}.output")
        try:
            while not isinstance(request := self._next_request(), Stop):
                self._execute(request)
        finally:
            self._computed.put(None)
            output_thread.join()
            self._close(self._replies)

    def _next_request(self) -> Request:
        while True:
            try:
                return self._requests.receive(timeout=self._poll_s).message
            except Timeout:
                continue
            except (PeerClosed, PeerDied):
                return Stop()

    def _execute(self, job: Execute) -> None:
        try:
            values = _checked(self._pipeline.forward(job.requests))
        except BaseException as error:  # the user's model may raise anything, or exit; its caller shall know
            self._reply(ComputeFailed(job.rpc, RemoteError.from_exception(error)))
            return
        self._computed.put((job, values, self._device.record()))
        self._reply(ComputeDone(job.rpc, job.output))

    def _reply(self, answer: ComputeDone | ComputeFailed) -> None:
        with self._rt.region("Worker.Reply", rpc=answer.rpc):
            self._replies.send(answer)

    def _close(self, lane: Sender[Reply]) -> None:
        with self._rt.region("Worker.Close"):
            lane.close()

    def _announce_outputs(self) -> None:
        while (computed := self._computed.get()) is not None:
            self._announce(*computed)
        self._close(self._outputs)

    def _announce(self, job: Execute, values: Sequence[Any], computed: DeviceEvent) -> None:
        """Bring one output to the engine; what fails on the way is announced as an error, never with silence.

        Spec: WorkerAnnounce
        """
        try:
            payload = self._device.to_host(list(values) if job.split else _single(values), after=computed)
            with self._rt.region("Worker.Announce", output=job.output):
                self._outputs.send(OutputReady(job.output, job.split), payload)
        except Exception as error:
            self._outputs.send(OutputFailed(job.output, job.split, RemoteError.from_exception(error)))


def _checked(values: Any) -> Sequence[Any]:
    """Refuse what has no outputs to count, or whose items are not outputs."""
    if isinstance(values, Mapping | str | bytes) or not (hasattr(values, "__len__") and hasattr(values, "__getitem__")):
        raise TypeError(f"forward() returned a {type(values).__name__}. Let it return a list: one output a request.")
    return values  # type: ignore[no-any-return]


def _single(values: Sequence[Any]) -> Any:
    if len(values) != 1:
        raise ValueError(
            f"forward() returned {len(values)} outputs for one request. Let it return one output a request."
        )
    return values[0]
