"""An engine over an executor: shutdown in every order, calls, health, and what it tells of itself."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable

import pytest

from omni_ipc.errors import PeerFailed, ShutdownError
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.requests import Request
from omni_ipc.serving.results import Outcome
from omni_ipc.serving.streams import OutputStream
from omni_ipc.testbed import ControlledRuntime, explore
from tests.serving.exhausting import exhaust
from tests.support.table_executor import TableExecutor, assert_settled, engine_over, gated

A, B = map(Request, "ab")


def outcome_of(stream: OutputStream) -> str:
    try:
        return str(stream.result().value)
    except ShutdownError:
        return "shut down"


def test_a_shutdown_at_any_moment_leaves_one_outcome() -> None:
    """A result or the shutdown error, in every order; both occur."""
    seen = set()

    def scenario(rt: ControlledRuntime) -> None:
        executor = TableExecutor(rt)
        engine = engine_over(rt, executor)
        stream = engine.submit(A)
        stopping = rt.spawn(engine.shutdown, name="stopper")
        seen.add(outcome_of(stream))
        stopping.join()
        assert_settled(engine, executor)

    exhaust(scenario)
    assert seen == {"a", "shut down"}


def test_what_is_computed_survives_the_shutdown() -> None:
    """Its consumer may take it before, during and after; what never had its turn gets the shutdown error."""
    rt = NativeRuntime()
    executor, computing, gate = gated(rt)
    engine = engine_over(rt, executor)
    running = engine.submit(A)
    assert computing.wait(30)
    waiting = engine.submit(B)
    stopping = rt.spawn(engine.shutdown, name="stopper")
    assert outcome_of(waiting) == "shut down"
    gate.set()
    stopping.join()
    assert outcome_of(running) == "a"
    assert_settled(engine, executor)


def test_a_shutdown_is_idempotent_and_may_be_asked_for_by_two() -> None:
    """Both return once all is over, and with the same answer."""

    class Once(TableExecutor):
        ended = False

        def shutdown(self) -> bool:
            assert not self.ended
            self.ended = True
            return super().shutdown()

    def scenario(rt: ControlledRuntime) -> None:
        engine = engine_over(rt, Once(rt))
        other = rt.spawn(engine.shutdown, name="other")
        assert engine.shutdown()
        assert engine.shutdown()
        other.join()
        with pytest.raises(ShutdownError):
            engine.check_health()

    exhaust(scenario)


def test_each_shutdown_that_goes_on_has_a_name_of_its_own() -> None:
    """Recordings, and traces, tell tasks apart by their names."""
    names = []

    class Noting(NativeRuntime):
        def spawn(self, fn: Callable[..., object], *args: object, name: str) -> threading.Thread:
            names.append(name)
            return super().spawn(fn, *args, name=name)

    async def shut_down_twice() -> None:
        engine = engine_over(rt, TableExecutor(rt))
        await asyncio.gather(engine.aclose(), engine.aclose())

    rt = Noting()
    asyncio.run(shut_down_twice())
    assert [name for name in names if "shutdown" in name] == ["shutdown", "shutdown 1"]


def test_an_event_loop_goes_on_while_its_engine_shuts_down() -> None:
    """`async with` awaits the end; a consumer in the same loop is served meanwhile."""

    def scenario(rt: ControlledRuntime) -> None:
        executor = TableExecutor(rt, announcing=lambda: rt.sleep(0.25))

        async def serve() -> None:
            async with engine_over(rt, executor) as engine:
                taking = asyncio.create_task(engine.submit(A).output())
                await asyncio.sleep(0.125)
            assert (await taking).value == "a"
            assert_settled(engine, executor)

        asyncio.run(serve())

    exhaust(scenario)


def test_a_shutdown_whose_waiter_is_cancelled_goes_on() -> None:
    """It is a task of its own: who is cancelled while awaiting it leaves nothing half-way."""

    def scenario(rt: ControlledRuntime) -> str:
        executor = TableExecutor(rt)
        engine = engine_over(rt, executor)

        async def serve() -> str:
            stream = engine.submit(A)
            closing = asyncio.create_task(engine.aclose())
            await asyncio.sleep(0)
            closing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await closing
            with contextlib.suppress(ShutdownError):
                return str((await stream.output()).value)
            return "shut down"

        told = asyncio.run(serve())
        assert engine.shutdown()
        assert_settled(engine, executor)
        return told

    report = explore(scenario, declared=True, runs=400)
    assert report.failure is None, report.failure
    assert set(report.outcomes) == {"'a'", "'shut down'"}


def test_an_error_of_the_shutdown_reaches_who_awaits_it() -> None:
    """It is not lost in the thread that shuts down."""

    class Broken(TableExecutor):
        def shutdown(self) -> bool:
            super().shutdown()
            raise PeerFailed("The worker has ended with an error.")

    async def serve() -> None:
        await engine_over(rt, Broken(rt)).aclose()

    rt = NativeRuntime()
    with pytest.raises(PeerFailed, match="has ended with an error"):
        asyncio.run(serve())


def test_calls_reach_every_worker_by_name() -> None:
    """`sleep` and `wake` among them."""
    rt = NativeRuntime()
    calls: list[object] = []

    class Called(TableExecutor):
        def call(self, method: str, /, **arguments: object) -> list[object]:
            calls.append((method, arguments))
            return [1]

    with engine_over(rt, Called(rt)) as engine:
        engine.sleep(2)
        engine.wake()
        assert engine.call("count", timeout_s=3.0, of="steps") == [1]
    assert calls == [
        ("sleep", {"timeout_s": None, "level": 2}),
        ("wake", {"timeout_s": None}),
        ("count", {"timeout_s": 3.0, "of": "steps"}),
    ]


def test_a_failure_of_the_executor_is_told_to_who_comes_later() -> None:
    """At the call: a request is not admitted to an engine that cannot serve it."""
    rt = NativeRuntime()
    executor = TableExecutor(rt)
    with engine_over(rt, executor) as engine:
        assert executor.failed is not None
        executor.failed(PeerFailed("The worker has died."))
        for call in (engine.check_health, lambda: engine.submit(A)):
            with pytest.raises(PeerFailed, match="The worker has died"):
                call()


def test_an_engine_describes_what_it_holds() -> None:
    """Its own queue, and what its executor has pending."""
    rt = NativeRuntime()
    executor, computing, gate = gated(rt)
    with engine_over(rt, executor) as engine:
        streams = [engine.submit(A)]
        assert computing.wait(30)
        streams.append(engine.submit(B))
        described = engine.describe()
        assert (described.open, described.waiting, described.executor) == (2, 1, executor.describe())
        gate.set()
    assert [outcome_of(stream) for stream in streams] == ["a", "shut down"]
    assert engine.statistics().ended[Outcome.SHUT_DOWN] == 1
