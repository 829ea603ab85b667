"""One worker: a main loop that computes, and an output thread that brings the outputs to the engine.

commands ─► main loop ── forward() on the device ──┬─► ComputeDone on the reply lane, at once
               │                                   └─► output thread: wait for the device event, copy to the host,
               │                                       OutputReady on the output lane
               └─ sleep, wake, what frees device memory: behind a drain, until no output is in flight
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import msgspec

from omni_ipc.device.api import Device
from omni_ipc.errors import PeerClosed, PeerDied, Timeout
from omni_ipc.seam.api import Runtime, Task
from omni_ipc.serving.announcer import Announcer, Computed, Failing, close, insist, send_fit
from omni_ipc.serving.in_flight import StillInFlight
from omni_ipc.serving.links import Delivery, Receiver, Sender
from omni_ipc.serving.memory_state import MemoryState
from omni_ipc.serving.messages import (
    Answer,
    Call,
    CallFailed,
    Command,
    ComputeDone,
    ComputeFailed,
    Execute,
    OutputFailed,
    Reply,
    Returned,
    Stop,
)
from omni_ipc.serving.pipeline import Methods, Pipeline
from omni_ipc.serving.requests import attach_inputs
from omni_ipc.serving.returned import check
from omni_ipc.transport.wire import RemoteError


class Worker:
    """Runs a pipeline on a device for one engine.

    Each of its two threads has a lane of its own to the engine: a lane is strictly one writer to one reader.

    Args:
        rank: which of the engine's workers it is: all compute and answer, rank 0 announces the outputs.
        drain_timeout_s: how long what frees device memory, and the end, wait for outputs that are in flight.
        name: prefix of the names of its tasks: ``worker.main`` runs `run`, ``worker.output`` is the output thread.
        poll_s: how often an idle main loop looks after the output thread.
    """

    def __init__(
        self,
        *,
        rt: Runtime,
        requests: Receiver[Command],
        replies: Sender[Reply],
        outputs: Sender[Reply],
        pipeline: Pipeline,
        device: Device,
        rank: int = 0,
        drain_timeout_s: float = 10.0,
        name: str = "worker",
        poll_s: float = 0.5,
    ) -> None:
        self._rt = rt
        self._requests = requests
        self._replies = replies  # SYNC worker.lanes: written by the main loop alone
        self._device = device
        self._rank = rank
        self._drain_timeout_s = drain_timeout_s
        self._name = name
        self._poll_s = poll_s
        self._methods = Methods(pipeline)
        self._memory = MemoryState(pipeline, self._drain)
        self._announcer = Announcer(rt=rt, lane=outputs, device=device, rank=rank)

    def run(self, failing: Failing = lambda _: None) -> None:
        """Serve until told to stop; then announce what is computed, and close both lanes.

        Args:
            failing: called at once with what ends a thread of the worker, by that thread. What is computed is then
                announced as far as it can be, and no lane is closed: whoever runs the worker tells the engine.

        Raises:
            StillInFlight: outputs were, ``drain_timeout_s`` after the end; the engine was told.
            InternalError: the output thread has died.
            DeviceLost: the device has failed at something, and answers no more; each thread looks at what it has met.
            BaseException: what has ended the main loop.
        """
        self._device.adopt()
        output_thread = self._rt.spawn(self._announcer.run, failing, name=f"{self._name}.output")
        try:
            while (delivery := self._next()) is not None and self._serve(delivery):
                del delivery  # what came with it goes back, however long the next one takes
                self._announcer.require_alive()
        except BaseException as error:
            failing(error)
            self._announcer.finish(goodbye=False)
            output_thread.join(self._drain_timeout_s)
            raise
        self._end(output_thread)

    def _next(self) -> Delivery[Command] | None:
        """Wait for the next command; None once there will be none."""
        while True:
            try:
                return self._requests.receive(timeout=self._poll_s)
            except Timeout:
                self._announcer.require_alive()
            except (PeerClosed, PeerDied):
                return None

    def _serve(self, delivery: Delivery[Command]) -> bool:
        """Do what is asked; False if that is to stop."""
        match delivery.message:
            case Execute() as job:
                self._execute(job, delivery)
            case Call() as call:
                self._call(call)
            case Stop():
                return False
        return True

    def _execute(self, job: Execute, delivery: Delivery[Command]) -> None:
        try:
            computed, done = self._compute(job, delivery)
        except BaseException as error:  # the user's model may raise anything, or exit; its caller shall know
            self._fail(job, RemoteError.from_exception(error))
            return
        if job.step:
            self._answer_step(computed, done)
        elif computed.outputs.errors and not job.split:
            self._fail(job, computed.outputs.errors[0])
        else:
            self._announcer.hand_over(computed)
            self._reply(done)

    def _compute(self, job: Execute, delivery: Delivery[Command]) -> tuple[Computed, ComputeDone]:
        self._memory.require_awake()
        method = "step" if job.step else "forward"
        compute, batch = self._methods.compute(method), attach_inputs(job.requests, delivery.unpack())
        begun = self._rt.now()
        returned = compute(batch)
        execution_s = self._rt.now() - begun
        outputs = check(returned, batch, self._device, method=method)
        done = ComputeDone(
            job.rpc,
            job.epoch,
            self._rank,
            execution_s,
            stages=self._methods.stage_durations_s(),
            errors=outputs.errors if self._rank else {},  # of rank 0 they come where the outputs do
        )
        return Computed(job, outputs, self._device.record()), done

    def _answer_step(self, computed: Computed, done: ComputeDone) -> None:
        """Answer with what the step computed, once it is on the host; other ranks, once their device is done."""
        job, (values, errors), event = computed

        def send(payload: list[Any], errors: dict[int, RemoteError]) -> None:
            self._reply(msgspec.structs.replace(done, errors=errors), payload)

        try:
            if self._rank == 0:
                send_fit(send, job, self._device.to_host(values, after=event), errors)
            else:
                event.synchronize()
                self._reply(done)
        except Exception as error:
            self._fail(job, RemoteError.from_exception(error))

    def _fail(self, job: Execute, error: RemoteError) -> None:
        self._reply(ComputeFailed(job.rpc, job.epoch, self._rank, error))
        self._device.require_usable()

    def _call(self, call: Call) -> None:
        try:
            value = self._invoke(call.method, call.arguments)
            self._reply(Returned(call.rpc, call.epoch, self._rank, value))
        except BaseException as error:  # of the user's method, or because its value cannot travel
            self._reply(CallFailed(call.rpc, call.epoch, self._rank, RemoteError.from_exception(error)))
            self._device.require_usable()

    def _invoke(self, method: str, arguments: Mapping[str, Any]) -> Any:
        match method:
            case "sleep":
                return self._memory.sleep(**arguments)
            case "wake":
                return self._memory.wake(**arguments)
        call = self._methods.call(method)
        if method in self._methods.frees:
            self._drain(f"{method}()")
        return call(**arguments)

    def _drain(self, what: str) -> None:
        """Wait until nothing reads device memory any more.

        Raises:
            StillInFlight: something still does; ``what`` must not be done.
        """
        if left := self._announcer.in_flight.drain(self._drain_timeout_s):
            remedy = "Memory is as it was. Try again once they have arrived, or set drain_timeout_s to a larger value."
            raise StillInFlight(f"{what} was not done", left, self._drain_timeout_s, remedy)

    def _reply(self, answer: Answer, payload: Any = None) -> None:
        """Answer a call.

        Spec: WorkerReply
        """
        with self._rt.region("Worker.Reply", rpc=answer.rpc):
            insist(functools.partial(self._replies.send, answer, payload))

    def _end(self, output_thread: Task) -> None:
        """Let what is computed be announced, and close the lanes; what the device does not come to is told as failed.

        Raises:
            StillInFlight, InternalError: see `run`.
        """
        self._announcer.finish()
        output_thread.join(self._drain_timeout_s)
        self._announcer.require_alive()
        left = self._announcer.in_flight.left()
        late = StillInFlight("The worker was stopped", left, self._drain_timeout_s, "Look at the device.")
        error = RemoteError.from_exception(late)
        for job in left:
            with self._rt.region("Worker.Fail", output=job.output):
                insist(functools.partial(self._replies.send, OutputFailed(job.output, job.split, error)))
        close(self._rt, self._replies)
        if left:
            raise late
