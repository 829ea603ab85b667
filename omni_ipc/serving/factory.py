"""Makes a worker of its spec: classes by import path, lanes over the segments that came with it."""

from __future__ import annotations

import importlib
import inspect
import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from omni_ipc.device.api import Device, open_device
from omni_ipc.errors import UsageError
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.forks import staying
from omni_ipc.serving.messages import Command
from omni_ipc.serving.spec import ENGINE_SLAB, MOST_BYTES, SEND_TIMEOUT_S, SLAB, WorkerSpec
from omni_ipc.serving.worker import Worker
from omni_ipc.transport.bell import Bell, open_doorbell
from omni_ipc.transport.channel import LaneSender, PortReceiver
from omni_ipc.transport.lane import Lane
from omni_ipc.transport.lease import SlabReader
from omni_ipc.transport.memory import Segment
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.slab import Slab
from omni_ipc.transport.writer import LaneWriter


def load(path: str) -> Any:
    """Import "package.module:Class".

    Raises:
        UsageError: there is no such module or name in it, it raised, or what is there cannot be called.
    """
    if not isinstance(path, str):
        raise UsageError(f"{path!r:.200} cannot be sent to a worker. Give its import path: 'package.module:Class'.")
    module, _, name = path.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"'{path}' cannot be imported: {error}. Give it as 'package.module:Class'.") from error
    except (Exception, SystemExit) as error:  # whatever the module does
        raise UsageError(
            f"'{path}' cannot be imported: its module raised {type(error).__name__}: {error}. Mend the module."
        ) from error
    if not callable(found):
        raise UsageError(f"'{path}' is a {type(found).__name__}, which makes nothing. Name a class or a function.")
    return found


def make(path: str, options: Mapping[str, Any], offers: Mapping[str, Any]) -> Any:
    """Call what an import path names, with the options, and with those offers that it has a parameter for.

    Raises:
        UsageError: it cannot be imported.
    """
    factory = load(path)
    wanted = inspect.signature(factory).parameters if offers else {}
    return staying(factory)(**{name: offer for name, offer in offers.items() if name in wanted} | dict(options))


def make_runtime(spec: WorkerSpec, descriptors: Sequence[int]) -> Runtime:
    """Make the worker's runtime, which may want its rank, and the connection that came with the spec, if one did."""
    offers: dict[str, Any] = {"rank": spec.rank}
    if descriptors:
        offers["connection"] = socket.socket(fileno=descriptors[0])
    runtime: Runtime = make(spec.runtime, spec.runtime_options, offers)
    return runtime


def make_device(rt: Runtime, spec: WorkerSpec) -> Device:
    """Open the device: one of ours by its name, another one by its import path."""
    if "." not in spec.device:
        return open_device(spec.device)
    device: Device = make(spec.device, spec.device_options, {"rt": rt})
    return device


def make_worker(rt: Runtime, spec: WorkerSpec, segments: Sequence[Segment], device: Device) -> Worker:
    """Attach to the lanes, in the order of `SEGMENTS`, and make pipeline and worker."""
    requests, replies, outputs, engine_bell, worker_bell, large, inputs = segments
    leases = SlabReader(rt=rt, buffer=inputs.view, name=ENGINE_SLAB, reader=spec.rank)
    port = Port(
        rt=rt,
        lanes=[LaneReader(_lane(rt, requests, "requests"), slab=leases)],
        doorbell=open_doorbell(rt=rt, buffer=worker_bell.view),
    )
    bell = open_doorbell(rt=rt, buffer=engine_bell.view)
    slab = Slab(rt=rt, buffer=large.view, name=SLAB, prepare=_preparing(large, device))
    device.land_in(slab)
    offers = {"rt": rt, "device": device.name, "opened": device, "rank": spec.rank, "ranks": spec.ranks}
    worker: Worker = load(spec.worker)(
        rt=rt,
        requests=PortReceiver(port, Command),
        replies=_sender(rt, replies, "worker.main", bell, slab),
        outputs=_sender(rt, outputs, "worker.output", bell, slab),
        pipeline=make(spec.pipeline, spec.pipeline_options, offers),
        device=device,
        rank=spec.rank,
        drain_timeout_s=spec.drain_timeout_s,
    )
    return worker


def _preparing(segment: Segment, device: Device) -> Callable[[int, int], None]:
    """Make what gives a slot its memory, and lets the device copy into it."""

    def prepare(offset: int, nbytes: int) -> None:
        segment.reserve(offset, nbytes)
        device.pin(segment.view[offset : offset + nbytes])

    return prepare


def _sender(rt: Runtime, segment: Segment, name: str, bell: Bell, slab: Slab) -> LaneSender[Any]:
    writer = LaneWriter(_lane(rt, segment, name), doorbell=bell)
    return LaneSender(writer, timeout=SEND_TIMEOUT_S, slab=slab)


def _lane(rt: Runtime, segment: Segment, name: str) -> Lane:
    return Lane(rt=rt, buffer=segment.view, name=name, max_message_bytes=MOST_BYTES)
