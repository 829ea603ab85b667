"""How much may be open at a time, in bytes and in requests: a bound for clients of one event loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator


class Budget:
    """Lets in what fits, one after the other as they came; what is larger than all of it goes alone.

    Attributes:
        nbytes: all of it.
        requests: likewise.
    """

    def __init__(self, nbytes: int, requests: int) -> None:
        self.nbytes = nbytes
        self.requests = requests
        self._spent = self._open = 0
        self._turn = asyncio.Lock()  # of who waits for room: small ones would go past a large one for ever
        self._freed = asyncio.Event()

    @contextlib.asynccontextmanager
    async def spent(self, nbytes: int, requests: int = 1) -> AsyncIterator[None]:
        """Wait for room, and have it meanwhile."""
        async with self._turn:
            while self._open and not self._fits(nbytes, requests):
                self._freed.clear()
                await self._freed.wait()
            self._spent += nbytes
            self._open += requests
        try:
            yield
        finally:
            self._spent -= nbytes
            self._open -= requests
            self._freed.set()

    def _fits(self, nbytes: int, requests: int) -> bool:
        return self._spent + nbytes <= self.nbytes and self._open + requests <= self.requests
