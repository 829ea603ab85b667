"""Outputs of real worker processes: views of the worker's slab, given back when their consumers drop them."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from omni_ipc.scenarios.pipelines import is_output_of
from omni_ipc.serving.host import WorkerHost
from omni_ipc.serving.requests import Request
from omni_ipc.serving.spec import WorkerSpec
from omni_ipc.transport.geometry import SlotClass
from tests.support.executors import executor_over
from tests.support.lanes import RT

LARGE = WorkerSpec(pipeline="omni_ipc.scenarios.pipelines:ArrayPipeline", pipeline_options={"count": 100_000})


def lies_in_a_slot(array: Any) -> bool:
    """Tell whether an array looks into a slab, and not into bytes of its own."""
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, memoryview) and isinstance(array.obj, ctypes.Array)


def test_an_output_is_a_view_of_the_workers_slab_and_its_slot_serves_the_next() -> None:
    """Ten outputs go through two slots of a worker process, and one that is kept outlives the worker."""
    with WorkerHost() as host:
        worker = host.open(RT, LARGE, slab_classes=[SlotClass(1 << 20, 2)])
        executor = executor_over(worker)
        kept = None
        for number in range(10):
            name = f"output {number}"
            (output,) = executor.execute([Request(name)]).outputs
            value = executor.result(output, executor.wait(output))
            assert lies_in_a_slot(value)
            assert is_output_of(name, value)
            kept = value if kept is None else kept
            del value
        executor.shutdown()
        worker.join()
    assert is_output_of("output 0", kept)
