"""Engines of the contract's tests, and what can be seen of them from outside."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omni_ipc.pipelines.synthetic import expected
from omni_ipc.serving.engine import Engine, PipelineSpec
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.group import HostGroup
from omni_ipc.serving.results import RequestOutput

MODEL = "tests.serving.contract.models:Model"
NBYTES = 1 << 16
DEVICES = pytest.mark.parametrize(
    "device", ["cpu", pytest.param("cuda:0", marks=pytest.mark.cuda), pytest.param("xpu:0", marks=pytest.mark.xpu)]
)
"""Of a worker; what is promised is the same on each."""

NOTHING = "waiting 0, cached 0, unsplit 0, rpcs 0"


def start(hosts: HostGroup, *, nbytes: int = NBYTES, **config: Any) -> Engine:
    """Start an engine on processes that are there already."""
    return Engine(EngineConfig(**config), PipelineSpec(MODEL, {"nbytes": nbytes}), hosts=hosts)


def is_output_of(name: str, output: RequestOutput, nbytes: int = NBYTES) -> bool:
    """Tell whether an output is that of a request, byte for byte."""
    (array,) = output.value["tensors"]
    return (
        np.array_equal(np.asarray(array), expected(name, nbytes))
        and output.value["request"] == output.request_id == name
    )


def is_idle(engine: Engine) -> bool:
    """Tell whether an engine holds nothing: no request, no output, and no slot of its worker."""
    return holds_nothing(engine) and not held_slots(engine)


def holds_nothing(engine: Engine) -> bool:
    """Tell whether every request has ended, and nothing is pending."""
    described, statistics = engine.describe(), engine.statistics()
    open_ = (described.open, described.waiting, str(described.executor))
    return open_ == (0, 0, NOTHING) and sum(statistics.ended.values()) == statistics.admitted


def held_slots(engine: Engine) -> list[int]:
    """List the slots of the worker's slab that this process has not released."""
    reader = engine.outlet.reader
    geometry, words = reader.geometry, reader.words
    generations = [words.load(geometry.generation_word(slot)) for slot in range(geometry.slots)]
    released = [words.load(geometry.release_word(slot, 0)) for slot in range(geometry.slots)]
    return [slot for slot, pair in enumerate(zip(generations, released, strict=True)) if pair[0] not in (0, pair[1])]


def own_memory_bytes() -> int:
    """Tell how much memory this process holds of its own; what it shares with workers is not counted."""
    resident, shared = Path("/proc/self/statm").read_text().split()[1:3]
    return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")
