"""Random small programs of a loop and threads: the reduced searches come to exactly what brute force comes to."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable, Iterable

import pytest

from omni_ipc.testbed.failures import shape
from omni_ipc.testbed.runner import Runner
from omni_ipc.testbed.strategies import STRATEGIES
from tests.testbed.conftest import Tell

SEEDS = (*range(14), 27, 35, 44, 58)  # the last four need each bit that is noted
BRUTE_RUNS = 500  # programs that have more schedules are left out

Program = tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]
"""What main awaits one after the other, and what each thread does."""


class World:
    """What the loop and the threads of one run use."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.log: list[object] = []
        self.event = asyncio.Event()
        self.queue: asyncio.Queue[int] = asyncio.Queue()
        self.future = self.loop.create_future()
        self.told = threading.Event()

    async def wait(self) -> None:
        try:
            await asyncio.wait_for(self.event.wait(), 1)
            self.log.append("woken")
        except TimeoutError:
            self.log.append("timeout")

    async def take(self) -> None:
        try:
            self.log.append(await asyncio.wait_for(self.queue.get(), 2))
        except TimeoutError:
            self.log.append("empty")

    async def answer(self) -> None:
        done, _ = await asyncio.wait({self.future}, timeout=1)
        self.log.append("answered" if done else "unanswered")

    async def turn(self) -> None:
        await asyncio.sleep(0)
        self.log.append("turn")

    async def look(self) -> None:
        self.log.append((self.event.is_set(), self.queue.qsize(), self.future.done()))

    async def later(self) -> None:
        self.loop.call_later(1, self.log.append, "later")

    async def tell(self) -> None:
        self.told.set()
        self.log.append("told")

    async def post_too(self) -> None:
        self.loop.call_soon(self.log.append, "own")

    def post(self) -> None:
        self.loop.call_soon_threadsafe(self.log.append, "posted")

    def push(self) -> None:
        self.loop.call_soon(self.log.append, "pushed")

    def wake(self) -> None:
        self.loop.call_soon_threadsafe(self.event.set)

    def set(self) -> None:
        self.event.set()

    def put(self) -> None:
        self.queue.put_nowait(1)

    def settle(self) -> None:
        if not self.future.done():
            self.future.set_result(1)

    def cancel(self) -> None:
        self.loop.call_soon_threadsafe(self.future.cancel)

    def nap(self) -> None:
        self.told.wait(1)


AWAITED = ("wait", "take", "answer", "turn", "look", "later", "tell", "post_too")
CALLED = ("post", "push", "wake", "set", "put", "settle", "cancel", "nap")


def draw(seed: int) -> Program:
    chance = random.Random(seed)
    threads = tuple(tuple(chance.choices(CALLED, k=chance.randint(1, 2))) for _ in range(2))
    return tuple(chance.choices(AWAITED, k=chance.randint(2, 4))), threads


def scenario_of(program: Program) -> Callable[[], object]:
    awaited, called = program

    async def main() -> object:
        world = World()

        def work(names: tuple[str, ...]) -> None:
            for name in names:
                getattr(world, name)()

        threads = [threading.Thread(target=work, args=(names,)) for names in called]
        for thread in threads:
            thread.start()
        for name in awaited:
            await getattr(world, name)()
        await asyncio.sleep(5)
        for thread in threads:
            thread.join()
        return world.log

    def scenario() -> object:
        loop = asyncio.new_event_loop()
        try:
            return loop.run_until_complete(main())
        finally:
            loop.close()

    return scenario


def everything(program: Program, strategy: str) -> tuple[bool, set[str], set[tuple[str, str]]]:
    """Search all schedules of a program: whether that were all, what they return, and how they fail."""
    search = STRATEGIES[strategy](0)
    outcomes: set[str] = set()
    failures: set[tuple[str, str]] = set()
    with Runner(scenario_of(program)) as runner:
        for _ in range(BRUTE_RUNS):
            if (prefix := search.next_prefix()) is None:
                return True, outcomes, failures
            run = runner.run(search, prefix)
            search.learn(run)
            if run.failure is not None:
                failures.add(shape(run.failure))
            elif not run.pruned:
                outcomes.add(repr(run.value))
    return False, outcomes, failures


def test_what_the_reduction_leaves_out_makes_no_difference() -> None:
    """Outcomes and failures are those of brute force, however threads meddle with the loop."""
    assert compare(SEEDS) >= len(SEEDS) // 2


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_what_the_reduction_leaves_out_makes_no_difference_in_many_programs(tell_seeds: Tell) -> None:
    """The same over further programs."""
    seeds = range(600)
    compared = compare(seeds)
    tell_seeds(seeds, compared)
    assert compared >= 300


def compare(seeds: Iterable[int]) -> int:
    """Hold the reduced searches against brute force, and count the programs small enough for it."""
    compared = 0
    for seed in seeds:
        program = draw(seed)
        whole, outcomes, failures = everything(program, "brute-force")
        if whole:
            compared += 1
            for strategy in ("depth-first", "dpor"):
                assert everything(program, strategy) == (True, outcomes, failures), (seed, program, strategy)
    return compared
