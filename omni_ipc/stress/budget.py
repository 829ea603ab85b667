"""How much may be open at a time, in bytes: a bound for clients of one event loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator


class Budget:
    """Lets in what fits; what is larger than all of it goes alone.

    Attributes:
        nbytes: all of it.
    """

    def __init__(self, nbytes: int) -> None:
        self.nbytes = nbytes
        self._spent = 0
        self._room = asyncio.Condition()

    @contextlib.asynccontextmanager
    async def spent(self, nbytes: int) -> AsyncIterator[None]:
        """Wait for room, and have it meanwhile."""
        async with self._room:
            await self._room.wait_for(lambda: not self._spent or self._spent + nbytes <= self.nbytes)
            self._spent += nbytes
        try:
            yield
        finally:
            self._spent -= nbytes
            async with self._room:
                self._room.notify_all()
