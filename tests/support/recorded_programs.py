"""Programs whose recordings lie in ``spec/trace``: engines with a worker, whose regions wait for each other.

omni-ipc record --to DIR -- python -m tests.support.recorded_programs NAME [DEFECT]
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from omni_ipc.errors import Aborted, Full, PeerFailed, Timeout
from omni_ipc.records import Field
from omni_ipc.seam import api
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.engine import Engine, PipelineSpec
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.requests import Request
from omni_ipc.serving.streams import OutputStream
from omni_ipc.stress.defective import build
from tests.serving.contract.models import LateDevice, Model

PATIENCE_S = 20.0
PIPELINE = "tests.support.recorded_programs:Telling"
DEVICE = "tests.support.recorded_programs:Late"


class Holding(NativeRuntime):
    """Lets nobody come to a region before another one was left.

    Attributes:
        after: region -> the other one; "task: region" holds this task alone.
        held: of these, whether somebody has come there.
        passed: region -> whether somebody has left it.
    """

    def __init__(self) -> None:
        self.after: dict[str, str] = {}
        self.held: Mapping[str, threading.Event] = defaultdict(threading.Event)
        self.passed: Mapping[str, threading.Event] = defaultdict(threading.Event)

    def region(
        self, action: str, lock: api.Lock | api.Condition | None = None, /, **fields: Field
    ) -> AbstractContextManager[Any, bool | None]:
        for name in {action, f"{threading.current_thread().name}: {action}"} & self.after.keys():
            self.held[name].set()
            assert self.passed[self.after[name]].wait(PATIENCE_S)
        return self._noted(action, super().region(action, lock, **fields))

    def awaited(self, region: str) -> None:
        """Wait until somebody leaves a region, and take note of the next one who does."""
        assert self.passed[region].wait(PATIENCE_S)
        self.forget(region)

    def forget(self, *regions: str) -> None:
        """Take note only of who leaves them from now on."""
        for region in regions:
            self.passed[region].clear()

    @contextlib.contextmanager
    def _noted(self, action: str, inner: AbstractContextManager[Any, bool | None]) -> Iterator[None]:
        with inner:
            yield
        self.passed[action].set()


class Telling(Model):
    """Tells when it gives its memory back."""

    def sleep(self, level: int) -> None:
        """Give the memory back."""
        with self._rt.region("Pipeline.Free"):
            super().sleep(level)


class Late(LateDevice):
    """Comes to each output half a second late."""

    EVERY = 1


def late_answers(rt: Holding, engine: Engine) -> None:
    """One call is answered when it is being given up, one when the next one waits, and the last in time."""
    rt.after["Dispatcher.Abandon"] = "Pump.Reply"
    with contextlib.suppress(Timeout):
        engine.generate(Request("slow", options={"forward_s": 0.5}))
    rt.after.clear()
    for request in (Request("slower", options={"forward_s": 0.5}), Request("fast")):
        with contextlib.suppress(Timeout):
            engine.generate(request)


def overtaken(rt: Holding, engine: Engine) -> None:
    """Another task has taken the number of its call when the dispatcher takes the next one, and calls before it."""
    engine.generate(Request("first"))
    rt.passed["Dispatcher.Send"].clear()
    rt.after["waking: Dispatcher.Call"] = "Dispatcher.Send"
    waking = threading.Thread(target=engine.wake, name="waking")
    waking.start()
    assert rt.held["waking: Dispatcher.Call"].wait(PATIENCE_S)
    engine.generate(Request("second"))
    waking.join()


def sleeps(rt: Holding, engine: Engine) -> None:
    """One sleep is refused, for an output is in flight; the next one is not, and behind it there are outputs again."""
    stream = engine.submit(Request("first"))
    assert rt.passed["Dispatcher.Settle"].wait(PATIENCE_S)
    with contextlib.suppress(PeerFailed):
        engine.sleep()
    with contextlib.suppress(Timeout):
        stream.result()
    engine.sleep()
    engine.wake()
    engine.generate(Request("second"))


def leaves(rt: Holding, engine: Engine) -> None:
    """One consumer goes away while its output is unpacked, and one asks for its own when the pump has ended."""
    stream = engine.submit(Request("later"))
    assert rt.passed["Pump.Deliver"].wait(PATIENCE_S)
    rt.after["Pump.Deliver"] = "Stream.End"
    rt.passed["Pump.Unpack"].clear()

    async def leave() -> None:
        taking = asyncio.ensure_future(engine.submit(Request("left")).output())
        assert await asyncio.to_thread(rt.passed["Pump.Unpack"].wait, PATIENCE_S)
        taking.cancel()
        await asyncio.wait([taking])

    asyncio.run(leave())
    engine.shutdown()
    stream.result()


def reuses(rt: Holding, engine: Engine) -> None:
    """One stream is closed while its output lies here beside that of the same id; one when its output is on its way."""
    old, _ = engine.submit(Request("same")), rt.awaited("Pump.Deliver")
    new, _ = engine.submit(Request("same")), rt.awaited("Pump.Deliver")
    old.close()
    with contextlib.suppress(Aborted):
        new.result()
    rt.after["Pump.Deliver"] = "Stream.End"
    rt.forget("Stream.End", "Dispatcher.Settle")
    late, _ = engine.submit(Request("late")), rt.awaited("Dispatcher.Settle")
    late.close()


def admits(rt: Holding, engine: Engine) -> None:
    """One request is refused; one is aborted when its client has the output in hands, one when that is on its way."""
    slow, _ = engine.submit(Request("slow", options={"forward_s": 0.5})), rt.awaited("Dispatcher.Send")
    waiting = engine.submit(Request("waiting"))
    with contextlib.suppress(Full):
        engine.submit(Request("one too many"))
    slow.result()
    rt.after["Stream.Deliver"] = "Engine.Abort"
    taking = threading.Thread(target=lambda: _take(waiting))
    taking.start()
    assert rt.held["Stream.Deliver"].wait(PATIENCE_S)
    engine.abort("waiting")
    taking.join()
    rt.after = {"Pump.Deliver": "Engine.Abort"}
    rt.forget("Engine.Abort", "Dispatcher.Settle")
    late, _ = engine.submit(Request("late")), rt.awaited("Dispatcher.Settle")
    engine.abort("late")
    _take(late)
    engine.generate(Request("last"))


def abandons(rt: Holding, engine: Engine) -> None:
    """One stream is deleted while its output lies here, one when that is on its way; the last is served."""
    kept, _ = engine.submit(Request("kept")), rt.awaited("Pump.Deliver")
    del kept
    engine.statistics()
    rt.after["Pump.Deliver"] = "Engine.Statistics"
    rt.forget("Engine.Statistics", "Dispatcher.Settle")
    late, _ = engine.submit(Request("late")), rt.awaited("Dispatcher.Settle")
    del late
    engine.statistics()
    engine.generate(Request("last"))


def _take(stream: OutputStream) -> None:
    with contextlib.suppress(Aborted):
        stream.result()


PROGRAMS: Mapping[str, tuple[Callable[[Holding, Engine], None], EngineConfig]] = {
    "late_answers": (late_answers, EngineConfig(max_batch=1, rpc_timeout_s=0.3)),
    "overtaken": (overtaken, EngineConfig()),
    "sleeps": (sleeps, EngineConfig(drain_timeout_s=0.1, device=DEVICE)),
    "leaves": (leaves, EngineConfig(device=DEVICE)),
    "reuses": (reuses, EngineConfig(max_batch=1, device=DEVICE)),
    "abandons": (abandons, EngineConfig(max_batch=1, device=DEVICE)),
    "admits": (admits, EngineConfig(max_batch=1, max_waiting=1, device=DEVICE)),
}


def main(arguments: Sequence[str]) -> None:
    """Run a program, with a defect if one is named."""
    name, *defect = arguments
    program, config = PROGRAMS[name]
    built, rt = build(defect[0] if defect else None), Holding()
    pipeline = PipelineSpec(PIPELINE)
    with built.engine(config, pipeline, rt=rt, parts=built.parts) as engine:
        program(rt, engine)


if __name__ == "__main__":
    main(sys.argv[1:])
