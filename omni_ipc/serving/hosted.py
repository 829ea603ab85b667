"""The host process itself: takes a worker's spec and descriptors, runs it, and takes the next (see host.py).

python -m omni_ipc.serving.hosted CONTROL_FD ENGINE_PID
"""

from __future__ import annotations

import contextlib
import importlib
import os
import socket
import sys
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from omni_ipc.device.api import Device, open_device
from omni_ipc.errors import FormatError, UsageError
from omni_ipc.seam.api import Future, Runtime
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.messages import Request
from omni_ipc.serving.spec import (
    ENGINE_SLAB,
    MESSAGE_BYTES,
    SEGMENTS,
    SEND_TIMEOUT_S,
    SLAB,
    Answer,
    Ended,
    Opened,
    Refused,
    WorkerSpec,
)
from omni_ipc.serving.worker import Worker
from omni_ipc.transport import liveness, wire
from omni_ipc.transport.bell import Bell, open_doorbell
from omni_ipc.transport.channel import LaneSender, PortReceiver
from omni_ipc.transport.lane import Lane
from omni_ipc.transport.lease import SlabReader
from omni_ipc.transport.memory import Segment
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.slab import Slab
from omni_ipc.transport.writer import LaneWriter

ENGINE_GONE = 3
"""Exit status of a host whose engine has ended without stopping it."""


def main() -> None:
    """Serve the engine until it closes the control socket, or is gone."""
    control_fd, engine_pid = map(int, sys.argv[1:])
    NativeRuntime().spawn(_end_with, engine_pid, name="engine watch")
    with socket.socket(fileno=control_fd) as control:
        while True:
            data, descriptors, _, _ = socket.recv_fds(control, MESSAGE_BYTES, len(SEGMENTS) + 1)
            if not data:
                return
            _serve(control, data, descriptors)


def _end_with(engine_pid: int) -> None:
    """End this process when the engine ends, whatever a forward is stuck in."""
    with contextlib.suppress(ProcessLookupError):
        pidfd = os.pidfd_open(engine_pid)
        if os.getppid() == engine_pid:  # else it has ended, and the id may be another's by now
            liveness.has_ended(pidfd, within_ms=None)
    os._exit(ENGINE_GONE)


def _serve(control: socket.socket, data: bytes, descriptors: Sequence[int]) -> None:
    """Run one worker, and say how it went once its memory is given back."""
    with contextlib.ExitStack() as memory:
        answer = _run(control, data, descriptors, memory)
    _answer(control, answer)


def _run(control: socket.socket, data: bytes, descriptors: Sequence[int], memory: contextlib.ExitStack) -> Answer:
    try:
        spec = _decode(data)
        segments = [
            memory.enter_context(Segment.attach(fd, name=name)) for name, fd in zip(SEGMENTS, descriptors, strict=False)
        ]
        rt = _runtime(spec, descriptors[len(SEGMENTS) :])
        device = open_device(spec.device)  # first: without it no pipeline can be built
        memory.callback(device.unpin)
        worker = _build(rt, spec, segments, device)
        _answer(control, Opened())
        ending = rt.future()
        rt.spawn(_run_into, ending, worker, name="worker.main")
        ending.result()
        if (close := getattr(rt, "close", None)) is not None:
            close()
        for _, error in getattr(rt, "errors", ()):  # a runtime that keeps what ended its tasks
            raise error
        return Ended()
    except Exception as error:  # whatever the user's classes raise, the engine shall hear of it
        return Refused(wire.RemoteError.from_exception(error))


def _run_into(ending: Future[None], worker: Worker) -> None:
    try:
        worker.run()
    except BaseException as error:
        ending.set_exception(error)
    else:
        ending.set_result(None)


def _decode(data: bytes) -> WorkerSpec:
    try:
        return msgspec.json.decode(data, type=WorkerSpec)
    except msgspec.ValidationError as error:
        raise FormatError(f"The worker's spec is malformed: {error}. Do both sides run the same omni_ipc?") from None


def _runtime(spec: WorkerSpec, descriptors: Sequence[int]) -> Runtime:
    options = dict(spec.runtime_options)
    if descriptors:
        options["connection"] = socket.socket(fileno=descriptors[0])
    runtime: Runtime = _load(spec.runtime)(**options)
    return runtime


def _build(rt: Runtime, spec: WorkerSpec, segments: Sequence[Segment], device: Device) -> Worker:
    requests, replies, outputs, engine_bell, worker_bell, large, inputs = segments
    leases = SlabReader(rt=rt, buffer=inputs.view, name=ENGINE_SLAB, reader=spec.rank)
    port = Port(
        rt=rt,
        lanes=[LaneReader(Lane(rt=rt, buffer=requests.view, name="requests"), slab=leases)],
        doorbell=open_doorbell(rt=rt, buffer=worker_bell.view),
    )
    bell = open_doorbell(rt=rt, buffer=engine_bell.view)
    slab = Slab(rt=rt, buffer=large.view, name=SLAB, prepare=_preparing(large, device))
    device.land_in(slab)
    worker: Worker = _load(spec.worker)(
        rt=rt,
        requests=PortReceiver(port, Request),
        replies=_sender(rt, replies, "worker.main", bell, slab),
        outputs=_sender(rt, outputs, "worker.output", bell, slab),
        pipeline=_load(spec.pipeline)(**spec.pipeline_options),
        device=device,
    )
    return worker


def _preparing(segment: Segment, device: Device) -> Callable[[int, int], None]:
    """Make what gives a slot its memory, and lets the device copy into it."""

    def prepare(offset: int, nbytes: int) -> None:
        segment.reserve(offset, nbytes)
        device.pin(segment.view[offset : offset + nbytes])

    return prepare


def _sender(rt: Runtime, segment: Segment, name: str, bell: Bell, slab: Slab) -> LaneSender[Any]:
    writer = LaneWriter(Lane(rt=rt, buffer=segment.view, name=name), doorbell=bell)
    return LaneSender(writer, timeout=SEND_TIMEOUT_S, slab=slab)


def _load(path: str) -> Any:
    """Import "package.module:Class".

    Raises:
        UsageError: there is no such module or name in it.
    """
    module, _, name = path.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"'{path}' cannot be imported: {error}. Give it as 'package.module:Class'.") from None


def _answer(control: socket.socket, answer: Answer) -> None:
    try:
        control.send(wire.encode(answer))
    except OSError:
        sys.exit(0)  # the engine is gone, and so is the reason to live


if __name__ == "__main__":
    main()
