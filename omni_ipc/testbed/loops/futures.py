"""Futures and tasks of a controlled loop: their own loop uses them as ever, and others do so at points.

None of their methods may be called from another thread than their loop's, and code does it all the same. Then the call
is a step, which conflicts with every callback of the loop. Sets of them have the same order in every run.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextvars import Context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omni_ipc.testbed.loops.loop import ControlledLoop

    _Base = asyncio.Future[Any]
else:
    _Base = object

_GLUE = vars(
    asyncio.futures
)  # asks for cancelled() only for the case that the loop is closed, which it reads at a point


class Owned(_Base):
    """What belongs to a loop.

    Attributes:
        number: it is the how-many-eth of its run.
    """

    __slots__ = ()

    number: int

    def __hash__(self) -> int:
        return self.number

    def done(self) -> bool:
        loop: Any = self._loop
        if loop.kernel.current is not loop.home:
            loop.intrude("done", reading=True)
        return super().done()

    def cancelled(self) -> bool:
        loop: Any = self._loop
        if loop.kernel.current is not loop.home and sys._getframe(1).f_globals is not _GLUE:
            loop.intrude("cancelled", reading=True)
        return super().cancelled()

    def result(self) -> Any:
        loop: Any = self._loop
        if loop.kernel.current is not loop.home:
            loop.intrude("result", reading=True)
        return super().result()

    def exception(self) -> BaseException | None:
        loop: Any = self._loop
        if loop.kernel.current is not loop.home:
            loop.intrude("exception", reading=True)
        return super().exception()

    def cancel(self, msg: Any | None = None) -> bool:
        loop: Any = self._loop
        if loop.kernel.current is not loop.home:
            loop.intrude("cancel")
        return super().cancel(msg)

    def add_done_callback(self, fn: Callable[[Any], object], /, *, context: Context | None = None) -> None:
        loop: Any = self._loop
        if loop.kernel.current is not loop.home:
            loop.intrude("add_done_callback")
        super().add_done_callback(fn, context=context)


class LoopFuture(Owned, asyncio.Future):  # type: ignore[type-arg]
    """``asyncio.Future`` of a controlled loop."""

    __slots__ = ("number",)

    def __init__(self, *, loop: ControlledLoop, number: int) -> None:
        self.number = number
        super().__init__(loop=loop)

    def set_result(self, result: Any) -> None:
        loop: Any = self._loop
        if loop.kernel.current is not loop.home:
            loop.intrude("set_result")
        super().set_result(result)

    def set_exception(self, exception: type[BaseException] | BaseException) -> None:
        loop: Any = self._loop
        if loop.kernel.current is not loop.home:
            loop.intrude("set_exception")
        super().set_exception(exception)
        loop.note_failed(self)


class LoopTask(Owned, asyncio.Task):  # type: ignore[type-arg]
    """``asyncio.Task`` of a controlled loop."""

    __slots__ = ("number",)

    def __init__(self, coro: Any, *, loop: ControlledLoop, number: int, **options: Any) -> None:
        self.number = number
        super().__init__(coro, loop=loop, **options)


for _kind, _name in ((LoopFuture, "Future"), (LoopTask, "Task")):
    _kind.__name__ = _kind.__qualname__ = _name  # asyncio tells it to people
