"""Output streams: each is taken once, and whatever ends it, nothing of it is kept."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import traceback
import weakref
from collections.abc import Callable

import pytest

from omni_ipc.errors import Aborted, OmniError, ShutdownError, Timeout, UsageError
from omni_ipc.records import Verdict
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.core import EngineCore
from omni_ipc.serving.requests import Request
from omni_ipc.serving.results import Outcome, RequestOutput
from omni_ipc.serving.streams import OutputStream
from omni_ipc.testbed import ControlledRuntime, explore
from tests.serving.exhausting import exhaust
from tests.support.table_executor import EXECUTION_S, STAGES, TableExecutor, assert_settled, engine_over

R = Request("r")


def test_an_output_tells_what_it_took_and_what_it_was_waited_for() -> None:
    """The wait is a field of its own, and neither execution nor a stage of the model."""

    def scenario(rt: ControlledRuntime) -> None:
        executor = TableExecutor(rt, announcing=lambda: rt.sleep(0.25))
        with engine_over(rt, executor) as engine:
            took = asyncio.run(engine.submit(R).output())
        assert took == RequestOutput("r", "r", EXECUTION_S, 0.25, STAGES)
        assert engine.statistics().output_ready_wait_s == 0.25
        assert_settled(engine, executor)

    exhaust(scenario)


def test_a_thread_that_blocks_gets_the_same() -> None:
    """`generate` and `result` go the way of `output`; two threads at once, each its own."""

    def scenario(rt: ControlledRuntime) -> None:
        executor = TableExecutor(rt)
        with engine_over(rt, executor) as engine:
            assert engine.generate(R).value == "r"
        assert_settled(engine, executor)

    exhaust(scenario)


def test_iterating_a_stream_gives_its_one_output() -> None:
    """Once; asking again ends the iteration, and is an error outside of one."""
    rt = NativeRuntime()
    executor = TableExecutor(rt)

    async def consume(engine: EngineCore) -> list[object]:
        async with engine.submit(R) as stream:
            values = [output.value async for output in stream] + [output.value async for output in stream]
            with pytest.raises(UsageError, match="'r' was asked for before"):
                await stream.output()
        return values

    with engine_over(rt, executor) as engine:
        assert asyncio.run(consume(engine)) == ["r"]
    assert_settled(engine, executor)


def test_of_two_threads_that_take_one_stream_one_gets_the_output() -> None:
    """And the other one is refused, in every order of their accesses to the stream; nothing is lost by it."""

    def scenario(rt: ControlledRuntime) -> list[str]:
        executor = TableExecutor(rt)
        told: list[str] = []

        def take(stream: OutputStream) -> None:
            try:
                told.append(str(stream.result().value))
            except UsageError as error:
                told.append(str(error).partition(".")[0])

        with engine_over(rt, executor) as engine:
            stream = engine.submit(R)
            takers = [rt.spawn(take, stream, name=f"taker {number}") for number in range(2)]
            for taker in takers:
                taker.join()
        assert_settled(engine, executor)
        return sorted(told)

    report = explore(scenario, declared=True, instrument=["omni_ipc.serving.streams"], runs=2000)
    assert (report.verdict, report.failure) == (Verdict.HOLDS, None), report.reason
    assert set(report.outcomes) == {str(["The output of request 'r' was asked for before", "r"])}


@pytest.mark.parametrize("pauses", range(1, 4))
def test_a_cancelled_consumer_leaves_nothing(pauses: int) -> None:
    """Wherever it is cancelled: as it begins, while it is computed, while its output comes, and after.

    At once, though somebody still has the stream.
    """

    def scenario(rt: ControlledRuntime) -> None:
        executor = TableExecutor(rt)

        async def serve(engine: EngineCore) -> str:
            stream = engine.submit(R)
            taking = asyncio.create_task(stream.output())
            for _ in range(pauses):
                await asyncio.sleep(0)
            taking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                return (await taking).value
            assert engine.statistics().open == 0, stream
            return "cancelled"

        with engine_over(rt, executor) as engine:
            assert asyncio.run(serve(engine)) in ("r", "cancelled")
        assert_settled(engine, executor)

    exhaust(scenario)


def test_a_consumer_that_is_cancelled_before_it_has_begun_leaves_its_stream_to_who_has_it() -> None:
    """Not a line of it has run; when the stream goes, so does the output."""

    def scenario(rt: ControlledRuntime) -> None:
        executor = TableExecutor(rt)

        async def serve(engine: EngineCore) -> None:
            taking = asyncio.create_task(engine.submit(R).output())
            taking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await taking

        with engine_over(rt, executor) as engine:
            asyncio.run(serve(engine))
        assert_settled(engine, executor)

    exhaust(scenario)


class _Interrupted(TableExecutor):
    """Ctrl-C comes while an output is awaited."""

    def wait(self, output: str) -> object:
        future = super().wait(output)

        class Interrupting(type(future)):  # type: ignore[misc]
            def exception(self, timeout: float | None = None) -> None:
                raise KeyboardInterrupt

        future.__class__ = Interrupting
        return future


def test_a_consumer_whose_event_loop_was_closed_leaves_nothing() -> None:
    """Nobody will ever resume it; the garbage collector finds it, and the output goes with it."""
    rt = NativeRuntime()
    computing = rt.event()
    executor = TableExecutor(rt, computing=computing.wait)
    with engine_over(rt, executor) as engine, contextlib.closing(asyncio.new_event_loop()) as loop:
        loop.set_exception_handler(lambda *_: None)  # it complains of a task that was destroyed

        async def begin() -> None:
            task = loop.create_task(engine.submit(R).output())  # noqa: F841 (its loop keeps it, for as long as it runs)
            await asyncio.sleep(0)

        loop.run_until_complete(begin())
        loop.close()
        computing.set()
        assert engine.generate(Request("behind it")).value == "behind it"
        gc.collect()
        assert engine.statistics().ended[Outcome.ABORTED] == 1
        assert_settled(engine, executor)


def test_an_interrupted_thread_leaves_nothing() -> None:
    """Ctrl-C ends the wait, and gives the output up, though somebody still has the stream."""
    rt = NativeRuntime()
    executor = _Interrupted(rt)
    with engine_over(rt, executor) as engine:
        stream = engine.submit(R)
        with pytest.raises(KeyboardInterrupt):
            stream.result()
        assert_settled(engine, executor)
        assert engine.statistics().ended[Outcome.ABORTED] == 1


def test_a_stream_that_is_deleted_is_given_up() -> None:
    """Nobody closed it, and its output is dropped all the same: on arrival, or soon after."""

    def scenario(rt: ControlledRuntime) -> None:
        executor = TableExecutor(rt)
        with engine_over(rt, executor) as engine:
            stream = engine.submit(R)
            del stream
            rt.sleep(1.0)
            assert executor.is_empty(), executor.describe()
        assert engine.statistics().ended[Outcome.ABORTED] == 1
        assert_settled(engine, executor)

    exhaust(scenario)


def test_a_closed_stream_says_so() -> None:
    """Closing is idempotent, and not undone by asking."""
    rt = NativeRuntime()
    executor = TableExecutor(rt)
    with engine_over(rt, executor) as engine:
        stream = engine.submit(R)
        stream.close()
        stream.close()
        with pytest.raises(Aborted, match="The stream of request 'r' was closed"):
            stream.result()
    assert engine.statistics().ended[Outcome.ABORTED] == 1
    assert_settled(engine, executor)


@pytest.mark.parametrize("taken", [OutputStream.result, lambda stream: asyncio.run(stream.output())])
def test_an_output_that_does_not_come_in_time_is_given_up(taken: Callable[[OutputStream], object]) -> None:
    """The error names the setting with its value, and what was pending; what comes later is not kept."""

    def scenario(rt: ControlledRuntime) -> None:
        executor = TableExecutor(rt, announcing=lambda: rt.sleep(5.0))
        with engine_over(rt, executor) as engine:
            with pytest.raises(Timeout, match=r"'1' of request 'r' did not come within 1 s.*waiting 1 \[1\]") as late:
                taken(engine.submit(R))
            assert "set output_timeout_s=1 to a larger value" in str(late.value)
        assert engine.statistics().ended[Outcome.TIMED_OUT] == 1
        assert_settled(engine, executor)

    exhaust(scenario)


@pytest.mark.parametrize("taken", [OutputStream.result, lambda stream: asyncio.run(stream.output())])
def test_an_output_that_comes_as_its_time_is_up_has_one_outcome(taken: Callable[[OutputStream], RequestOutput]) -> None:
    """Delivered, or timed out and dropped: in both orders nothing is left, and both orders occur."""
    seen = set()

    def scenario(rt: ControlledRuntime) -> None:
        executor = TableExecutor(rt, announcing=lambda: rt.sleep(1.0))
        with engine_over(rt, executor) as engine:
            try:
                outcome = taken(engine.submit(R)).value
            except Timeout:
                outcome = "late"
        seen.add(outcome)
        assert engine.statistics().ended[Outcome.RESULT if outcome == "r" else Outcome.TIMED_OUT] == 1
        assert_settled(engine, executor)

    exhaust(scenario)
    assert seen == {"r", "late"}


def test_an_abort_wakes_who_waits_for_the_output() -> None:
    """It does not wait for an output that will never be given to it."""

    def scenario(rt: ControlledRuntime) -> None:
        executor = TableExecutor(rt, announcing=lambda: rt.sleep(0.5))

        def abort(engine: EngineCore) -> None:
            rt.sleep(0.25)
            assert engine.abort("r") == 1

        with engine_over(rt, executor) as engine:
            stream = engine.submit(R)
            aborting = rt.spawn(abort, engine, name="aborter")
            with pytest.raises(Aborted, match="Request 'r' was aborted"):
                asyncio.run(stream.output())
            assert rt.now() == 0.25
            aborting.join()
        assert_settled(engine, executor)

    exhaust(scenario)


def test_a_stream_may_be_taken_after_the_shutdown() -> None:
    """What had come stays with its stream; nothing but that stream keeps it."""
    rt = NativeRuntime()
    executor = TableExecutor(rt)
    with engine_over(rt, executor) as engine:
        stream, other = engine.submit(R), engine.submit(Request("other"))
        assert other.result().value == "other"
    assert stream.result().value == "r"
    with pytest.raises(ShutdownError):
        engine.submit(R)
    assert_settled(engine, executor)


def test_an_error_that_is_told_again_and_again_keeps_nobody() -> None:
    """Each gets an error of its own, so that none gathers the frames of all; and none is part of a circle."""
    rt = NativeRuntime()
    engine = engine_over(rt, TableExecutor(rt))
    stream = engine.submit(R)
    engine.abort("r")
    engine.shutdown()
    gc.disable()
    try:
        assert told_by(stream.result) == ("Request 'r' was aborted. Submit it anew if need be.", 4)
        assert told_by(engine.check_health) == told_by(engine.check_health)
        kept = weakref.ref(stream)
        del stream
        assert kept() is None
    finally:
        gc.enable()


def told_by(call: Callable[[], object]) -> tuple[str, int]:
    """Tell what a call raised, and from how deep."""
    try:
        call()
    except OmniError as error:
        return str(error), len(traceback.extract_tb(error.__traceback__))
    return "nothing", 0
