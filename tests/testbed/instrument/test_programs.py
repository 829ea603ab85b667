"""What holds holds: no program comes to anything in reality that the engine, when all was run, says it does not."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import pytest

from omni_ipc.testbed import STRATEGIES, explore
from omni_ipc.testbed.runner import Runner
from tests.testbed.conftest import Tell
from tests.testbed.instrument import hidden, lookalikes, shared_coroutines, two_loops, unseen
from tests.testbed.instrument.drawn import PRELUDE, draw, draw_loop, written
from tests.testbed.instrument.everywhere import Truth, sight

CHUNKS = 5
PER_CHUNK = 20
MOST_RUNS = 200  # programs that have more orders are left out
SAMPLES = {"random": 15, "pct": 10, "delay-bounded": 30}
SAMPLERS = ("random", "pos", "surw", "sampling")


class Known:
    """What the engine saw of a program."""

    def __init__(self, module: ModuleType, strategy: str, *, runs: int = MOST_RUNS, everywhere: bool = False) -> None:
        self.sights: set[str] = set()
        with Runner(module.main) as runner:
            assert runner.instrumentation is not None
            if everywhere:
                marked = runner.instrumentation.world.marked
                marked[:] = b"\1" * len(marked)
            self._search(runner, strategy, runs)
            self.holds = self.exhausted and not runner.unseen()

    def _search(self, runner: Runner, strategy: str, runs: int) -> None:
        search, done = STRATEGIES[strategy](0), 0
        search.allot(runs, None)
        self.exhausted = True
        self.curtailed = False
        while (prefix := search.next_prefix()) is not None:
            if done >= runs:
                self.exhausted = False
                break
            run = runner.run(search, prefix)
            done += 1
            if runner.refine():
                search = STRATEGIES[strategy](0)
                search.allot(runs, None)
                self.sights.clear()
                continue
            search.learn(run)
            self.curtailed |= bool(run.curtailed)
            if not run.pruned:
                self.sights.add(sight(run))


def truth(source: str, name: str, seed: int) -> set[str]:
    """Let others run between any two operations, in schedules drawn at random."""
    program = Truth(source, name)
    found = [program.sights(STRATEGIES[strategy](seed), runs)[0] for strategy, runs in SAMPLES.items()]
    return set().union(*found)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_program_that_holds_hides_no_outcome(chunk: int, tmp_path: Path, tell_seeds: Tell) -> None:
    """Where all orders were run, schedules with points everywhere come to nothing else."""
    seeds = range(chunk * PER_CHUNK, (chunk + 1) * PER_CHUNK)
    compared = compare(seeds, tmp_path)
    tell_seeds(seeds, compared)
    assert compared >= PER_CHUNK * 0.6


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_many_programs_that_hold_hide_no_outcome(tmp_path: Path, tell_seeds: Tell) -> None:
    """The same over 1,200 further programs."""
    first = CHUNKS * PER_CHUNK
    seeds = range(first, first + 1_200)
    compared = compare(seeds, tmp_path)
    tell_seeds(seeds, compared)
    assert compared >= 720


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_a_loop_with_threads_beside_it_hides_no_outcome(first: int, tmp_path: Path, tell_seeds: Tell) -> None:
    """The same of asyncio's tasks, and threads that post to their loop or share state with them."""
    seeds = range(first, first + 10)
    compared = compare(seeds, tmp_path, draw_loop)
    tell_seeds(seeds, compared)
    assert compared >= 7


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_many_loops_with_threads_beside_them_hide_no_outcome(tmp_path: Path, tell_seeds: Tell) -> None:
    """The same over 500 further programs."""
    seeds = range(40, 540)
    compared = compare(seeds, tmp_path, draw_loop)
    tell_seeds(seeds, compared)
    assert compared >= 375


def compare(seeds: range, folder: Path, draw: Callable[[int], str] = draw) -> int:
    """Hold what the engine says of programs against the truth, and count those that are small enough."""
    compared = 0
    for seed in seeds:
        source, name = draw(seed), f"drawn_{seed}"
        with written(source, name, folder) as module:
            known = Known(module, "dpor")
            if not known.holds:
                continue
            compared += 1
            assert truth(source, name, seed) <= known.sights, (seed, source.removeprefix(PRELUDE))
    return compared


@pytest.mark.parametrize("strategy", ["depth-first", "portfolio"])
def test_each_search_to_the_end_sees_the_same(strategy: str, tmp_path: Path) -> None:
    """A reduced search, a search that is not reduced, and one with points at all sites come to the same outcomes."""
    compared = 0
    for seed in range(16):
        with written(draw(seed), f"drawn_{seed}", tmp_path) as module:
            known, other = Known(module, "dpor", runs=150), Known(module, strategy, runs=450)
            every = Known(module, "dpor", runs=450, everywhere=True)
            for found in (other, every):
                if known.holds and found.holds:
                    compared += 1
                    assert found.sights == known.sights, (strategy, seed)
    assert compared >= 8


