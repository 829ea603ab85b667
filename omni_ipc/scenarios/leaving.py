"""Clients that leave: cancelled, aborted, or in the middle of several outputs. Nothing of them may stay behind."""

from __future__ import annotations

import asyncio
import contextlib
from types import MappingProxyType

from omni_ipc.scenarios.clients import ABORTED, AT_REST_S, GONE, ClientWorld
from omni_ipc.scenarios.world import DELIVERED
from omni_ipc.serving.output_streams import OutputStreams
from omni_ipc.serving.requests import Request


class DisconnectWorld(ClientWorld):
    """A client is cancelled just when it first asks for its output, and just when that comes from the worker."""

    allowed = MappingProxyType({"client": {DELIVERED, GONE}})
    output_after_s = AT_REST_S

    async def _serve(self) -> None:
        await self._cancelled_from_outside("client", asyncio.create_task(self._handle()), after_s=AT_REST_S)

    async def _handle(self) -> None:
        stream = self._engine.submit(Request("r"))
        await asyncio.sleep(AT_REST_S)  # the head of the response goes out
        self._served("client", await stream.output())


class SeveralOutputsWorld(ClientWorld):
    """A client of two outputs is cancelled while it takes them; who serves it keeps the iterator for its log."""

    allowed = MappingProxyType({"first": {DELIVERED, GONE}, "second": {DELIVERED, GONE}})
    _log: OutputStreams

    async def _serve(self) -> None:
        self._log = self._engine.stream(Request("1"), Request("2"))
        await asyncio.sleep(AT_REST_S)
        await self._cancelled_from_outside("second", asyncio.create_task(self._handle(self._log)))
        self._endings.setdefault("first", GONE)

    async def _handle(self, outputs: OutputStreams) -> None:
        async with contextlib.aclosing(outputs):
            for who in self.allowed:
                self._served(who, await anext(outputs))


class AbortWorld(ClientWorld):
    """A thread aborts a request at any moment: before, while and after it is computed, and once it was delivered."""

    allowed = MappingProxyType({"client": {DELIVERED, ABORTED}})

    async def _serve(self) -> None:
        stream = self._engine.submit(Request("r"))
        aborting = self._rt.spawn(self._engine.abort, "r", name="abort")
        with self._ending("client"):
            self._served("client", stream.result())  # blocks: a loop would only multiply schedules
        aborting.join()


class ReuseWorld(ClientWorld):
    """A client comes back with the id of its last request, while the stream of that one is just being closed."""

    allowed = MappingProxyType({"client": {DELIVERED}})

    async def _serve(self) -> None:
        old = self._engine.submit(Request("r"))
        await asyncio.sleep(AT_REST_S)
        closing = self._rt.spawn(old.close, name="closing")
        with self._ending("client"):
            self._served("client", await self._engine.submit(Request("r")).output())
        closing.join()
