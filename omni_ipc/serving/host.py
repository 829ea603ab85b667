"""The process host: a process that runs workers one after another, each with lanes and a runtime of its own.

    engine process                                   host process (python -m omni_ipc.serving.hosted FD)
    WorkerHost.open(spec)  ── spec + descriptors ──► attach lanes, import classes, run the worker
                           ◄── Opened | Refused ───
    requests ══ lane ═════════════════════════════►  worker.main
    results  ◄════════════════════════════ lanes ══  worker.main, worker.output
                           ◄── Ended ──────────────  after Stop, once both lanes are closed
                           ◄── Failed, Refused ────  a thread of the worker has died, and then the process

It is started by `subprocess` and told what to run by msgspec, because `multiprocessing` would unpickle its arguments.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import subprocess
from collections.abc import Sequence
from types import TracebackType

from omni_ipc.errors import EnvironmentMissing, InternalError, PeerDied, PeerFailed, Timeout, UsageError
from omni_ipc.seam.api import Runtime
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.config import LONGEST_S
from omni_ipc.serving.ends import death_of, stop_of
from omni_ipc.serving.lanes import Lanes
from omni_ipc.serving.process import start_process
from omni_ipc.serving.spec import MESSAGE_BYTES, Answer, Failed, Opened, Refused, WorkerSpec
from omni_ipc.serving.workers import HostedWorkers
from omni_ipc.transport import wire
from omni_ipc.transport.geometry import DEFAULT_CLASSES, SlotClass
from omni_ipc.transport.lane import RING_BYTES


class WorkerHost:
    """Owns the process; a context manager.

    Args:
        timeout_s: how long the process may take to start, to build a worker, or to end one. Importing torch and
            waking a GPU take seconds.
    """

    def __init__(self, *, timeout_s: float = 60.0) -> None:
        self._timeout_s = min(timeout_s, LONGEST_S)
        self._serving = False  # a worker that has not ended in good order
        self._failure: PeerFailed | None = None  # of the worker that was opened last, once it was heard
        try:
            started, self._keeper = start_process(NativeRuntime())
        except OSError as error:
            raise EnvironmentMissing(
                f"A worker process cannot be started: {error.strerror}.",
                "Free memory, processes or descriptors: see `free -m` and `ulimit -a`.",
            ) from None
        self._control, self._process, self._pidfd = started

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

    @property
    def free(self) -> bool:
        """Tell whether it can take a worker: it lives, and the last one has ended in good order."""
        return not self._serving and self.death() is None

    def open(
        self,
        rt: Runtime,
        spec: WorkerSpec,
        *,
        connection: socket.socket | None = None,
        ring_bytes: int = RING_BYTES,
        slab_classes: Sequence[SlotClass] = DEFAULT_CLASSES,
    ) -> HostedWorkers:
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
        with contextlib.ExitStack() as undo:
            lanes = undo.enter_context(
                contextlib.closing(Lanes(rt, ranks=1, ring_bytes=ring_bytes, slab_classes=slab_classes))
            )
            self.tell(spec, lanes.descriptors(0), connection)
            self.await_answer(Opened)
            undo.pop_all()
            return HostedWorkers((self,), lanes)

    def tell(self, spec: WorkerSpec, descriptors: Sequence[int], connection: socket.socket | None = None) -> None:
        """Have a worker built; `await_answer` tells whether it runs.

        Args:
            descriptors: of the segments, in the order of `SEGMENTS`.
            connection: see `open`.

        Raises:
            PeerDied: the process died.
            UsageError: the options cannot travel, or are too large.
        """
        data = wire.encode(spec)
        if len(data) > MESSAGE_BYTES:
            raise UsageError(
                f"The options of pipeline '{spec.pipeline}' take {len(data):,} bytes, and {MESSAGE_BYTES:,} is the "
                "most that a worker is started with. Give the path of a file instead, or send it by a call."
            )
        with connection or contextlib.nullcontext():
            fds = [*descriptors, *([connection.fileno()] if connection else [])]
            try:
                socket.send_fds(self._control, [data], fds)
            except OSError:
                raise self._await_death() from None
        self._serving = True
        self._failure = None

    def failure(self) -> PeerFailed | None:
        """Tell what its worker has failed with, as soon as it has; its process may outlive it for a while."""
        if self._failure is not None:
            return self._failure
        with contextlib.suppress(OSError):  # nothing was said, or the process is gone without a word
            data = self._control.recv(MESSAGE_BYTES, socket.MSG_PEEK)
            match wire.decode(data, Answer) if data else None:
                case Failed(error=error) | Refused(error=error):
                    return self._told(error)
        return None

    def death(self) -> PeerDied | None:
        """Tell how the process ended, if it did."""
        return death_of(self._process)

    def stopped(self) -> PeerFailed | None:
        """Tell whether the process lives, and was stopped by a signal."""
        return stop_of(self._process)

    def await_answer(self, expected: type[Answer]) -> None:
        """Wait for what the process says next.

        Raises:
            PeerFailed: it says that something went wrong.
            PeerDied: it died.
            Timeout: it says nothing.
        """
        answer = self._next_answer()
        while isinstance(answer, Failed):
            self._failure = self._failure or self._told(answer.error)
            answer = self._next_answer()
        if isinstance(answer, Refused):
            self._serving = expected is not Opened
            self._failure = self._failure or self._told(answer.error)
            raise self._failure
        self._serving = isinstance(answer, Opened)
        if not isinstance(answer, expected):
            raise InternalError(f"The worker process said {answer} where {expected.__name__} was due.")

    def kill(self) -> bool:
        """Kill the process, in the middle of whatever it does, and tell whether it has ended."""
        self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(self._timeout_s)
        return self.death() is not None

    def let_go(self) -> None:
        """Have the process end by itself once it is idle; `stop` waits for that."""
        self._control.close()

    def stop(self, *, grace_s: float = 2.0) -> None:
        """End the process: it goes by itself when idle, and is killed when it does not; idempotent."""
        self.let_go()
        try:
            self._process.wait(grace_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._keeper.join()
        if self._pidfd >= 0:
            os.close(self._pidfd)
            self._pidfd = -1

    def _told(self, error: wire.RemoteError) -> PeerFailed:
        return error.as_error(f"The worker process {self.pid}")

    def _next_answer(self) -> Answer:
        data = self._hear()
        if not data:
            raise self._failure or self._await_death()
        answer: Answer = wire.decode(data, Answer)
        return answer

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

    def _await_death(self) -> PeerDied | PeerFailed:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(self._timeout_s)
        return self.death() or PeerFailed(
            f"The worker process {self.pid} closed its control socket. Look at what it printed."
        )
