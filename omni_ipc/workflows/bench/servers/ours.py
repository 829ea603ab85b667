"""omni_ipc: outputs in the slots of a slab, announced on a lane; the consumer looks at them where they lie."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from omni_ipc.seam.api import Runtime
from omni_ipc.serving.executor import Executor
from omni_ipc.serving.group import HostGroup
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.spec import WorkerSpec
from omni_ipc.transport.arrays import Source
from omni_ipc.transport.geometry import SlotClass
from omni_ipc.transport.lane import Lane
from omni_ipc.workflows.bench.priority import come_first
from omni_ipc.workflows.bench.server import CONFIG, RT, Case, Counted

_SMALLEST_SLOT = 1 << 14


class Ours:
    """A worker in a host process."""

    def __init__(self, case: Case) -> None:
        slot_bytes = max(_SMALLEST_SLOT, 1 << (case.nbytes - 1).bit_length())
        spec = WorkerSpec(pipeline=f"{__name__}:counted", pipeline_options={"nbytes": case.nbytes})
        self._copied = count_copies()
        self._hosts = HostGroup()
        self._link = self._hosts.open(RT, spec, slab_classes=[SlotClass(slot_bytes, 2 * case.batch)])
        self.executor = Executor(rt=RT, link=self._link, table=OutputTable(rt=RT), config=CONFIG)

    def copied(self) -> int:
        (there,) = self.executor.call("copied")
        return self._copied() + int(there)

    def close(self) -> None:
        with self._hosts:
            if self.executor.shutdown():
                self._link.join()
            self._link.kill()


def counted(rt: Runtime, nbytes: int) -> Counted:
    """Make the pipeline, in the worker's process, whose session is its own."""
    come_first()
    return Counted(rt=rt, nbytes=nbytes, copied=count_copies())


@functools.cache
def count_copies() -> Callable[[], int]:
    """Count from now on what this process copies into slots, into rings, and out of them."""
    total = [0]

    def counting(copy: Callable[..., Any], nbytes: Callable[..., int]) -> Callable[..., Any]:
        def counted(*arguments: Any) -> Any:
            total[0] += nbytes(*arguments)
            return copy(*arguments)

        return counted

    Source.copy_to = counting(Source.copy_to, lambda source, _: source.nbytes)  # type: ignore[method-assign]
    Lane.write = counting(Lane.write, lambda _, __, data: len(data))  # type: ignore[method-assign]
    Lane.read = counting(Lane.read, lambda _, __, nbytes: nbytes)  # type: ignore[method-assign]
    return lambda: total[0]
