"""All scenarios by name: how each world calls the actors of its model, and of which steps the model speaks."""

from __future__ import annotations

from collections.abc import Mapping

from omni_ipc.records import MemoryOrder
from omni_ipc.scenarios import (
    abandoned_stream,
    admission,
    admitting,
    async_output,
    cancelling,
    closing,
    device_copy,
    device_streams,
    drain,
    drain_before_sleep,
    dual_writer_ring,
    dual_writer_stores,
    future_orphan,
    lane,
    large_messages,
    late_answer,
    leaving,
    long_render,
    overflow,
    pump_survival,
    reused_request_id,
    shutdown_salvage,
    split_map,
    timeout_order,
)
from omni_ipc.scenarios.scenario import Scenario, Staged
from omni_ipc.testbed.faults import EarlyTimers, Kill

_PATH = {"Worker": "worker.output", "Pump": "pump", "Dispatcher": "dispatcher", "Consumer": "consumer {output}"}

_DRAINING = {
    "Worker": "worker.output",
    "Worker.HandOver": "worker.main",
    "Worker.Drain": "worker.main",
    "Pipeline": "worker.main",
    "Device": "worker.output",
}

_DRAINING_STEPS = frozenset(
    {
        *(("worker.main", action) for action in ("Worker.HandOver", "Worker.Drain", "Pipeline.Free")),
        *(("worker.output", action) for action in ("Device.Copy", "Worker.Announce", "Worker.Settle")),
    }
)

_CLIENTS = {
    "Engine": "client {number}",
    "Dispatcher": "dispatcher",
    "Pump": "pump",
    "Consumer": "client {number}",
    "Stream": "client {number}",
}

_ENGINE = {("dispatcher", "Dispatcher.Take"), ("dispatcher", "Dispatcher.Settle"), ("pump", "Pump.Deliver")}


def _clients(*regions: str) -> set[tuple[str, str]]:
    """Steps of two clients."""
    return {(f"client {number}", region) for number in (1, 2) for region in regions}


_REQUEST_PATH = _ENGINE | _clients("Engine.Admit", "Consumer.Wait", "Stream.Deliver", "Stream.End")

_ALWAYS = 1 << 30
"""How often time may pass in a world whose model has a step for it: each time that it is asked for."""

_LANE = {"Writer": "writer", "Reader": "reader", "Ringer": "{side}", "Sleeper": "{side}"}

_LANE_AGENTS = {"FaultKill": "kill({side})", "TimePass": "time", "HardwareFlush": "{side}'s stores"}

_OPENED = ("Writer.Publish", "Reader.Take", "Bell.Park")
"""Regions of a lane that are taken apart."""

_ON_STREAMS = Staged("omni_ipc.stress.devices:StreamPipeline", device="omni_ipc.stress.devices:open_streams")

