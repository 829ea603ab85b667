"""The old way: a fresh segment for each output, its name pickled on a queue, and a copy for the consumer."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

from omni_ipc.device.host import HostDevice
from omni_ipc.errors import OmniError
from omni_ipc.scenarios.legacy.fresh_segments import COPIES, SegmentQueue
from omni_ipc.serving.executor import Executor
from omni_ipc.serving.links import Receiver, Sender
from omni_ipc.serving.messages import Command, Reply
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.worker import Worker
from omni_ipc.workflows.bench.server import CONFIG, RT, Case, Counted


class FreshSegments:
    """A worker in a forked process; both sides are those of today, over the links of then."""

    def __init__(self, case: Case) -> None:
        name = Path(case.scratch).name
        commands, replies = SegmentQueue[Command](f"{name}.c"), SegmentQueue[Reply](f"{name}.r")
        writer, main, output = commands.writer(), replies.writer(), replies.writer()

        def work() -> None:
            pipeline = Counted(rt=RT, nbytes=case.nbytes, copied=lambda: COPIES.nbytes)
            Worker(rt=RT, requests=commands, replies=main, outputs=output, pipeline=pipeline, device=HostDevice()).run()
            replies.join()

        self._pid = _fork(work)
        self._queues = commands, replies
        self.executor = Executor(rt=RT, link=_Link(writer, replies), table=OutputTable(rt=RT), config=CONFIG)

    def copied(self) -> int:
        (there,) = self.executor.call("copied")
        return COPIES.nbytes + int(there)

    def close(self) -> None:
        if not self.executor.shutdown():
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        for each in self._queues:
            each.join()


class _Link:
    """One worker; that it dies is told by whoever started the bench."""

    ranks = 1

    def __init__(self, requests: Sender[Command], results: Receiver[Reply]) -> None:
        self.requests = requests
        self.results = results

    def stopped(self, rank: int) -> None:
        """It is not looked for."""

    def death(self, rank: int) -> OmniError | None:
        return None

    def join(self) -> None:
        return


def _fork(work: Callable[[], None]) -> int:
    """Run it in a child, which then ends; before this process has other threads."""
    if pid := os.fork():
        return pid
    try:
        work()
    finally:
        os._exit(0)
