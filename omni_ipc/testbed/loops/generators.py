"""The asynchronous generators that a loop has begun, and closes when it is shut down."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from typing import Any

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.loops.weak import WeakList


class Begun(WeakList[AsyncGenerator[Any, Any]]):
    """Generators by age; who goes through them gets what closes them in a step that tells of it."""

    __slots__ = ("_kernel",)

    def __init__(self, kernel: Kernel) -> None:
        super().__init__()
        self._kernel = kernel

    def __iter__(self) -> Iterator[Any]:
        return (_Closing(self._kernel, generator) for generator in super().__iter__())


class _Closing:
    """One of them, as `asyncio.BaseEventLoop.shutdown_asyncgens` uses it."""

    def __init__(self, kernel: Kernel, generator: AsyncGenerator[Any, Any]) -> None:
        self._kernel = kernel
        self._generator = generator

    def __repr__(self) -> str:
        return repr(self._generator)

    async def aclose(self) -> None:
        """Close it, though a task of another loop may be in the middle of it."""
        if self._kernel.using is not None:
            self._kernel.using(self._generator)
        await self._generator.aclose()