@pytest.mark.parametrize("strategy", SAMPLERS)
def test_what_a_sampler_sees_is_possible(strategy: str, tmp_path: Path) -> None:
    """Some schedules show a part of what all schedules show."""
    for seed in range(6):
        with written(draw(seed), f"drawn_{seed}", tmp_path) as module:
            known = Known(module, "dpor")
            assert not known.holds or Known(module, strategy, runs=30).sights <= known.sights, seed


PROGRAMS = hidden.PROGRAMS | unseen.PROGRAMS | lookalikes.PROGRAMS | two_loops.PROGRAMS | shared_coroutines.FEW


@pytest.mark.parametrize("source", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_what_hides_state_is_seen_through(source: str, tmp_path: Path) -> None:
    """State that is reached in a way of its own; no outcome is missed, or it is said that not all was run."""
    name = "hides_state"
    with written(source, name, tmp_path) as module:
        known = Known(module, "dpor", runs=2_000)
        possible = set().union(*(truth(source, name, seed) for seed in range(3)))
        assert len(possible | known.sights) > 1
        assert not known.holds or known.curtailed or possible <= known.sights


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("source", shared_coroutines.MORE.values(), ids=shared_coroutines.MORE.keys())
def test_what_becomes_of_shared_coroutines_is_seen(source: str, tmp_path: Path) -> None:
    """The same of more programs that share a coroutine."""
    test_what_hides_state_is_seen_through(source, tmp_path)


@pytest.mark.torch
@pytest.mark.parametrize("other", ["tensor[1:3]", "tensor.numpy()[1:]", "tensor.detach()[1:]"])
def test_what_has_the_elements_of_a_tensor_is_seen_through(other: str, tmp_path: Path) -> None:
    """A view, an array or a tensor in the same memory: who writes by the one races with who reads by the other."""
    body = f"""
import torch
def main():
    tensor = torch.zeros(4); other = {other}; out = []
    def a(): other[0] = 1; other[0] = 2
    def b(): out.append(float(tensor[1]))
    run(a,b); return out
"""
    with written(hidden.together(body), "shares_memory", tmp_path) as module:
        assert Known(module, "dpor").sights == {"[0.0]", "[1.0]", "[2.0]"}


_PUMP = """
limit = 0
def handler(): return "first"
def grow(): global limit; limit = 1
def rebind():
    global handler
    def handler(): return "second"
"""


@pytest.mark.parametrize(
    ("change", "read", "outcomes"),
    [("grow", "limit", ("[0]", "[1]")), ("rebind", "handler()", ("['first']", "['second']"))],
)
def test_what_a_module_stores_in_its_own_globals_is_seen_by_another(
    change: str, read: str, outcomes: tuple[str, ...], tmp_path: Path
) -> None:
    """What is a global to the one is an attribute of a module to the other."""
    body = f"""
import pump_of_globals as pump
def main():
    out = []
    run(pump.{change}, lambda: out.append(pump.{read})); return out
"""
    with written(_PUMP, "pump_of_globals", tmp_path), written(hidden.together(body), "its_reader", tmp_path) as module:
        assert explore(module.main, instrument=["pump_of_globals"], strategy="dpor").outcomes == outcomes


def test_what_real_threads_come_to_is_possible(tmp_path: Path) -> None:
    """Threads that are switched at every line come to nothing that the engine does not know."""
    for seed in (1, 2, 7):
        with written(draw(seed), f"drawn_{seed}", tmp_path) as module:
            known = Known(module, "dpor")
            if known.holds and all(seen.startswith("(") for seen in known.sights):
                assert really(module) <= known.sights, seed


def really(module: ModuleType, times: int = 2) -> set[str]:
    """Run a program with real threads, as often switched as can be."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threading.settrace(_yield_at_each_line)
    try:
        return {repr(_run_and_wait(module)) for _ in range(times)}
    finally:
        threading.settrace(None)  # type: ignore[arg-type]
        sys.setswitchinterval(before)


def _run_and_wait(module: ModuleType) -> Any:
    module.count, module.Box.total = 0, 0
    if "total" in vars(module.Late):
        del module.Late.total
    value = module.main()
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join(5)
    return value


def _yield_at_each_line(_frame: FrameType, _event: str, _arg: object) -> Any:
    return _yield_at_each_line
