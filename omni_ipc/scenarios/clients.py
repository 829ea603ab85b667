"""The world of the scenarios about clients: one engine, with their event loop and threads in one schedule.

clients ─ submit, abort, cancel, close ─► engine ─► dispatcher ─► a worker that answers at once
   ▲                                                                 │
   └── event loop ◄── futures ◄── pump ◄─────────────────────────────┘
"""

from __future__ import annotations

import abc
import asyncio
import contextlib
import weakref
from collections.abc import Collection, Iterator, Mapping, Sequence

from omni_ipc.errors import Aborted, OmniError, ShutdownError
from omni_ipc.scenarios.answering import AnsweringWorker
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.pipelines import is_output_of
from omni_ipc.scenarios.world import DELIVERED, Launch, OutputsLost, PendingStep
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.core import EngineParts
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.executor import Executor
from omni_ipc.serving.results import RequestOutput

ABORTED = "aborted"
GONE = "gone"
SHUT_DOWN = "shut down"

CONFIG = EngineConfig(output_timeout_s=1.0, rpc_timeout_s=1.0, drain_timeout_s=0.5, shutdown_timeout_s=1.0, poll_s=0.1)
"""Waits short enough to end a stranded client at once; no live schedule comes near them."""

AT_REST_S = 0.05
"""Virtual time passes only when nobody has anything left to do."""


class ClientWorld(abc.ABC):
    """Lets clients use an engine, and judges what each of them got, and what is left.

    Attributes:
        allowed: who -> how it may end.
        output_after_s: how long after "compute done" an output comes.
    """

    allowed: Mapping[str, Collection[str]]
    config: EngineConfig = CONFIG
    output_after_s: float = 0.0

    def __init__(self, rt: Runtime, parts: Parts, launch: Launch | None = None) -> None:
        self._rt = rt
        self._table = parts.table(rt=rt)
        self._link = launch(rt, parts) if launch else AnsweringWorker(rt, output_after_s=self.output_after_s)
        executor = Executor(rt=rt, link=self._link, table=self._table, config=self.config, pump=parts.pump)
        self._engine = parts.engine(
            rt=rt,
            executor=executor,
            config=self.config,
            parts=EngineParts(
                scheduler=parts.scheduler, stream=parts.stream, streams=parts.streams, timeout=parts.timeout
            ),
        )
        self._endings: dict[str, str] = {}

    def run(self) -> Sequence[tuple[str, str]]:
        """Run to the end.

        Returns:
            How it ended for each client.

        Raises:
            OutputsLost: a client did not get what it was promised, or something of it was left behind.
        """
        with asyncio.Runner(loop_factory=getattr(self._rt, "event_loop", None)) as runner:
            runner.run(self._serve())
        self._engine.shutdown()
        self._link.join()
        endings = tuple(sorted(self._endings.items()))
        if lost := [f"{who}: {ending}" for who, ending in endings if ending not in self.allowed[who]]:
            raise OutputsLost("\n".join(lost))
        if missing := sorted(set(self.allowed) - set(self._endings)):
            raise OutputsLost("\n".join(f"{who}: it never came to an end" for who in missing))
        self._judge_what_is_left()
        return endings

    def project(self, pending: PendingStep) -> Mapping[str, object]:
        """Give nothing: no model has this grain."""
        return {}

    @abc.abstractmethod
    async def _serve(self) -> None:
        """Let the clients come and go; each of them notes its ending."""

    @contextlib.contextmanager
    def _ending(self, who: str) -> Iterator[None]:
        """Note an error that ends a client."""
        try:
            yield
        except Aborted:
            self._endings[who] = ABORTED
        except ShutdownError:
            self._endings[who] = SHUT_DOWN
        except OmniError as error:
            self._endings[who] = str(error)

    def _served(self, who: str, output: RequestOutput) -> None:
        """Note that a client got an output; it is its own if it is that of its request."""
        intact = is_output_of(output.request_id, output.value)
        self._endings[who] = DELIVERED if intact else "it got another output than its own"

    async def _cancelled_from_outside(self, who: str, client: asyncio.Task[None], *, after_s: float = 0.0) -> None:
        """Let a thread cancel a client at any moment from then on, and await its end."""
        gone = self._rt.spawn(
            self._disconnect, asyncio.get_running_loop(), weakref.ref(client), after_s, name="disconnect"
        )
        await asyncio.wait((client,))
        if client.cancelled():
            self._endings[who] = GONE
        gone.join()

    def _disconnect(
        self, loop: asyncio.AbstractEventLoop, client: weakref.ref[asyncio.Task[None]], after_s: float
    ) -> None:
        """Cancel a client, without holding on to it: what it refers to shall go with it."""
        if after_s:
            self._rt.sleep(after_s)
        if (living := client()) is not None:
            loop.call_soon_threadsafe(living.cancel)

    def _judge_what_is_left(self) -> None:
        statistics, left = self._engine.statistics(), self._table.describe()
        if statistics.open:
            raise OutputsLost(
                f"{statistics.open} of {statistics.admitted} admitted requests never had an outcome; "
                f"the table holds: {left}"
            )
        if any((left.waiting, left.cached, left.unsplit, left.rpcs)):
            raise OutputsLost(f"every request has ended, and yet the table holds: {left}")
