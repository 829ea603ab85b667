"""Many requests: none is lost, none is told twice, and nothing grows."""

from __future__ import annotations

import asyncio
import gc
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence

import pytest

from omni_ipc.errors import Full, OmniError, PeerFailed
from omni_ipc.serving.engine import Engine, PipelineSpec
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.group import HostGroup
from omni_ipc.serving.requests import Request
from omni_ipc.serving.results import Outcome
from omni_ipc.serving.streams import OutputStream
from tests.serving.contract.engines import DEVICES, MODEL, holds_nothing, is_idle, is_output_of, own_memory_bytes, start
from tests.support.waiting import until

MIB = 1 << 20
FLAT_BYTES = 24 * MIB  # what allocators keep; a sixtieth of what a thousand outputs of 1.5 MiB would take
COUNT, CLIENTS = 10_000, 50


@pytest.fixture(scope="module")
def hosts() -> Iterator[HostGroup]:
    with HostGroup() as hosts:
        yield hosts


def await_computed(streams: Sequence[OutputStream]) -> None:
    """Wait until the forwards of these requests are done."""
    until(lambda: all(stream._admission.computed.done() for stream in streams))


@DEVICES
def test_a_thousand_aborted_requests_leave_nothing_and_memory_stays_flat(hosts: HostGroup, device: str) -> None:
    """Aborted while they wait, while they are computed, and when their output is here; 1.5 MiB each."""
    nbytes = 3 * MIB // 2
    with start(hosts, device=device, nbytes=nbytes, max_batch=4) as engine:

        def abort(count: int, name: str) -> None:
            for turn in range(count // 10):
                streams = [engine.submit(Request(f"{name}.{turn}.{each}")) for each in range(10)]
                await_computed(streams[: turn % 11])
                assert engine.abort(*(stream.request_id for stream in streams)) == 10

        abort(100, "warm")
        until(lambda: is_idle(engine))
        before, there = own_memory_bytes(), engine.call("memory_bytes")[0]
        abort(1000, "counted")
        until(lambda: is_idle(engine))
        gc.collect()
        assert own_memory_bytes() - before < FLAT_BYTES
        assert engine.call("memory_bytes")[0] - there < FLAT_BYTES
        assert engine.statistics().ended[Outcome.ABORTED] == 1100
        assert is_output_of("after", engine.generate(Request("after")), nbytes)


class Crowd:
    """Clients of one engine, each with a whim of its own for each request; counts the outcomes that they see."""

    def __init__(self, engine: Engine, seed: int) -> None:
        self.seen: Counter[Outcome] = Counter()
        self.left = 0  # requests that their clients had left before they saw what became of them
        self.wrong: list[str] = []
        self._engine = engine
        self._random = random.Random(seed)
        self._whims: list[Callable[[Request], Awaitable[None]]] = [
            *[self._takes] * 6,
            self._aborts,
            self._aborts_late,
            self._cancels,
            self._closes,
            self._deserts,
        ]

    async def ask(self, count: int) -> None:
        """Send so many requests, one after the other; some share their ids."""
        for _ in range(count):
            request = Request(f"{self._random.randrange(2000)}", self._random.choice(["", "", "", "", "raise"]))
            try:
                await self._random.choice(self._whims)(request)
            except Full:
                self.wrong.append("refused")
            if self._random.random() < 0.01:
                await self._sleep()

    async def _takes(self, request: Request) -> None:
        try:
            output = await self._engine.submit(request).output()
        except OmniError as error:
            self.seen[Outcome.of(error)] += 1
        else:
            self.seen[Outcome.RESULT] += 1
            if not is_output_of(request.id, output):
                self.wrong.append(request.id)

    async def _aborts(self, request: Request) -> None:
        stream = self._engine.submit(request)
        stream.close()
        self.left += 1

    async def _aborts_late(self, request: Request) -> None:
        taking = asyncio.ensure_future(self._takes(request))
        await asyncio.sleep(self._random.random() / 200)
        self._engine.abort(request.id)
        await taking

    async def _cancels(self, request: Request) -> None:
        taking = asyncio.ensure_future(self._takes(request))
        await asyncio.sleep(self._random.random() / 200)
        if taking.cancel():
            await asyncio.wait([taking])
            self.left += taking.cancelled()

    async def _closes(self, request: Request) -> None:
        async with self._engine.submit(request):
            await asyncio.sleep(self._random.random() / 200)
        self.left += 1

    async def _deserts(self, request: Request) -> None:
        self._engine.submit(request)
        self.left += 1

    async def _sleep(self) -> None:
        """Let the workers sleep for a moment; who asks meanwhile gets an error, or the sleep is refused."""
        for change in (self._engine.sleep, self._engine.wake):
            try:
                await asyncio.to_thread(change)
            except PeerFailed:
                continue


def test_of_ten_thousand_requests_each_has_exactly_one_outcome(hosts: HostGroup) -> None:
    """Aborts, cancellations, timeouts, errors, sleeps, closed and deleted streams, ids that are used at once."""
    config = EngineConfig(
        max_batch=8,
        max_waiting=10_000,
        output_timeout_s=0.25,
        drain_timeout_s=0.2,
        device="tests.serving.contract.models:LateDevice",
    )

    async def crowd(engine: Engine) -> Crowd:
        crowd = Crowd(engine, seed=7)
        await asyncio.gather(*(crowd.ask(COUNT // CLIENTS) for _ in range(CLIENTS)))
        return crowd

    with Engine(config, PipelineSpec(MODEL), hosts=hosts) as engine:
        met = asyncio.run(crowd(engine))
        until(lambda: holds_nothing(engine))
        counted = engine.statistics()
        assert met.wrong == []
        assert counted.admitted == COUNT
        unseen = {outcome: number - met.seen[outcome] for outcome, number in counted.ended.items()}
        aborted, failed = unseen.pop(Outcome.ABORTED), unseen.pop(Outcome.ERROR)  # some fail before they are left
        assert set(unseen.values()) == {0}, unseen
        assert min(aborted, failed) >= 0
        assert aborted + failed == met.left
        assert set(met.seen) == {Outcome.RESULT, Outcome.ERROR, Outcome.ABORTED, Outcome.TIMED_OUT}
        engine.check_health()
        until(lambda: is_idle(engine))


@DEVICES
def test_ten_cycles_of_rollout_sleep_wake_and_validation_lose_no_output(hosts: HostGroup, device: str) -> None:
    """The workers fall asleep as soon as the rollout is computed, and what they had computed is whole."""
    with start(hosts, device=device, nbytes=MIB, max_batch=32, output_slots=((MIB, 40),)) as engine:
        for cycle in range(10):
            rollout = [engine.submit(Request(f"{cycle}.{number}")) for number in range(32)]
            await_computed(rollout)
            engine.sleep(level=1 + cycle % 2)
            outputs = [stream.result() for stream in rollout]
            assert all(is_output_of(f"{cycle}.{number}", output, MIB) for number, output in enumerate(outputs))
            with pytest.raises(PeerFailed, match=r"The pipeline sleeps at level .* Call wake\(\) first"):
                engine.generate(Request("asleep"))
            engine.wake()
            engine.wake()
            assert is_output_of(f"validation {cycle}", engine.generate(Request(f"validation {cycle}")), MIB)
            del outputs
        until(lambda: is_idle(engine))
        ended = engine.statistics().ended
        assert (ended[Outcome.RESULT], ended[Outcome.ERROR]) == (10 * 33, 10)
