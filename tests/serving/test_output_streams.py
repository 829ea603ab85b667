"""The outputs of several requests: in order, and whatever ends the iteration, no inner stream is left open."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

import pytest

from omni_ipc.errors import Aborted, Full
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.core import EngineCore
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.output_streams import OutputStreams
from omni_ipc.serving.requests import Request
from omni_ipc.serving.results import Outcome
from omni_ipc.testbed import ControlledRuntime
from tests.serving.exhausting import sample
from tests.support.table_executor import TableExecutor, assert_settled, engine_over, gated

TWO = (Request("a"), Request("b"))


def test_outputs_come_in_the_order_of_the_requests() -> None:
    """Whatever the batches."""

    async def collect(engine: EngineCore) -> list[object]:
        return [output.value async for output in engine.stream(*TWO)]

    def scenario(rt: ControlledRuntime) -> None:
        executor = TableExecutor(rt)
        with engine_over(rt, executor) as engine:
            assert asyncio.run(collect(engine)) == ["a", "b"]
        assert_settled(engine, executor)

    sample(scenario)


async def _leave_by_return(outputs: OutputStreams) -> None:
    async with contextlib.aclosing(outputs):
        async for _ in outputs:
            return


async def _leave_by_error(outputs: OutputStreams) -> None:
    with contextlib.suppress(LookupError):
        async with outputs:
            async for _ in outputs:
                raise LookupError


async def _leave_by_cancellation(outputs: OutputStreams) -> None:
    async def iterate() -> None:
        async for _ in outputs:
            pass

    iterating = asyncio.create_task(iterate())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    iterating.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await iterating


async def _leave_before_the_first(outputs: OutputStreams) -> None:
    await outputs.aclose()


@pytest.mark.parametrize("leave", [_leave_by_return, _leave_by_error, _leave_by_cancellation, _leave_before_the_first])
def test_who_leaves_early_leaves_no_stream_open(leave: Callable[[OutputStreams], Awaitable[None]]) -> None:
    """At once, and not when somebody deletes the iterator: it is still there."""

    def scenario(rt: ControlledRuntime) -> None:
        executor = TableExecutor(rt)
        with engine_over(rt, executor) as engine:
            outputs = engine.stream(*TWO)
            asyncio.run(leave(outputs))
            assert engine.statistics().open == 0
        assert_settled(engine, executor)
        del outputs

    sample(scenario)


def test_an_iterator_that_is_never_iterated_is_given_up_when_it_is_deleted() -> None:
    """A generator would not even have begun."""
    rt = NativeRuntime()
    executor = TableExecutor(rt)
    with engine_over(rt, executor) as engine:
        engine.stream(*TWO)
        assert engine.statistics().ended[Outcome.ABORTED] == 2
    assert_settled(engine, executor)


def test_requests_of_which_one_is_refused_are_none_of_them_admitted() -> None:
    """The error comes at the call; those before the refused one are ended."""
    rt = NativeRuntime()
    executor, computing, gate = gated(rt)
    with engine_over(rt, executor, EngineConfig(max_batch=1, max_waiting=2)) as engine:
        first = engine.submit(Request("first"))
        assert computing.wait(30)
        with pytest.raises(Full, match="Request 'c' was not admitted"):
            engine.stream(*TWO, Request("c"))
        gate.set()
        assert first.result().value == "first"
        assert engine.statistics().ended == {**dict.fromkeys(Outcome, 0), Outcome.RESULT: 1, Outcome.ABORTED: 2}
    assert_settled(engine, executor)


def test_an_error_of_one_request_ends_the_iteration() -> None:
    """It is raised in its place, and the streams behind it are closed."""
    rt = NativeRuntime()
    executor = TableExecutor(rt)

    async def consume(engine: EngineCore) -> None:
        outputs = engine.stream(*TWO, Request("c"))
        engine.abort("b")
        assert (await anext(outputs)).value == "a"
        with pytest.raises(Aborted, match="Request 'b' was aborted"):
            await anext(outputs)
        with pytest.raises(StopAsyncIteration):
            await anext(outputs)

    with engine_over(rt, executor) as engine:
        asyncio.run(consume(engine))
    assert_settled(engine, executor)
