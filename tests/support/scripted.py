"""Workers that say what a test lets them say, and die when it wants them to."""

from __future__ import annotations

from typing import Any

from omni_ipc.errors import OmniError
from omni_ipc.scenarios.links import QueueLink
from omni_ipc.seam.api import Runtime
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.config import ServingConfig
from omni_ipc.serving.executor import Executor
from omni_ipc.serving.messages import Call, Command, ComputeDone, Execute, Reply, Returned, Stop
from omni_ipc.serving.outputs import OutputTable

RT = NativeRuntime()

PATIENT = ServingConfig(output_timeout_s=30, rpc_timeout_s=30, poll_s=0.02)
"""Waits that are far longer than any answer takes."""


class Scripted:
    """The link to workers without a program."""

    def __init__(self, rt: Runtime, ranks: int = 1) -> None:
        self.ranks = ranks
        self.deaths: dict[int, OmniError] = {}
        self.results: QueueLink[Reply] = QueueLink(rt=rt)
        self._commands: QueueLink[Command] = QueueLink(rt=rt)
        self.requests = self._commands.writer()
        self._lanes = [self.results.writer() for _ in range(ranks)]

    def stopped(self, rank: int) -> None:
        """Tasks are not stopped by signals."""

    def death(self, rank: int) -> OmniError | None:
        return self.deaths.get(rank)

    def join(self) -> None:
        """Have no process to wait for."""

    def hear(self) -> Command:
        """Take the next command."""
        return self._commands.receive(timeout=10).message

    def hear_call(self) -> Execute | Call:
        """Take the next command, which wants an answer."""
        command = self.hear()
        assert not isinstance(command, Stop)
        return command

    def say(self, reply: Reply, payload: Any = None) -> None:
        """Send a reply."""
        self._lanes[0].send(reply, payload)

    def say_goodbye(self) -> None:
        """Close all lanes."""
        for lane in self._lanes:
            lane.close()

    def serve(self) -> None:
        """Answer every command at once, on all ranks, until told to stop; a call returns the rank."""
        while not isinstance(command := self.hear(), Stop):
            for rank in range(self.ranks):
                answer: Reply = (
                    Returned(command.rpc, command.epoch, rank, rank)
                    if isinstance(command, Call)
                    else ComputeDone(command.rpc, command.epoch, rank, execution_s=float(rank))
                )
                self.say(answer)
        self.say_goodbye()


class Asked:
    """A call that runs in a task of its own."""

    def __init__(self, function: Any, *args: Any, **options: Any) -> None:
        self.value: Any = None
        self.error: OmniError | None = None
        self._task = RT.spawn(self._run, function, args, options, name="asker")

    def _run(self, function: Any, args: Any, options: Any) -> None:
        try:
            self.value = function(*args, **options)
        except OmniError as error:
            self.error = error

    def result(self) -> Any:
        self._task.join(timeout=30)
        assert not self._task.is_alive()
        if self.error is not None:
            raise self.error
        return self.value


def scripted(
    rt: Runtime, *, ranks: int = 1, config: ServingConfig = PATIENT, table: OutputTable | None = None
) -> tuple[Executor, Scripted]:
    """Make an executor over scripted workers; it is not started."""
    link = Scripted(rt, ranks)
    return Executor(rt=rt, link=link, table=table or OutputTable(rt=rt), config=config), link
