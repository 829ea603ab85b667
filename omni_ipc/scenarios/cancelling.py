"""A client that is cancelled just when the pump gives it its output, and another one that comes behind it."""

from __future__ import annotations

import asyncio
from types import MappingProxyType

from omni_ipc.scenarios.clients import AT_REST_S, GONE, ClientWorld
from omni_ipc.scenarios.world import DELIVERED
from omni_ipc.serving.requests import Request


class CancellingWorld(ClientWorld):
    """One client is cancelled when its output comes from the worker; the other wants to be served all the same."""

    allowed = MappingProxyType({"leaving": {DELIVERED, GONE}, "staying": {DELIVERED}})
    output_after_s = AT_REST_S

    async def _serve(self) -> None:
        leaving = asyncio.create_task(self._client("leaving"))
        await self._cancelled_from_outside("leaving", leaving, after_s=AT_REST_S)
        await asyncio.sleep(AT_REST_S)
        with self._ending("staying"):
            await self._client("staying")

    async def _client(self, who: str) -> None:
        self._served(who, await self._engine.submit(Request(who)).output())
