"""The process host: a process that runs workers one after another, each with lanes and a runtime of its own.

    engine process                                   host process (python -m omni_ipc.serving.hosted FD)
    WorkerHost.open(spec)  ── spec + descriptors ──► attach lanes, import classes, run the worker
                           ◄── Opened | Refused ───
    requests ══ lane ═════════════════════════════►  worker.main
    results  ◄════════════════════════════ lanes ══  worker.main, worker.output
                           ◄── Ended ──────────────  after Stop, once both lanes are closed

It is started by `subprocess` and told what to run by msgspec, because `multiprocessing` would unpickle its arguments.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import msgspec

from omni_ipc.errors import InternalError, OmniError, PeerDied, PeerFailed, Timeout
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.links import Receiver, Sender
from omni_ipc.serving.messages import Reply, Request
from omni_ipc.transport import wire
from omni_ipc.transport.bell import create_doorbell
from omni_ipc.transport.channel import LaneSender, PortReceiver
from omni_ipc.transport.geometry import DEFAULT_CLASSES, Geometry, SlotClass
from omni_ipc.transport.lane import RING_BYTES, Lane, lane_bytes
from omni_ipc.transport.layout import DOORBELL_BYTES
from omni_ipc.transport.lease import SlabReader
from omni_ipc.transport.memory import Segment
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.writer import LaneWriter

SEND_TIMEOUT_S = 60.0
"""How long either side waits for room on a lane: a reader that takes nothing for so long is stuck."""

MESSAGE_BYTES = 65_536

LANES = ("requests", "worker.main", "worker.output")
DOORBELLS = ("engine.bell", "worker.bell")
SLAB = "worker.slab"


class WorkerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What a host is to run; classes by import path, "package.module:Class".

    Args:
        worker: a subclass of `Worker`.
        pipeline: called with ``pipeline_options``; gives a `Pipeline`.
        device: "cpu", "cuda", "cuda:1".
        runtime: called with ``runtime_options``, and with ``connection=`` a socket if the opener gave one.
    """

    pipeline: str
    pipeline_options: dict[str, Any] = {}
    device: str = "cpu"
    worker: str = "omni_ipc.serving.worker:Worker"
    runtime: str = "omni_ipc.seam.native:NativeRuntime"
    runtime_options: dict[str, Any] = {}


class Opened(msgspec.Struct, frozen=True, tag=True):
    """The worker runs."""