SCENARIOS: Mapping[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            name="split_map",
            model="SplitMap",
            world=split_map.SplitMapWorld,
            tasks=_PATH,
            steps=frozenset(
                {
                    ("worker.output", "Worker.Announce"),
                    ("pump", "Pump.Unpack"),
                    ("pump", "Pump.TakeSplit"),
                    ("dispatcher", "Dispatcher.Expect"),
                    *((f"consumer {output}", "Consumer.Wait") for output in split_map.OUTPUTS),
                }
            ),
        ),
        Scenario(
            name="dual_writer_ring",
            model="DualWriterRing",
            world=dual_writer_ring.DualWriterRingWorld,
            tasks={"Writer": "{writer}", "Reader": "pump"},
            steps=frozenset(
                {
                    *((writer, "Writer.Claim") for writer in dual_writer_ring.WRITERS),
                    *((writer, "Writer.Publish") for writer in dual_writer_ring.WRITERS),
                    ("pump", "Reader.Take"),
                }
            ),
            transparent=("Worker.Reply", "Worker.Announce"),
        ),
        Scenario(
            name="dual_writer_stores",
            model="DualWriterStores",
            world=dual_writer_stores.DualWriterStoresWorld,
            tasks={"Writer": "{writer}", "Reader": "reader of {ring}"},
            steps=dual_writer_stores.STEPS,
            transparent=("Writer.Publish",),
            faults=(EarlyTimers(_ALWAYS),),
            agents={"HardwareFlush": "{writer}'s stores to {cell}", "TimePass": "time"},
            orders={"SC": MemoryOrder.SC, "TSO": MemoryOrder.TSO, "WEAK": MemoryOrder.RELEASE},
        ),
        Scenario(
            name="lane",
            model="Lane",
            world=lane.LaneWorld,
            tasks=_LANE,
            steps=lane.STEPS,
            transparent=_OPENED,
            faults=(EarlyTimers(_ALWAYS), Kill("writer"), Kill("reader")),
            agents=_LANE_AGENTS,
        ),
        Scenario(
            name="lane_stores",
            model="LaneStores",
            world=lane.LaneWorld,
            tasks=_LANE,
            steps=lane.STEPS,
            transparent=_OPENED,
            agents=_LANE_AGENTS,
            memory=MemoryOrder.TSO,
        ),
        Scenario(
            name="future_orphan",
            model="FutureOrphan",
            world=future_orphan.FutureOrphanWorld,
            tasks=_PATH,
            steps=frozenset(
                {
                    ("worker.output", "Worker.Announce"),
                    ("pump", "Pump.Unpack"),
                    ("pump", "Pump.Deliver"),
                    (f"consumer {future_orphan.OUTPUT}", "Consumer.Wait"),
                }
            ),
        ),
        Scenario(
            name="overflow",
            world=overflow.OverflowWorld,
            transparent=("Worker.Reply", "Worker.Announce", "Worker.Close"),
            staged=Staged(options={"count": 16}),  # numbers that a datagram holds
        ),
        Scenario(
            name="large_messages",
            model="Overflow",
            world=large_messages.LargeMessagesWorld,
            tasks={"Writer": "writer", "Reader": "reader"},
            steps=frozenset(
                {
                    *(("writer", f"Writer.{verb}") for verb in ("Claim", "Look", "Publish")),
                    *(("reader", f"Reader.{verb}") for verb in ("Join", "Look", "Take")),
                }
            ),
        ),
        Scenario(name="drain", world=drain.DrainWorld, staged=_ON_STREAMS),
        Scenario(
            name="drain_before_sleep",
            model="DrainBeforeSleep",
            world=drain_before_sleep.DrainBeforeSleepWorld,
            tasks=_DRAINING,
            steps=_DRAINING_STEPS,
        ),
        Scenario(name="device_copy", world=device_copy.DeviceCopyWorld, staged=_ON_STREAMS),
        Scenario(
            name="device_streams",
            model="DeviceCopy",
            world=device_streams.DeviceStreamsWorld,
            tasks={"Worker": "worker.output", "Worker.HandOver": "worker.main"},
            steps=frozenset({("worker.main", "Worker.HandOver"), ("worker.output", "Worker.Announce")}),
            agents={"DefaultStep": "device.default", "SideStep": "device.side"},
        ),
        Scenario(name="disconnect", world=leaving.DisconnectWorld),
        Scenario(name="several_outputs", world=leaving.SeveralOutputsWorld),
        Scenario(name="reuse", world=leaving.ReuseWorld),
        Scenario(name="abort", world=leaving.AbortWorld),
        Scenario(name="salvage", world=admission.SalvageWorld),
        Scenario(name="admission", world=admission.AdmissionWorld),
        Scenario(
            name="long_render",
            world=long_render.LongRenderWorld,
            staged=Staged("omni_ipc.scenarios.answering:RenderingPipeline"),
        ),
        Scenario(
            name="timeout_order",
            model="TimeoutOrder",
            world=timeout_order.TimeoutOrderWorld,
            tasks={
                **_DRAINING,
                "Operator": "operator {seconds}",
                "Consumer": "consumer {output}",
            },
            steps=frozenset(
                {
                    *((f"operator {seconds}", "Operator.Set") for seconds in timeout_order.SETTINGS_S),
                    *_DRAINING_STEPS,
                    *((f"consumer {output}", "Consumer.Wait") for output in timeout_order.TAKES_S),
                    *((f"consumer {output}", "Consumer.Drop") for output in timeout_order.TAKES_S),
                }
            ),
        ),
        Scenario(name="cancelling", world=cancelling.CancellingWorld),
        Scenario(
            name="pump_survival",
            model="PumpSurvival",
            world=pump_survival.PumpSurvivalWorld,
            tasks={**_PATH, "Executor": "pump", "Fault": "fault"},
            steps=frozenset(
                {
                    ("worker.output", "Worker.Announce"),
                    ("fault", "Fault.BreakLane"),
                    *(("pump", action) for action in ("Pump.Unpack", "Pump.Deliver", "Executor.Close")),
                    *((f"consumer {output}", "Consumer.Wait") for output in pump_survival.OUTPUTS),
                    *((f"consumer {output}", "Consumer.Cancel") for output in pump_survival.LEAVING),
                    *((f"consumer {output}", "Consumer.Drop") for output in pump_survival.LEAVING),
                }
            ),
        ),
        Scenario(
            name="late_answer",
            model="StaleReply",
            world=late_answer.LateAnswerWorld,
            staged=Staged("omni_ipc.scenarios.late_answer:EchoingPipeline"),
            tasks={"Dispatcher": "dispatcher", "Worker": "worker.main", "Pump": "pump"},
            steps=frozenset(
                {
                    *(("dispatcher", f"Dispatcher.{verb}") for verb in ("Call", "Send", "Wake", "Abandon")),
                    ("worker.main", "Worker.Reply"),
                    ("pump", "Pump.Reply"),
                }
            ),
        ),
        Scenario(name="closing", world=closing.ClosingWorld),
        Scenario(
            name="async_output",
            model="AsyncOutput",
            world=async_output.AsyncOutputWorld,
            tasks=async_output.TASKS,
            steps=async_output.STEPS,
            faults=(Kill("worker"),),
            agents={"FaultKill": "kill(worker)"},
        ),
        Scenario(
            name="abandoned_stream",
            model="AbandonedStream",
            world=abandoned_stream.AbandonedStreamWorld,
            tasks={**_CLIENTS, "Engine.Abort": "abort", "Engine.Statistics": "monitor"},
            steps=frozenset(
                _ENGINE
                | _clients("Engine.Admit")
                | {("client 1", "Stream.End"), ("client 2", "Stream.Desert")}
                | {("abort", "Engine.Abort"), ("monitor", "Engine.Statistics")}
            ),
        ),
        Scenario(
            name="admitting",
            model="Admission",
            world=admitting.AdmittingWorld,
            tasks={**_CLIENTS, "Engine.Abort": "abort"},
            steps=frozenset(_REQUEST_PATH | {("abort", "Engine.Abort")}),
        ),
        Scenario(
            name="shutdown_salvage",
            model="ShutdownSalvage",
            world=shutdown_salvage.ShutdownSalvageWorld,
            tasks={
                **_CLIENTS,
                "Engine.Close": "{by}",
                "Worker": "worker.output {forward}",
                "Executor": "shutdown",
                "Executor.Close": "{by}",
            },
            steps=frozenset(
                _REQUEST_PATH
                | {("dispatcher", "Engine.Close"), ("dispatcher", "Dispatcher.Leave"), ("pump", "Executor.Close")}
                | {("shutdown", "Engine.Close"), ("shutdown", "Executor.Close")}
                | {("shutdown", "Executor.Refuse"), ("shutdown", "Executor.Stop")}
                | {(f"worker.output {forward}", "Worker.Announce") for forward in (1, 2)}
            ),
        ),
        Scenario(
            name="reused_request_id",
            model="ReusedRequestId",
            world=reused_request_id.ReusedRequestIdWorld,
            tasks=_CLIENTS,
            steps=frozenset(_REQUEST_PATH),
        ),
    )
}
