"""The perturbing runtime: rests by its seed, measures each region, and takes down what it is asked to."""

from __future__ import annotations

import gc
import random
import threading
from pathlib import Path

import pytest

from omni_ipc.histograms import Histogram, bin_of
from omni_ipc.pipelines.synthetic import expected
from omni_ipc.recordings import SUFFIX
from omni_ipc.serving.engine import Engine, PipelineSpec
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.requests import Request
from omni_ipc.stress.perturbed import RECORDINGS, Perturbation, PerturbedRuntime, Rests
from omni_ipc.stress.regions import Regions, regions_of

REGIONS = 20_000


def rests(perturbation: Perturbation, process: str, tasks: tuple[str, ...] = ("pump",)) -> list[float]:
    """Give the rests of tasks that take regions in turn."""
    drawn = Rests(perturbation, process)
    return [drawn.next_s(tasks[k % len(tasks)]) for k in range(REGIONS)]


def test_each_process_rests_by_its_seed() -> None:
    """The same seed gives the same rests; another process, or another seed, gives others."""
    usual = Perturbation(folder="", seed=3)
    assert rests(usual, "engine") == rests(usual, "engine")
    assert rests(usual, "engine") != rests(usual, "worker 0")
    assert rests(usual, "engine") != rests(Perturbation(folder="", seed=4), "engine")


def test_random_rests_are_as_frequent_and_as_long_as_is_asked_for() -> None:
    """With no slow tasks: their share, each between nothing and the longest."""
    drawn = [rest for rest in rests(Perturbation(folder="", share=0.1, longest_s=0.5, slow=0), "engine") if rest]
    assert 0.09 * REGIONS < len(drawn) < 0.11 * REGIONS
    assert 0.2 < sum(drawn) / len(drawn) < 0.3
    assert max(drawn) <= 0.5


def test_a_slow_task_is_slow_at_each_of_its_regions_for_a_span() -> None:
    """And the others are not; over time everybody has been both."""
    how = Perturbation(folder="", share=0, slow=0.5, span=100)
    tasks = tuple(f"task {k}" for k in range(4))
    drawn = rests(how, "engine", tasks)
    for begin in range(0, REGIONS, how.span):
        span = drawn[begin : begin + how.span]
        assert all(len({rest > 0 for rest in span[k :: len(tasks)]}) == 1 for k in range(len(tasks)))
    slow = [{drawn[begin + k] > 0 for begin in range(0, REGIONS, how.span)} for k in range(len(tasks))]
    assert slow == [{True, False}] * len(tasks)


def test_no_rest_is_drawn_if_none_is_asked_for() -> None:
    """A runtime that only measures."""
    assert not any(rests(Perturbation(folder="", share=0, slow=0), "engine"))


def test_a_passage_falls_into_the_bin_of_its_time(tmp_path: Path) -> None:
    """Of whole microseconds; what took long counts in full."""
    regions = Regions(tmp_path, "engine")
    for taken_ns in (0, 999, 1_000, 1_999, 2_000, 3_999, 4_000, 1_000_000_000):
        regions.add("Pump.Deliver", taken_ns)
    regions.write()
    (histogram,) = regions_of(tmp_path).values()
    assert histogram.counts == {0: 2, 1: 2, 2: 1, 3: 1, 4: 1, bin_of(1_000_000): 1}
    assert histogram.total_s == pytest.approx(1.000013997)


def test_measurements_of_processes_are_put_together_by_kind(tmp_path: Path) -> None:
    """Two workers make one histogram, and the engine has its own."""
    for process, taken_ns in (("worker", 500), ("worker", 1_500), ("engine", 500)):
        regions = Regions(tmp_path, process)
        regions.add("Writer.Publish", taken_ns)
        regions.write()
    assert regions_of(tmp_path) == {
        "engine Writer.Publish": Histogram({0: 1}, 5e-07),
        "worker Writer.Publish": Histogram({0: 1, 1: 1}, 2e-06),
    }


def test_a_folder_without_measurements_has_none(tmp_path: Path) -> None:
    """As that of a process which was killed before its first second was over."""
    assert regions_of(tmp_path) == {}


def test_many_threads_and_destructors_measure_at_once(tmp_path: Path) -> None:
    """Nothing is lost, and nobody waits for itself."""
    regions = Regions(tmp_path, "engine")

    class Leaving:
        def __del__(self) -> None:
            regions.add("Stream.Desert", 0)

    def measure() -> None:
        for _ in range(500):
            here = Leaving()
            here.itself = here  # type: ignore[attr-defined]  # only the collector ends it
            regions.add(f"Pump.{random.randrange(1000)}", 0)

    threads = [threading.Thread(target=measure) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    regions.write()
    found = regions_of(tmp_path)
    assert found.pop("engine Stream.Desert").many == 2000
    assert sum(histogram.many for histogram in found.values()) == 2000


def test_an_engine_and_its_workers_are_perturbed_measured_and_taken_down(tmp_path: Path) -> None:
    """Each process leaves its regions and its recording, and the outputs are what they would have been."""
    how = Perturbation(folder=str(tmp_path), seed=1, record=True, longest_s=0.001)
    rt = PerturbedRuntime(how)
    config = EngineConfig(workers=2, **how.of_workers())
    pipeline = PipelineSpec("omni_ipc.pipelines.synthetic:Synthetic", {"nbytes": 64})
    with Engine(config, pipeline, rt=rt) as engine:
        for k in range(5):
            (tensor,) = engine.generate(Request(str(k))).value["tensors"]
            assert (tensor == expected(str(k), 64)).all()
    rt.close()
    found = regions_of(tmp_path)
    assert found["engine Pump.Deliver"].many == 5
    assert found["worker Worker.Announce"].many == 5  # rank 0 alone
    assert found["worker Worker.HandOver"].many == 10
    recordings = [*(tmp_path / RECORDINGS).glob(f"*{SUFFIX}")]
    assert len(recordings) == 3
    assert all('"kind":"closed"' in each.read_text() for each in recordings)
