"""When a request is in, and when it is out: admission at the call, and shutdown."""

from __future__ import annotations

import asyncio
from types import MappingProxyType

from omni_ipc.scenarios.clients import ABORTED, AT_REST_S, ClientWorld
from omni_ipc.scenarios.world import DELIVERED
from omni_ipc.seam.api import Event
from omni_ipc.serving.requests import Request


class AdmissionWorld(ClientWorld):
    """A thread aborts a request that was submitted a while ago, just when its client first asks for the output."""

    allowed = MappingProxyType({"client": {DELIVERED, ABORTED}})

    async def _serve(self) -> None:
        stream, aborted = self._engine.submit(Request("r")), self._rt.event()
        await asyncio.sleep(AT_REST_S)
        aborting = self._rt.spawn(self._abort, aborted, name="abort")
        was_aborted = aborted.is_set()
        with self._ending("client"):
            self._served("client", await anext(stream))
        if was_aborted and self._endings["client"] == DELIVERED:
            self._endings["client"] = "it was aborted before it asked for its output, and was served all the same"
        aborting.join()

    def _abort(self, aborted: Event) -> None:
        self._engine.abort("r")
        aborted.set()


class SalvageWorld(ClientWorld):
    """An output has come, and its client is just about to take it, when another thread shuts the engine down."""

    allowed = MappingProxyType({"client": {DELIVERED}})

    async def _serve(self) -> None:
        stream = self._engine.submit(Request("r"))
        await asyncio.sleep(AT_REST_S)
        stopping = self._rt.spawn(self._engine.shutdown, name="shutdown")
        with self._ending("client"):
            self._served("client", await stream.output())
        stopping.join()
