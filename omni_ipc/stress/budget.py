"""How much may be open at a time, in bytes: a bound for clients of one event loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator


class Budget:
    """Lets in what fits, one after the other as they came; what is larger than all of it goes alone.

    Attributes:
        nbytes: all of it.
    """

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self._spent = 0
        self._turn = asyncio.Lock()  # of who waits for room: small ones would go past a large one for ever
        self._freed = asyncio.Event()

    @contextlib.asynccontextmanager
    async def spent(self, nbytes: int) -> AsyncIterator[None]:
        """Wait for room, and have it meanwhile."""
        async with self._turn:
            while self._spent and self._spent + nbytes > self.nbytes:
                self._freed.clear()
                await self._freed.wait()
            self._spent += nbytes
        try:
            yield
        finally:
            self._spent -= nbytes
            self._freed.set()
