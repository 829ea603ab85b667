"""Conducted runs: the orders of the models, on threads and on real worker processes."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterator

import pytest

from omni_ipc.records import Step
from omni_ipc.scenarios import DEFECTS, SCENARIOS
from omni_ipc.serving.host import WorkerHost
from omni_ipc.workflows.conducting import best_device, run_on_processes, run_on_threads

ORDERS = {
    "late_split_map": [
        Step("worker.output", "Worker.Announce"),
        Step("pump", "Pump.Unpack"),
        Step("pump", "Pump.TakeSplit"),
        Step("dispatcher", "Dispatcher.Expect"),
        Step("consumer 1/1", "Consumer.Wait"),
    ],
    "dual_writers": [
        Step("worker.main", "Writer.Claim"),
        Step("worker.output", "Writer.Claim"),
        Step("worker.main", "Writer.Publish"),
        Step("worker.output", "Writer.Publish"),
    ],
    "unpack_outside_lock": [
        Step("worker.output", "Worker.Announce"),
        Step("pump", "Pump.Unpack"),
        Step("consumer 1", "Consumer.Wait"),
        Step("pump", "Pump.Deliver"),
    ],
}

PENDING = {
    "late_split_map": r"'1/1' did not come within 1 s. Pending: waiting \d \[1/1(, 1/2)?\], cached 0, unsplit 1 \[1\]",
    "dual_writers": r"did not answer call 1 of 1 within 1 s. Pending: waiting 0, cached 0, unsplit .*, rpcs 1 \[1\]"
    r"|Lane 'worker.main', record [01], length: \d+ bytes, and \d+ are published behind the header",  # or so
    "unpack_outside_lock": r"'1' did not come within 1 s. Pending: waiting 1 \[1\], cached 1 \[1\], unsplit 0, rpcs 0",
}


@pytest.fixture(scope="module")
def host() -> Iterator[WorkerHost]:
    with WorkerHost() as host:
        yield host


@pytest.fixture(scope="module")
def device() -> str:
    pytest.importorskip("torch", reason="workers compute torch tensors; pip install 'omni-ipc[torch]'")
    return best_device()


@pytest.mark.parametrize("race", ORDERS)
def test_on_processes_the_defect_strands_and_the_reference_delivers(race: str, host: WorkerHost, device: str) -> None:
    """The same order of real tasks: told what is stranded and where; with the reference every byte arrives."""
    defect = DEFECTS[race]
    scenario = SCENARIOS[defect.scenario]
    bad = run_on_processes(scenario, defect.parts, ORDERS[race], device=device, host=host)
    assert bad.conducted.whole, bad.conducted.refusal
    assert bad.failure is not None
    assert re.search(PENDING[race], bad.failure.message), bad.failure.message
    good = run_on_processes(scenario, scenario.parts(None), ORDERS[race], device=device, host=host)
    assert good.conducted.whole, good.conducted.refusal
    assert good.failure is None


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_hundreds_of_conducted_runs_in_one_process_leave_nothing_behind(host: WorkerHost, device: str) -> None:
    """Each reference run delivers; descriptors are constant, and so is the worker's process."""
    pid, held = host.pid, len(os.listdir("/proc/self/fd"))
    for number in range(300):
        race = list(ORDERS)[number % len(ORDERS)]
        scenario = SCENARIOS[DEFECTS[race].scenario]
        run = run_on_processes(scenario, scenario.parts(None), ORDERS[race], device=device, host=host)
        assert run.failure is None
        assert run.conducted.whole, run.conducted.refusal
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == held
    assert (host.pid, host.death()) == (pid, None)


@pytest.mark.parametrize("race", ORDERS)
def test_on_threads_the_defect_strands_and_the_reference_delivers(race: str) -> None:
    """The same within one process, without torch."""
    defect = DEFECTS[race]
    scenario = SCENARIOS[defect.scenario]
    bad = run_on_threads(scenario, defect.parts, ORDERS[race])
    assert bad.conducted.whole, bad.conducted.refusal
    assert bad.failure is not None
    assert re.search(PENDING[race], bad.failure.message), bad.failure.message
    good = run_on_threads(scenario, scenario.parts(None), ORDERS[race])
    assert good.conducted.whole, good.conducted.refusal
    assert good.failure is None


def test_an_order_that_cannot_be_followed_ends_and_tells_where() -> None:
    """A consumer cannot be served before it asks: the step is refused, everybody is set free, all outputs arrive."""
    scenario = SCENARIOS["future_orphan"]
    steps = [Step("worker.output", "Worker.Announce"), Step("pump", "Pump.Deliver")]
    run = run_on_threads(scenario, scenario.parts(None), steps)
    assert run.failure is None
    assert run.conducted.followed == 1
    assert run.conducted.refusal is not None
    assert (
        "step 2 of 2, pump: Pump.Deliver(), did not come: pump stands before Pump.Unpack at pump.py:"
        in run.conducted.refusal
    )
