"""Defects, each a small override of one method of the reference; the product itself contains none."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from omni_ipc.scenarios.defects_device import SleepWithoutDrain, UnsynchronisedCopy
from omni_ipc.scenarios.defects_engine import DeferredAdmission, ShortOutputTimeout, ShutdownDiscardsDelivered
from omni_ipc.scenarios.defects_executor import CancelledFuture, StaleReply, WaitAfterShutdown
from omni_ipc.scenarios.defects_lane import (
    ClosedAtOnce,
    DeathBeforeDrain,
    LostWakeup,
    MissingReaderFence,
    MissingReleaseFence,
    MissingWriterFence,
    NoRoomAskedFor,
    PositionBeforeCount,
    PublishBeforeBody,
    SleepsOn,
)
from omni_ipc.scenarios.defects_link import AggregateOverflow, LossyOverflow, TimeoutConsumes
from omni_ipc.scenarios.defects_streams import (
    AbandonedStream,
    AbortedOutputLeak,
    ReusedRequestId,
    StreamLeftOpen,
    WaitCountedAsCompute,
)
from omni_ipc.scenarios.legacy.shared_lane import SharingSender
from omni_ipc.scenarios.parts import Parts
from omni_ipc.serving.links import Delivery
from omni_ipc.serving.messages import OutputReady, Reply
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.pump import ResultPump, unpack
from omni_ipc.serving.worker import Worker
from omni_ipc.transport.channel import LaneSender


class LateSplitMap(OutputTable):
    """Registers the split map of a batch without a look at whether the batch is here already."""

    def expect_batch(self, batch: str, outputs: Sequence[str]) -> None:
        with self._rt.region("Dispatcher.Expect", self._lock, batch=batch):
            self._splits[batch] = tuple(outputs)


class DualWriters(Worker):
    """Lets the output thread write to the lane of the main loop."""

    def __init__(self, *, replies: LaneSender[Reply], outputs: LaneSender[Reply], **others: Any) -> None:
        super().__init__(replies=replies, outputs=SharingSender(other=replies, own=outputs), **others)


class UnpackOutsideLock(ResultPump):
    """Pops the future in a critical section of its own, and unpacks before it enters the next one."""

    def take_output(self, ready: OutputReady, delivery: Delivery[Reply]) -> None:
        table = self._table
        with self._rt.region("Pump.Unpack", table._lock, output=ready.output):
            future = table._waiting.pop(ready.output, None)
        value = unpack(delivery)
        with self._rt.region("Pump.Deliver", table._lock, output=ready.output, holding=future is not None):
            if future is not None:
                future.set_result(value)
            else:
                table._cached[ready.output] = value


@dataclasses.dataclass(frozen=True, slots=True)
class Defect:
    """A fault, put in on purpose: where it shows, and what to build the world of.

    Args:
        also: scenarios besides, in which it can be driven along a model.
    """

    name: str
    scenario: str
    parts: Parts
    also: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """What the defective part does, in one sentence."""
        changed = next(kind for kind in dataclasses.astuple(self.parts) if kind not in dataclasses.astuple(Parts()))
        return str(changed.__doc__)


DEFECTS = {
    defect.name: defect
    for defect in (
        Defect("late_split_map", "split_map", Parts(table=LateSplitMap)),
        Defect("dual_writers", "dual_writer_ring", Parts(worker=DualWriters), also=("dual_writer_stores",)),
        Defect("unpack_outside_lock", "future_orphan", Parts(pump=UnpackOutsideLock)),
        Defect("lossy_overflow", "overflow", Parts(link=LossyOverflow), also=("large_messages",)),
        Defect("timeout_consumes", "overflow", Parts(link=TimeoutConsumes), also=("large_messages",)),
        Defect("aggregate_overflow", "overflow", Parts(link=AggregateOverflow), also=("large_messages",)),
        Defect("sleep_without_drain", "drain", Parts(worker=SleepWithoutDrain), also=("drain_before_sleep",)),
        Defect("unsynchronised_copy", "device_copy", Parts(worker=UnsynchronisedCopy), also=("device_streams",)),
        Defect("abandoned_stream", "disconnect", Parts(scheduler=AbandonedStream), also=("abandoned_stream",)),
        Defect("stream_left_open", "several_outputs", Parts(streams=StreamLeftOpen), also=("abandoned_stream",)),
        Defect("reused_request_id", "reuse", Parts(scheduler=ReusedRequestId), also=("reused_request_id",)),
        Defect("aborted_output_leak", "abort", Parts(table=AbortedOutputLeak), also=("abandoned_stream",)),
        Defect(
            "shutdown_discards_delivered",
            "salvage",
            Parts(scheduler=ShutdownDiscardsDelivered),
            also=("shutdown_salvage", "async_output"),
        ),
        Defect("deferred_admission", "admission", Parts(engine=DeferredAdmission), also=("admitting",)),
        Defect("short_output_timeout", "long_render", Parts(timeout=ShortOutputTimeout), also=("timeout_order",)),
        Defect("wait_counted_as_compute", "long_render", Parts(stream=WaitCountedAsCompute)),
        Defect("cancelled_future", "cancelling", Parts(pump=CancelledFuture), also=("pump_survival",)),
        Defect("stale_reply", "late_answer", Parts(table=StaleReply)),
        Defect(
            "wait_after_shutdown", "closing", Parts(table=WaitAfterShutdown), also=("shutdown_salvage", "async_output")
        ),
    )
}
"""Those of the field, each put back."""

UNMET = {
    defect.name: defect
    for defect in (
        Defect("publish_before_body", "lane", Parts(writer=PublishBeforeBody)),
        Defect("position_before_count", "lane", Parts(writer=PositionBeforeCount)),
        Defect("missing_release_fence", "dual_writer_stores", Parts(writer=MissingReleaseFence)),
        Defect("no_room_asked_for", "lane", Parts(writer=NoRoomAskedFor)),
        Defect("closed_at_once", "lane", Parts(writer=ClosedAtOnce)),
        Defect("death_before_drain", "lane", Parts(reader=DeathBeforeDrain)),
        Defect("lost_wakeup", "lane", Parts(bell=LostWakeup)),
        Defect("sleeps_on", "lane", Parts(bell=SleepsOn)),
        Defect("missing_writer_fence", "lane_stores", Parts(bell=MissingWriterFence)),
        Defect("missing_reader_fence", "lane_stores", Parts(bell=MissingReaderFence)),
    )
}
"""Those that nobody has met in the field: what the lane's order of accesses is for."""

KNOWN = DEFECTS | UNMET