class Ended(msgspec.Struct, frozen=True, tag=True):
    """The worker has ended in good order, and the host takes the next one."""


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The worker could not be built, or ended with an error."""

    error: wire.RemoteError


Answer = Opened | Ended | Refused


class HostedWorker:
    """A worker in the host's process: the engine's ends of its lanes."""

    def __init__(
        self, *, host: WorkerHost, requests: Sender[Request], results: Receiver[Reply], memory: contextlib.ExitStack
    ) -> None:
        self.requests = requests
        self.results = results
        self._host = host
        self._memory = memory

    def death(self) -> OmniError | None:
        """Tell how the process ended, if it did."""
        return self._host.death()

    def join(self) -> None:
        """Wait until the worker has ended, after Stop; then give back the memory of its lanes.

        Raises:
            PeerFailed: it ended with an error.
            PeerDied: its process died.
            Timeout: it does not end.
        """
        with self._memory:
            self._host.await_answer(Ended)


class WorkerHost:
    """Owns the process; a context manager.

    Args:
        timeout_s: how long the process may take to start, to build a worker, or to end one. Importing torch and
            waking a GPU take seconds.
    """

    def __init__(self, *, timeout_s: float = 60.0) -> None:
        self._timeout_s = timeout_s
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.settimeout(timeout_s)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "omni_ipc.serving.hosted", str(theirs.fileno()), str(os.getpid())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is the engine's business; it then stops its hosts
            )
        self._pidfd = os.pidfd_open(self._process.pid)

    def __enter__(self) -> WorkerHost:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    def open(
        self,
        rt: Runtime,
        spec: WorkerSpec,
        *,
        connection: socket.socket | None = None,
        ring_bytes: int = RING_BYTES,
        slab_classes: Sequence[SlotClass] = DEFAULT_CLASSES,
    ) -> HostedWorker:
        """Run a worker, and return the engine's ends of its lanes once it runs.

        Args:
            rt: the engine's runtime.
            connection: a socket for the worker's runtime; the host's from now on.
            slab_classes: of the slab that its outputs come in; a slot costs memory from its first use on.

        Raises:
            PeerFailed: the worker could not be built; tells why.
            PeerDied: the process died.
            Timeout: it does not answer.
        """
        with contextlib.ExitStack() as memory:
            sizes = {**dict.fromkeys(LANES, lane_bytes(ring_bytes)), **dict.fromkeys(DOORBELLS, DOORBELL_BYTES)}
            segments = [
                memory.enter_context(Segment.create(nbytes, name=f"omni_ipc.{name}")) for name, nbytes in sizes.items()
            ]
            slab = Geometry(slab_classes)
            segments.append(
                memory.enter_context(Segment.create(slab.nbytes, name=f"omni_ipc.{SLAB}", reserved=slab.words_bytes))
            )
            slab.lay(segments[-1].view)
            requests, results = _engine_ends(rt, *segments)
            descriptors = [segment.fd for segment in segments]
            with connection or contextlib.nullcontext():
                descriptors += [connection.fileno()] if connection else []
                self._tell(msgspec.json.encode(spec), descriptors)
            self.await_answer(Opened)
            return HostedWorker(host=self, requests=requests, results=results, memory=memory.pop_all())

    def death(self) -> PeerDied | None:
        """Tell how the process ended, if it did."""
        status = self._process.poll()
        if status is None and self._has_ended():
            status = self._process.wait()  # another thread is just reaping it, and until then poll() knows nothing
        if status is None:
            return None
        how = f"killed by {signal.Signals(-status).name}" if status < 0 else f"ended with exit status {status}"
        return PeerDied(f"The worker process {self.pid}", how)

    def _has_ended(self) -> bool:
        """Tell whether the process has ended, without reaping it."""
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:  # reaped
            return True

    def await_answer(self, expected: type[Answer]) -> None:
        """Wait for what the process says next.

        Raises:
            PeerFailed: it says that something went wrong.
            PeerDied: it died.
            Timeout: it says nothing.
        """
        data = self._hear()
        if not data:
            raise self._await_death()
        match wire.decode(data, Answer):
            case Refused(error=error):
                raise error.as_error(f"The worker process {self.pid}")
            case answer if not isinstance(answer, expected):
                raise InternalError(f"The worker process said {answer} where {expected.__name__} was due.")

    def stop(self, *, grace_s: float = 2.0) -> None:
        """End the process: it goes by itself when idle, and is killed when it does not; idempotent."""
        self._control.close()
        try:
            self._process.wait(grace_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1

    def _hear(self) -> bytes:
        """Wait for what the process says; empty once it is gone, or `stop` has closed our end.

        Its death is seen by pidfd: a child that it forked may keep its end of the control socket open.
        """
        sources = (self._control.fileno(), self._pidfd)
        if -1 in sources:
            return b""
        poll = select.poll()
        for fd in sources:
            poll.register(fd, select.POLLIN)
        heard = dict(poll.poll(self._timeout_s * 1000))
        if not heard:
            raise Timeout(
                f"The worker process {self.pid} did not answer within {self._timeout_s:g} s. "
                "Give WorkerHost a larger timeout_s, or look at what the process does: py-spy dump."
            )
        try:
            return self._control.recv(MESSAGE_BYTES) if sources[0] in heard else b""
        except OSError:
            return b""

    def _tell(self, data: bytes, descriptors: Sequence[int]) -> None:
        try:
            socket.send_fds(self._control, [data], descriptors)
        except OSError:
            raise self._await_death() from None

    def _await_death(self) -> PeerDied | PeerFailed:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(self._timeout_s)
        return self.death() or PeerFailed(f"The worker process {self.pid} closed its control socket. Look at its log.")


def _engine_ends(
    rt: Runtime,
    requests: Segment,
    replies: Segment,
    outputs: Segment,
    engine_bell: Segment,
    worker_bell: Segment,
    slab: Segment,
) -> tuple[Sender[Request], Receiver[Reply]]:
    """Lay lanes and doorbells into fresh segments, and take the engine's ends of them."""
    to_worker, *to_engine = (
        Lane.create(rt=rt, buffer=segment.view, name=name)
        for name, segment in zip(LANES, (requests, replies, outputs), strict=True)
    )
    ours = create_doorbell(rt=rt, buffer=engine_bell.view)
    leases = SlabReader(rt=rt, buffer=slab.view, name=SLAB)
    theirs = create_doorbell(rt=rt, buffer=worker_bell.view)
    return (
        LaneSender(LaneWriter(to_worker, doorbell=theirs), timeout=SEND_TIMEOUT_S),
        PortReceiver(Port(rt=rt, lanes=[LaneReader(lane, slab=leases) for lane in to_engine], doorbell=ours), Reply),
    )
