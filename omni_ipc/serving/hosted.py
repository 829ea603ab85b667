"""The host process itself: takes a worker's spec and descriptors, runs it, and takes the next (see host.py).

python -m omni_ipc.serving.hosted CONTROL_FD ENGINE_PID
"""

from __future__ import annotations

import importlib
import os
import socket
import sys
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from omni_ipc.device.api import open_device
from omni_ipc.errors import FormatError, UsageError
from omni_ipc.seam.api import Future, Runtime
from omni_ipc.serving.host import (
    DOORBELLS,
    LANES,
    MESSAGE_BYTES,
    SEND_TIMEOUT_S,
    Answer,
    Ended,
    Opened,
    Refused,
    WorkerSpec,
)
from omni_ipc.serving.messages import Request
from omni_ipc.serving.worker import Worker
from omni_ipc.transport import wire
from omni_ipc.transport.bell import Bell, open_doorbell
from omni_ipc.transport.channel import LaneSender, PortReceiver
from omni_ipc.transport.lane import Lane
from omni_ipc.transport.memory import Segment
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.writer import LaneWriter


def main() -> None:
    """Serve the engine until it closes the control socket, or is gone."""
    control_fd, engine_pid = map(int, sys.argv[1:])
    with socket.socket(fileno=control_fd) as control:
        while True:
            data, descriptors, _, _ = socket.recv_fds(control, MESSAGE_BYTES, len(LANES) + len(DOORBELLS) + 1)
            if not data:
                return
            _serve(control, data, descriptors, engine_pid)


def _serve(control: socket.socket, data: bytes, descriptors: Sequence[int], engine_pid: int) -> None:
    """Run one worker, and say how it went."""
    segments: list[Segment] = []
    try:
        spec = _decode(data)
        names = (*LANES, *DOORBELLS)
        segments += [Segment.attach(fd, name=name) for name, fd in zip(names, descriptors, strict=False)]
        rt = _runtime(spec, descriptors[len(names) :])
        worker = _build(rt, spec, segments, orphaned=lambda: os.getppid() != engine_pid)
        _answer(control, Opened())
        ending = rt.future()
        rt.spawn(_run_into, ending, worker, name="worker.main")
        ending.result()
        if (close := getattr(rt, "close", None)) is not None:
            close()
        for _, error in getattr(rt, "errors", ()):  # a runtime that keeps what ended its tasks
            raise error
        answer: Answer = Ended()
    except Exception as error:  # whatever the user's classes raise, the engine shall hear of it
        answer = Refused(wire.RemoteError.from_exception(error))
    for segment in segments:
        segment.close()
    _answer(control, answer)


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


def _build(rt: Runtime, spec: WorkerSpec, segments: Sequence[Segment], orphaned: Callable[[], bool]) -> Worker:
    requests, replies, outputs, engine_bell, worker_bell = segments
    port = Port(
        rt=rt,
        lanes=[LaneReader(Lane(rt=rt, buffer=requests.view, name="requests"))],
        doorbell=open_doorbell(rt=rt, buffer=worker_bell.view),
    )
    bell = open_doorbell(rt=rt, buffer=engine_bell.view)
    device = open_device(spec.device)  # first: without it no pipeline can be built
    worker: Worker = _load(spec.worker)(
        rt=rt,
        requests=PortReceiver(port, Request),
        replies=_sender(rt, replies, "worker.main", bell),
        outputs=_sender(rt, outputs, "worker.output", bell),
        pipeline=_load(spec.pipeline)(**spec.pipeline_options),
        device=device,
        orphaned=orphaned,
    )
    return worker


def _sender(rt: Runtime, segment: Segment, name: str, bell: Bell) -> LaneSender[Any]:
    return LaneSender(LaneWriter(Lane(rt=rt, buffer=segment.view, name=name), doorbell=bell), timeout=SEND_TIMEOUT_S)


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
