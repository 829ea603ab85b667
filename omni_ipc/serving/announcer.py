"""The output thread: brings what was computed to the engine, behind the main loop's back.

main loop ─ hand_over ─► queue ─► output thread: wait for the device event, copy to the host, OutputReady
   └──────── drain ◄──── in flight ◄──┘ counted off, once nobody reads device memory for it
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from omni_ipc.device.api import Device, DeviceEvent
from omni_ipc.errors import Full, InternalError, PeerError
from omni_ipc.seam.api import Queue, Runtime
from omni_ipc.serving.in_flight import InFlight
from omni_ipc.serving.links import Sender
from omni_ipc.serving.messages import Execute, OutputFailed, OutputReady, Reply
from omni_ipc.serving.returned import Outputs
from omni_ipc.transport.packing import split
from omni_ipc.transport.wire import RemoteError


class Computed(NamedTuple):
    """An output on its way: what was asked for, what came of it, and when the device will have come to it."""

    job: Execute
    outputs: Outputs
    event: DeviceEvent


class _Brought(NamedTuple):
    job: Execute
    failed: bool


Failing = Callable[[BaseException], object]
"""Told at once, by a thread of a worker, of what ends it."""


class Announcer:
    """What the output thread of a worker does.

    Args:
        lane: written by the output thread alone.
        rank: 0 announces the outputs; the others wait for theirs, and tell only of failures.
    """

    def __init__(self, *, rt: Runtime, lane: Sender[Reply], device: Device, rank: int = 0) -> None:
        self._rt = rt
        self._lane = lane  # SYNC worker.lanes: written by the output thread alone
        self._device = device
        self._bring = self._announce if rank == 0 else self._await
        self._computed: Queue[Computed | None] = rt.queue()
        self._died: BaseException | None = None  # one store by the output thread, looked at by the main loop
        self._goodbye = True  # stored by the main loop before the last item of the queue
        self.in_flight = InFlight(rt=rt)

    def hand_over(self, computed: Computed) -> None:
        """Let an output be announced."""
        self.in_flight.add(computed.job)
        self._computed.put(computed)

    def finish(self, *, goodbye: bool = True) -> None:
        """Let the thread end once everything is announced.

        Args:
            goodbye: close the lane then; a worker that fails says none, on neither lane.
        """
        self._goodbye = goodbye
        self._computed.put(None)

    def require_alive(self) -> None:
        """Let no output be computed that nobody would announce.

        Raises:
            InternalError: the output thread has died.
        """
        if self._died is not None:
            raise InternalError(f"The worker's output thread died of {self._died!r}. Start the engine anew.")

    def run(self, failing: Failing) -> None:
        """Announce one output after another, until told to finish; then close the lane."""
        try:
            self._device.adopt()
            while (brought := self._bring_next()) is not None:
                self.in_flight.settle(brought.job)
                if brought.failed:
                    self._device.require_usable()
            if self._goodbye:
                close(self._rt, self._lane)
        except BaseException as error:
            self._died = error
            failing(error)
            raise

    def _bring_next(self) -> _Brought | None:
        """Bring the next output; on return nothing here holds on to its memory."""
        computed = self._computed.get()
        if computed is None:
            return None
        try:
            self._bring(computed)
        except Exception as error:
            self._fail(computed.job, error)
            return _Brought(computed.job, failed=True)
        return _Brought(computed.job, failed=False)

    def _announce(self, computed: Computed) -> None:
        """Bring one output to the engine.

        Spec: WorkerAnnounce
        """
        job, (values, errors), event = computed
        payload = self._device.to_host(values, after=event)

        def send(payload: list[Any], errors: dict[int, RemoteError]) -> None:
            with self._rt.region("Worker.Announce", output=job.output):
                self._lane.send(OutputReady(job.output, job.split, errors), payload if job.split else payload[0])

        send_fit(send, job, payload, errors)

    def _await(self, computed: Computed) -> None:
        computed.event.synchronize()

    def _fail(self, job: Execute, error: Exception) -> None:
        """Tell what became of an output."""
        failure = OutputFailed(job.output, job.split, RemoteError.from_exception(error))
        with self._rt.region("Worker.Fail", output=job.output):
            insist(functools.partial(self._lane.send, failure))


def send_fit(
    send: Callable[[list[Any], dict[int, RemoteError]], object],
    job: Execute,
    payload: list[Any],
    errors: dict[int, RemoteError],
) -> None:
    """Send the outputs of a batch; those that cannot travel fail alone.

    Raises:
        Exception: the only one cannot travel, or all of them together; what it says of itself.
    """
    try:
        send(payload, errors)
    except (Full, PeerError):
        raise
    except Exception:
        unfit = _set_aside(payload, job)
        if not unfit or len(payload) == 1:
            raise
        send(payload, errors | unfit)


def _set_aside(payload: list[Any], job: Execute) -> dict[int, RemoteError]:
    """Take out of a payload what cannot travel; returns the errors, by their places."""
    errors = {}
    for place, (value, request) in enumerate(zip(payload, job.requests, strict=True)):
        try:
            split(value, f"the output of request '{request.id}'")
        except Exception as error:  # of an attribute of the user's class, too
            errors[place] = RemoteError.from_exception(error)
            payload[place] = None
    return errors


def insist(send: Callable[[], object]) -> None:
    """Send what must not be left unsaid, however long the engine takes to make room; if it is gone, so is the need."""
    while True:
        try:
            send()
        except Full:
            continue
        except PeerError:
            return
        return


def close(rt: Runtime, lane: Sender[Reply]) -> None:
    """Say that nothing more will come on a lane.

    Spec: WorkerClose
    """
    with rt.region("Worker.Close"):
        insist(lane.close)
