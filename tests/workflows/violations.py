"""Engines on real processes with a defect, brought to show it, and taken down: their regions wait for each other.

The worker announces only when it is let to: by whoever opens a pipe that it reads from.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from omni_ipc.errors import Aborted, Timeout
from omni_ipc.records import Field
from omni_ipc.seam import api
from omni_ipc.serving.engine import Engine, PipelineSpec
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.group import HostGroup
from omni_ipc.serving.requests import Request
from omni_ipc.serving.streams import OutputStream
from omni_ipc.stress.defective import build
from omni_ipc.stress.perturbed import RECORDINGS, Perturbation, PerturbedRuntime

PATIENCE_S = 20.0
LEFT = "left before asking"  # an order in which no defect shows
_PIPE = "announce"

Recorded = Callable[..., Path]
"""Gives recordings of a defect, or of the reference (""), in the order of another one: see `record`."""


class Announcing(PerturbedRuntime):
    """A worker's: what it has computed, it announces when it is let to."""

    def __init__(self, perturbation: dict[str, Any], rank: int) -> None:
        super().__init__(perturbation, rank)
        self._pipe = Path(perturbation["folder"]) / _PIPE

    def region(
        self, action: str, lock: api.Lock | api.Condition | None = None, /, **fields: Field
    ) -> AbstractContextManager[Any, bool | None]:
        if action == "Worker.Announce":
            self._pipe.read_bytes()
        return super().region(action, lock, **fields)


class Holding(PerturbedRuntime):
    """Rests nobody, but holds regions back until others were left.

    Attributes:
        passed: region -> whether somebody has left it.
        holds: region -> what whoever comes to it waits for.
    """

    def __init__(self, folder: Path) -> None:
        self.perturbation = Perturbation(folder=str(folder), record=True, share=0, slow=0)
        super().__init__(self.perturbation)
        self.passed: Mapping[str, threading.Event] = defaultdict(threading.Event)
        self.holds: dict[str, threading.Event] = {}
        self._pipe = folder / _PIPE
        os.mkfifo(self._pipe)

    def announce(self, *, after: str | None = None) -> None:
        """Let the worker announce one output, once a region was left."""
        assert after is None or self.passed[after].wait(PATIENCE_S)
        self._pipe.write_bytes(b"")

    def after(self, first: str, second: str) -> None:
        """Let nobody come to the second region before the first was left."""
        self.holds[second] = self.passed[first]

    def region(
        self, action: str, lock: api.Lock | api.Condition | None = None, /, **fields: Field
    ) -> AbstractContextManager[Any, bool | None]:
        if action in self.holds:
            assert self.holds[action].wait(PATIENCE_S)
        return self._noted(action, super().region(action, lock, **fields))

    @contextlib.contextmanager
    def _noted(self, action: str, inner: AbstractContextManager[Any, bool | None]) -> Iterator[None]:
        try:
            with inner:
                yield
        finally:
            self.passed[action].set()


def record(defect: str, hosts: HostGroup, folder: Path, *, order_of: str) -> Path:
    """Run an engine in the order in which a defect shows, and return the folder of the recordings.

    Args:
        defect: that is put back; "" is none.
        order_of: the defect whose order it is.
    """
    rt = Holding(folder)
    built = build(defect or None)
    config = EngineConfig(
        output_timeout_s=0.4,
        drain_timeout_s=0.3,
        rpc_timeout_s=PATIENCE_S,
        worker_runtime=f"{__name__}:{Announcing.__name__}",
        worker_runtime_options=rt.perturbation.of_workers()["worker_runtime_options"],
    )
    pipeline = PipelineSpec("omni_ipc.pipelines.synthetic:Synthetic", {"nbytes": 64})
    with contextlib.closing(rt), built.engine(config, pipeline, hosts=hosts, rt=rt, parts=built.parts) as engine:
        _ORDERS[order_of](engine, rt)
    return folder / RECORDINGS


def _late_split_map(engine: Engine, rt: Holding) -> None:
    """A batch of two arrives before its split map is registered."""
    rt.holds["Dispatcher.Take"] = threading.Event()
    rt.after("Pump.TakeSplit", "Dispatcher.Expect")
    streams = [engine.submit(Request(name)) for name in ("a", "b")]
    rt.holds["Dispatcher.Take"].set()
    rt.announce()
    for stream in streams:
        _end(stream, Timeout)


def _unpack_outside_lock(engine: Engine, rt: Holding) -> None:
    """A consumer asks for its output while it is unpacked."""
    rt.after("Pump.Unpack", "Consumer.Wait")
    rt.after("Consumer.Wait", "Pump.Deliver")
    stream = engine.submit(Request("a"))
    taking = rt.spawn(_end, stream, Timeout, name="consumer")
    rt.announce(after="Dispatcher.Settle")
    taking.join(PATIENCE_S)


def _cancelled_future(engine: Engine, rt: Holding) -> None:
    """A consumer that waits is cancelled while its output is unpacked."""
    rt.after("Stream.End", "Pump.Deliver")

    async def leave() -> None:
        taking = asyncio.ensure_future(engine.submit(Request("a")).output())
        await asyncio.to_thread(rt.announce, after="Consumer.Wait")
        assert await asyncio.to_thread(rt.passed["Pump.Unpack"].wait, PATIENCE_S)
        taking.cancel()
        await asyncio.wait([taking])

    asyncio.run(leave())
    assert rt.passed["Pump.Deliver"].wait(PATIENCE_S)


def _aborted_output_leak(engine: Engine, rt: Holding) -> None:
    """A request is aborted when it was computed, and its output still comes."""
    rt.after("Engine.Abort", "Pump.Deliver")
    stream = engine.submit(Request("a"))
    rt.announce(after="Dispatcher.Settle")
    engine.abort("a")
    _end(stream, Aborted)
    assert rt.passed["Pump.Deliver"].wait(PATIENCE_S)


def _left_before_asking(engine: Engine, rt: Holding) -> None:
    """A consumer goes away when its output has come, and before it has asked for it."""
    stream = engine.submit(Request("a"))
    rt.announce(after="Dispatcher.Settle")
    assert rt.passed["Pump.Deliver"].wait(PATIENCE_S)
    stream.close()


def _end(stream: OutputStream, error: type[Exception]) -> None:
    """Take an output, which may come in the reference."""
    with contextlib.suppress(error):
        stream.result()


_ORDERS: Mapping[str, Callable[[Engine, Holding], None]] = {
    "late_split_map": _late_split_map,
    "unpack_outside_lock": _unpack_outside_lock,
    "cancelled_future": _cancelled_future,
    "aborted_output_leak": _aborted_output_leak,
    LEFT: _left_before_asking,
}
DEFECTS = tuple(name for name in _ORDERS if name != LEFT)
