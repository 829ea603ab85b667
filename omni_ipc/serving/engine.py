"""The engine as a team uses it: it starts its workers' processes, and ends them.

with Engine(EngineConfig(workers=2, device="cuda:{rank}"), "my.models:Denoiser") as engine:
    image = engine.generate(Request("1", "a lighthouse")).value
"""

from __future__ import annotations

import contextlib
import logging
import os
from typing import Any

import msgspec

from omni_ipc.errors import OmniError, UsageError
from omni_ipc.seam.api import Event, Runtime
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.core import EngineCore, EngineParts
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.executor import Executor
from omni_ipc.serving.factory import load
from omni_ipc.serving.group import HostGroup
from omni_ipc.serving.monitor import Monitor
from omni_ipc.serving.requests import Request
from omni_ipc.serving.spec import WorkerSpec
from omni_ipc.serving.streams import OutputStream
from omni_ipc.transport.geometry import SlotClass
from omni_ipc.transport.guests import Outlet

_LOGGER = logging.getLogger(__name__)

_PATIENCE = 6  # times shutdown_timeout_s: three for the shutdown itself, and as much for what is killed then


class PipelineSpec(msgspec.Struct, frozen=True):
    """A pipeline to be made in each worker.

    Args:
        path: "package.module:Class"; called with the options.
    """

    path: str
    options: dict[str, Any] = {}


class Engine(EngineCore):
    """Serves requests by a pipeline in processes of its own.

    Args:
        pipeline: its import path, "package.module:Class", or that with options.
        hosts: processes that outlive the engine, for engines one after another; those that died are replaced. Without,
            the engine starts its own.
        parts: the classes that it is built of; that of the workers must be importable there.

    Raises:
        UsageError: the pipeline, or the workers' runtime, cannot be imported, told before any process is started; or
            the hosts do not fit.
        PeerFailed: a worker could not build it.
        Timeout: a worker did not start within ``start_timeout_s``.
    """

    def __init__(
        self,
        config: EngineConfig,
        pipeline: str | PipelineSpec,
        *,
        hosts: HostGroup | None = None,
        rt: Runtime | None = None,
        parts: EngineParts | None = None,
    ) -> None:
        rt, parts = rt or NativeRuntime(), parts or EngineParts()
        self._process = os.getpid()
        spec = pipeline if isinstance(pipeline, PipelineSpec) else PipelineSpec(pipeline)
        for path in (spec.path, config.worker_runtime):
            load(path)
        with contextlib.ExitStack() as undo:
            if hosts is None:
                hosts = undo.enter_context(HostGroup(config.workers, timeout_s=config.start_timeout_s))
            if len(hosts.pids) != config.workers:
                raise UsageError(
                    f"workers={config.workers}, and the hosts have {len(hosts.pids)} ranks. Set workers to that, or "
                    f"give HostGroup({config.workers})."
                )
            slots = [SlotClass(*each) for each in config.output_slots]
            self._workers = hosts.open(rt, _worker_spec(config, spec, parts), slab_classes=slots)
            undo.callback(self._workers.kill)
            executor = self._calls = Executor(
                rt=rt, link=self._workers, table=parts.table(rt=rt), config=config, pump=parts.pump
            )
            super().__init__(rt=rt, executor=executor, config=config, parts=parts)
            self._monitor = Monitor(rt=rt, look=executor.look, every_s=config.poll_s)
            self._monitor.start()
            self._processes = undo.pop_all()

    def submit(self, request: Request) -> OutputStream:
        self._require_own_process()
        return super().submit(request)

    def call(self, method: str, /, *, timeout_s: float | None = None, **arguments: Any) -> list[Any]:
        self._require_own_process()
        return super().call(method, timeout_s=timeout_s, **arguments)

    def check_health(self) -> None:
        self._require_own_process()
        super().check_health()

    def shutdown(self) -> bool:
        """See `EngineCore.shutdown`. In a process that was forked off, it does nothing.

        It is done by a task of its own, which goes on if this call is interrupted: by Ctrl-C, or by a signal handler
        that calls it, too.
        """
        if os.getpid() != self._process:
            return False
        try:
            ended = self._begin_shutdown()
        except RuntimeError:  # the interpreter is ending, and starts no more threads
            return self._shut_down()
        try:
            return ended.result(_PATIENCE * self._config.shutdown_timeout_s)
        except TimeoutError:  # a signal handler has interrupted what the shutdown waits for
            return False

    @property
    def pids(self) -> tuple[int, ...]:
        """The ids of the workers' processes, by rank."""
        return self._workers.pids

    @property
    def outlet(self) -> Outlet:
        """What it takes to hand outputs on to another process, without a copy; see `Relay`."""
        return self._workers.outlet()

    def _stop(self) -> bool:
        """Stop the workers; those that do not end by themselves are killed."""
        over = self._rt.event()
        with contextlib.suppress(RuntimeError):  # the interpreter is ending, and starts no more threads
            self._rt.spawn(self._kill_unless, over, name="shutdown deadline")
        with self._processes:
            try:
                self._monitor.stop(self._config.shutdown_timeout_s)
                goodbye = super()._stop() and self._join()
            finally:
                over.set()
            if not goodbye:
                self._workers.kill_processes()
                self._calls.await_senders(self._config.shutdown_timeout_s)
            return goodbye

    def _kill_unless(self, over: Event) -> None:
        """Kill the workers if a shutdown takes too long: whatever it waits for, it is something of theirs."""
        if not over.wait(3 * self._config.shutdown_timeout_s):
            self._workers.kill_processes()

    def _join(self) -> bool:
        try:
            self._workers.join()
        except OmniError as error:  # what it failed with was told to whoever had asked for it
            _LOGGER.warning("A worker did not end in good order: %s", error)
            return False
        return True

    def _require_own_process(self) -> None:
        if os.getpid() != self._process:
            raise UsageError(
                f"This engine is of process {self._process}, and this one, {os.getpid()}, was forked off it: nothing "
                "of the engine runs here. Start one in each process, after the fork."
            )


def _worker_spec(config: EngineConfig, pipeline: PipelineSpec, parts: EngineParts) -> WorkerSpec:
    return WorkerSpec(
        worker=f"{parts.worker.__module__}:{parts.worker.__qualname__}",
        pipeline=pipeline.path,
        pipeline_options=pipeline.options,
        device=config.device,
        runtime=config.worker_runtime,
        runtime_options=config.worker_runtime_options,
        drain_timeout_s=config.drain_timeout_s,
    )
