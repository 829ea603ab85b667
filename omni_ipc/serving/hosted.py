"""The host process itself: takes a worker's spec and descriptors, runs it, and takes the next (see host.py).

python -m omni_ipc.serving.hosted CONTROL_FD ENGINE_PID
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import gc
import os
import signal
import socket
import sys
import traceback
from collections.abc import Sequence

import msgspec

from omni_ipc.errors import DeviceLost
from omni_ipc.seam.api import Future, Runtime
from omni_ipc.serving.announcer import Failing
from omni_ipc.serving.factory import make_device, make_runtime, make_worker
from omni_ipc.serving.in_flight import StillInFlight
from omni_ipc.serving.spec import MESSAGE_BYTES, SEGMENTS, Answer, Ended, Failed, Opened, Refused, WorkerSpec
from omni_ipc.serving.worker import Worker
from omni_ipc.transport import wire
from omni_ipc.transport.memory import Segment

ENGINE_GONE = 3
"""Exit status of a host whose engine had ended before it began; from then on it is killed with its engine."""

STILL_IN_FLIGHT = 4
"""Exit status of a host whose device did not come to what a worker had computed, so that no other can follow it."""

FAILED = 5
"""Exit status of a host whose worker has failed at work, or whose device is lost: what else is broken, nobody knows."""

_MOST_TOLD = MESSAGE_BYTES // 10  # characters of each of two texts, which take four bytes each at the most

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Serve the engine until it closes the control socket, or is gone."""
    control_fd, engine_pid = map(int, sys.argv[1:])
    _end_with(engine_pid)
    try:
        _serve_all(control_fd)
    except OSError as error:
        if error.errno != errno.EBADF:
            raise
        sys.exit(
            f"The worker process {os.getpid()} ends: its model has closed descriptors that are not its own, and "
            "nothing can be heard from the engine any more. Let the model close what it has opened, and nothing else."
        )


def _serve_all(control_fd: int) -> None:
    with socket.socket(fileno=control_fd) as control:
        while True:
            try:
                data, descriptors, _, _ = socket.recv_fds(control, MESSAGE_BYTES, len(SEGMENTS) + 1)
            except ConnectionResetError:  # it was closed before our last answer was read
                return
            if not data:
                return
            _serve(control, data, descriptors)


def _end_with(engine_pid: int) -> None:
    """Have the kernel end this process when the engine ends: a forward may hang, hold every lock, or be stopped.

    It does so once the thread of the engine that started this process has ended; see process.py.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != engine_pid:  # it ended before the kernel was told
        os._exit(ENGINE_GONE)


def _serve(control: socket.socket, data: bytes, descriptors: Sequence[int]) -> None:
    """Run one worker, and say how it went once its memory is given back."""
    with contextlib.ExitStack() as memory:
        answer = _run(control, data, descriptors, memory)
        gc.collect()  # the parts of a worker refer to each other, and to its memory, which else stays for as long
    _answer(control, answer)


def _run(control: socket.socket, data: bytes, descriptors: Sequence[int], memory: contextlib.ExitStack) -> Answer:
    try:
        rt, worker = _build(data, descriptors, memory)
    except DeviceLost as error:  # no worker can be built here any more: so it is not refused, which would leave us free
        traceback.print_exception(error)
        _tell(control, error)
        os._exit(FAILED)
    except Exception as error:  # whatever the user's classes raise, the engine shall hear of it
        return Refused(_described(error))
    _answer(control, Opened())
    try:
        _work(control, rt, worker)
    except BaseException as error:  # a thread may yet write to the lanes, and to memory that would be the next worker's
        traceback.print_exception(error)
        _answer(control, Refused(_described(error)))
        os._exit(STILL_IN_FLIGHT if isinstance(error, StillInFlight) else FAILED)
    return Ended()


def _build(data: bytes, descriptors: Sequence[int], memory: contextlib.ExitStack) -> tuple[Runtime, Worker]:
    segments, others = _attach(descriptors, memory)
    spec = wire.decode(data, WorkerSpec)
    rt = make_runtime(spec, others)
    device = make_device(rt, spec)  # first: without it no pipeline can be built
    memory.callback(device.close)
    try:
        device.adopt()  # of this thread, which builds the pipeline
        return rt, make_worker(rt, spec, segments, device)
    except Exception:
        device.require_usable()  # the worker before may have lost it, and ended without a word of it
        raise


def _attach(descriptors: Sequence[int], memory: contextlib.ExitStack) -> tuple[list[Segment], list[int]]:
    """Map what came with a spec; gives the segments, and the descriptors of whatever else came.

    Where one cannot be mapped, nobody would take those behind it: they are closed, or this process kept them for good.
    """
    left = [*descriptors]
    try:
        segments = []
        for name in SEGMENTS[: len(left)]:
            segments.append(memory.enter_context(Segment.attach(left[0], name=name)))
            del left[0]  # it is the segment's from now on
    except BaseException:
        for fd in left:
            os.close(fd)
        raise
    return segments, left


def _work(control: socket.socket, rt: Runtime, worker: Worker) -> None:
    """Run a worker to its end.

    Raises:
        BaseException: what has ended it, or a task of a runtime that keeps such errors.
    """
    ending = rt.future()
    main_loop = rt.spawn(_run_into, ending, worker, functools.partial(_tell, control), name="worker.main")
    main_loop.join()  # not its result: the thread would hold the worker for a moment yet
    ending.result()
    if (close := getattr(rt, "close", None)) is not None:
        close()
    for _, error in getattr(rt, "errors", ()):
        raise error


def _run_into(ending: Future[None], worker: Worker, failing: Failing) -> None:
    try:
        worker.run(failing)
    except BaseException as error:
        ending.set_exception(error)
    else:
        ending.set_result(None)


def _tell(control: socket.socket, error: BaseException) -> None:
    """Tell the engine at once of what ends a thread of the worker."""
    with contextlib.suppress(OSError):  # the engine is gone
        control.send(wire.encode(Failed(_described(error))))


def _described(error: BaseException) -> wire.RemoteError:
    """Describe an error in one message of the control socket, whatever it says."""
    told = wire.RemoteError.from_exception(error)
    return msgspec.structs.replace(told, message=told.message[:_MOST_TOLD], traceback=told.traceback[-_MOST_TOLD:])


def _answer(control: socket.socket, answer: Answer) -> None:
    try:
        control.send(wire.encode(answer))
    except OSError:
        sys.exit(0)  # the engine is gone, and so is the reason to live


if __name__ == "__main__":
    main()
