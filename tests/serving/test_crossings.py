"""Features that cross: whatever meets whatever, each request has one outcome, and nothing of it is left."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable

import pytest

from omni_ipc.errors import Aborted, OmniError, ShutdownError
from omni_ipc.scenarios.answering import AnsweringWorker
from omni_ipc.scenarios.launch import launch_over_queues
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.pipelines import is_output_of
from omni_ipc.seam.api import Runtime
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.core import EngineCore
from omni_ipc.serving.executor import Executor
from omni_ipc.serving.links import WorkerLink
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.requests import Request
from omni_ipc.serving.results import Outcome
from omni_ipc.serving.streams import OutputStream
from omni_ipc.testbed import ControlledRuntime
from tests.serving.exhausting import exhaust, sample
from tests.support.apart import apart
from tests.support.table_executor import CONFIG, TableExecutor, assert_settled, engine_over


class Served:
    """An engine over a real executor."""

    def __init__(self, rt: Runtime, link: WorkerLink) -> None:
        self.table = OutputTable(rt=rt)
        self.engine = EngineCore(
            rt=rt, executor=Executor(rt=rt, link=link, table=self.table, config=CONFIG), config=CONFIG
        )
        self._link = link

    def end(self) -> None:
        """Shut down; then nothing is left."""
        assert self.engine.shutdown()
        self._link.join()
        left, statistics = self.table.describe(), self.engine.statistics()
        assert not any((left.waiting, left.cached, left.unsplit, left.rpcs)), left
        assert (statistics.open, sum(statistics.ended.values())) == (0, statistics.admitted)


async def told(stream: OutputStream) -> str:
    """Tell how it ended for a client."""
    try:
        output = await stream.output()
    except OmniError as error:
        return Outcome.of(error)
    assert is_output_of(output.request_id, output.value)
    return Outcome.RESULT


def test_abort_batch_and_shutdown() -> None:
    """Two requests, computed together or not; one is aborted, and the engine shut down, by threads, at any moment."""
    seen: set[tuple[str, ...]] = set()

    def scenario(rt: ControlledRuntime) -> None:
        served = Served(rt, launch_over_queues(rt, Parts()))

        async def serve() -> None:
            streams = [served.engine.submit(Request(name)) for name in "ab"]
            others = [
                rt.spawn(served.engine.abort, "a", name="abort"),
                rt.spawn(served.engine.shutdown, name="shutdown"),
            ]
            seen.add(tuple(await asyncio.gather(*(told(stream) for stream in streams))))
            for other in others:
                other.join()

        asyncio.run(serve())
        served.end()

    sample(scenario)
    assert {first for first, _ in seen} == {Outcome.RESULT, Outcome.ABORTED, Outcome.SHUT_DOWN}
    assert {second for _, second in seen} == {Outcome.RESULT, Outcome.SHUT_DOWN}


def test_timeout_and_arrival() -> None:
    """The output comes from the pump as its time is up: a result, or a timeout, and nothing is kept."""
    seen: set[str] = set()

    def scenario(rt: ControlledRuntime) -> None:
        served = Served(rt, AnsweringWorker(rt, output_after_s=CONFIG.output_timeout_s))
        seen.add(asyncio.run(told(served.engine.submit(Request("r")))))
        served.end()

    exhaust(scenario)
    assert seen == {Outcome.RESULT, Outcome.TIMED_OUT}


def test_reuse_and_late_output() -> None:
    """The output of the older request of an id comes just as its stream is closed and the newer one is taken."""
    late_s = 0.0625

    def scenario(rt: ControlledRuntime) -> None:
        served = Served(rt, AnsweringWorker(rt, output_after_s=late_s))

        def leave(old: OutputStream) -> None:
            rt.sleep(late_s)
            old.close()

        async def serve() -> None:
            leaving = rt.spawn(leave, served.engine.submit(Request("r")), name="leave")
            await asyncio.sleep(late_s)
            assert await told(served.engine.submit(Request("r"))) == Outcome.RESULT
            leaving.join()

        asyncio.run(serve())
        served.end()

    exhaust(scenario)


@pytest.mark.parametrize("search", [sample, pytest.param(exhaust, marks=[pytest.mark.soak, pytest.mark.timeout(900)])])
def test_cancel_and_unpack(search: Callable[[Callable[[ControlledRuntime], object]], None]) -> None:
    """A client is cancelled by a thread while worker and pump bring its output, all at once."""
    seen: set[str] = set()

    def scenario(rt: ControlledRuntime) -> None:
        served = Served(rt, launch_over_queues(rt, Parts()))

        async def serve() -> None:
            taking = asyncio.create_task(told(served.engine.submit(Request("r"))))
            loop = asyncio.get_running_loop()
            leaving = rt.spawn(lambda: loop.call_soon_threadsafe(taking.cancel), name="leave")
            with contextlib.suppress(asyncio.CancelledError):
                seen.add(await taking)
            leaving.join()
            seen.update({"cancelled"} if taking.cancelled() else set())

        asyncio.run(serve())
        served.end()

    search(scenario)
    assert seen == {Outcome.RESULT, "cancelled"}


def test_two_engines_in_one_process() -> None:
    """Their outputs have the same ids; one is shut down at any moment, and the other serves on."""
    seen: set[str] = set()

    def scenario(rt: ControlledRuntime) -> None:
        first, second = (Served(apart(rt, name), AnsweringWorker(rt)) for name in ("first", "second"))

        async def serve() -> None:
            streams = [served.engine.submit(Request(name)) for served, name in ((first, "a"), (second, "b"))]
            stopping = rt.spawn(first.engine.shutdown, name="shutdown")
            ended, served_on = await asyncio.gather(*(told(stream) for stream in streams))
            seen.add(ended)
            assert served_on == Outcome.RESULT
            stopping.join()
            assert await told(second.engine.submit(Request("c"))) == Outcome.RESULT

        asyncio.run(serve())
        first.end()
        second.end()

    sample(scenario)
    assert seen == {Outcome.RESULT, Outcome.SHUT_DOWN}


def test_threads_and_loops_share_an_engine() -> None:
    """`generate` beside streams of a loop, on real threads."""
    rt = NativeRuntime()
    executor = TableExecutor(rt)
    values: list[object] = []
    with engine_over(rt, executor) as engine:
        threads = [
            rt.spawn(lambda name: values.append(engine.generate(Request(name)).value), str(number), name=f"{number}")
            for number in range(8)
        ]

        async def serve() -> None:
            values.extend([output.value async for output in engine.stream(*(Request(str(n)) for n in range(8, 16)))])

        asyncio.run(serve())
        for thread in threads:
            thread.join()
    assert sorted(map(str, values), key=int) == [str(number) for number in range(16)]
    assert_settled(engine, executor)


def test_five_hundred_requests_of_all_kinds_have_one_outcome_each() -> None:
    """Taken, closed, aborted, cancelled, deleted and reused, on real threads, until a shutdown in the middle of it."""
    rt = NativeRuntime()
    executor = TableExecutor(rt)
    engine = engine_over(rt, executor, CONFIG)
    chance = random.Random(5)

    async def handle(number: int, act: Callable[[OutputStream], Awaitable[object]]) -> None:
        with contextlib.suppress(Aborted, ShutdownError, asyncio.CancelledError):
            await act(engine.submit(Request(str(number % 40))))

    async def serve() -> None:
        acts = [_take, _close, lambda stream: _abort(engine, stream), _cancel, _forget]
        clients = [asyncio.create_task(handle(number, chance.choice(acts))) for number in range(500)]
        stopping = None
        for done, client in enumerate(asyncio.as_completed(clients)):
            await client
            if done == 400:
                stopping = asyncio.create_task(engine.aclose())
        assert stopping is not None
        await stopping

    asyncio.run(serve())
    assert_settled(engine, executor)
    assert engine.statistics().admitted > 400


async def _take(stream: OutputStream) -> None:
    assert (await stream.output()).request_id == stream.request_id


async def _close(stream: OutputStream) -> None:
    await asyncio.sleep(0)
    stream.close()


async def _abort(engine: EngineCore, stream: OutputStream) -> None:
    engine.abort(stream.request_id)
    await stream.output()


async def _cancel(stream: OutputStream) -> None:
    taking = asyncio.create_task(_take(stream))
    await asyncio.sleep(0)
    taking.cancel()
    await taking


async def _forget(stream: OutputStream) -> None:
    await asyncio.sleep(0)
    del stream
