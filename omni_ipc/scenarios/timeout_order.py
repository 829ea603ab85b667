"""Two long renders, a worker that is to sleep behind them, and settings that change: who gives up, and when.

dispatcher ─ execute, execute, sleep until it is done ─► worker.main ── drains, or refuses in time
consumers ◄── pump ◄── worker.output ◄── a device that takes its time
operators ─ OMNI_IPC_OUTPUT_TIMEOUT

Here time is part of the model, TimeoutOrder: it is virtual, and passes when nobody has anything left to do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from omni_ipc.device.api import DeviceEvent
from omni_ipc.errors import OmniError, PeerFailed, Timeout, UsageError
from omni_ipc.scenarios.drain import Memory, PoolDevice, PooledPipeline
from omni_ipc.scenarios.launch import launch_over_queues
from omni_ipc.scenarios.parts import Parts
from omni_ipc.scenarios.pipelines import is_output_of
from omni_ipc.scenarios.world import DELIVERED, END, Launch, OutputsLost, PendingStep
from omni_ipc.seam.api import Future, Runtime
from omni_ipc.serving.config import ServingConfig
from omni_ipc.serving.executor import Executor
from omni_ipc.serving.requests import Request
from omni_ipc.serving.timeouts import VARIABLE

TAKES_S = {"1": 45.0, "2": 15.0}
SETTINGS_S = (5, 100)
CONFIG = ServingConfig(output_timeout_s=60, drain_timeout_s=20, poll_s=1000)
GAVE_UP = "gave up"
ALLOWED = {"1": {DELIVERED}, "2": {DELIVERED, GAVE_UP}}


class SlowDevice(PoolDevice):
    """Takes its time for each copy."""

    def __init__(self, rt: Runtime, memory: Memory) -> None:
        super().__init__(rt, memory, takes_s=0)
        self._durations_s: Iterator[float] = iter(TAKES_S.values())

    def to_host(self, tree: Any, *, after: DeviceEvent) -> Any:
        self._takes_s = next(self._durations_s)
        return super().to_host(tree, after=after)


class TimeoutOrderWorld:
    """Lets the renders be computed and awaited while the worker is told to sleep."""

    def __init__(self, rt: Runtime, parts: Parts, launch: Launch | None = None) -> None:
        if launch is not None or not _is_virtual(rt):
            raise UsageError("The time of this scenario is virtual. Replay it there: --on controlled.")
        self._rt = rt
        self._environ: dict[str, str] = {}
        self._table = parts.table(rt=rt)
        output_timeout = parts.timeout(CONFIG, self._environ)
        output_timeout._warned.update(map(str, SETTINGS_S))  # in thousands of runs, once is too often
        memory = Memory(rt)
        self._device = SlowDevice(rt, memory)
        self._link = launch_over_queues(
            rt, parts, pipeline=PooledPipeline(rt, memory), device=self._device, drain_timeout_s=CONFIG.drain_timeout_s
        )
        self._executor = Executor(
            rt=rt,
            link=self._link,
            table=self._table,
            config=CONFIG,
            pump=parts.pump,
            output_timeout=output_timeout,
        )
        self._minted = [self._executor.mint(1) for _ in TAKES_S]
        self._futures: dict[str, Future[Any]] = {}
        self._endings: dict[str, str] = {}
        self._is_asleep = False

    def run(self) -> Sequence[tuple[str, str]]:
        """Run to the end.

        Returns:
            How it ended for each consumer.

        Raises:
            OutputsLost: a consumer gave up on what came in time, or got something else.
        """
        self._executor.start()
        tasks = [
            self._rt.spawn(self._run_dispatcher, name="dispatcher"),
            *(self._rt.spawn(self._set, seconds, name=f"operator {seconds}") for seconds in SETTINGS_S),
            *(self._rt.spawn(self._consume, output, name=f"consumer {output}") for output in TAKES_S),
        ]
        for task in tasks:
            task.join()
        with self._rt.region(END):
            pass
        self._executor.shutdown()
        self._link.join()
        endings = tuple(sorted(self._endings.items()))
        if lost := [f"{who}: {ending}" for who, ending in endings if ending not in ALLOWED[who]]:
            raise OutputsLost("\n".join(lost))
        return endings

    def project(self, pending: PendingStep) -> Mapping[str, object]:
        """Project onto the variables of TimeoutOrder, but for its clocks: who can go on, shows what they say."""
        announcer, copies = self._link.worker._announcer, self._device.copies
        queue: Any = announcer._computed
        computed = len(self._device.after) + len([each for each in queue.queue if each is not None])
        return {
            "setting": int(self._environ.get(VARIABLE, "0")),
            "unset": {seconds for seconds in SETTINGS_S if pending(f"operator {seconds}") is not None},
            "main": self._project_main(pending, computed),
            "computed": computed,
            "in_flight": {job.output for job in announcer.in_flight._jobs},
            "hand": self._project_hand(pending, len(copies)),
            "waiter": {output: self._project_waiter(output) for output in TAKES_S},
        }

    def _project_main(self, pending: PendingStep, computed: int) -> str:
        if self._is_asleep:
            return "done"
        if (pending("worker.main") or ("",))[0] == "Pipeline.Free":
            return "free"
        return "compute" if computed < len(TAKES_S) else "drain"

    def _project_hand(self, pending: PendingStep, copied: int) -> Mapping[str, object]:
        match pending("worker.output"):
            case ("Worker.Announce", {"output": output}):
                return {"at": "announce", "output": output}
            case ("Worker.Settle", {"output": output}):
                return {"at": "settle", "output": output}
        if len(self._device.after) > copied:
            return {"at": "copy", "output": [*TAKES_S][copied]}
        return {"at": "idle", "output": "none"}

    def _project_waiter(self, output: str) -> str:
        future = self._futures.get(output)
        if future is None:
            return "absent"
        if output not in self._endings:
            return "late" if future.done() else "waiting"
        return "served" if self._endings[output] == DELIVERED else self._endings[output]

    def _run_dispatcher(self) -> None:
        for minted in self._minted:
            self._executor.execute([Request(minted.output)], minted)
        while not self._is_asleep:
            try:
                self._executor.call("sleep")
            except PeerFailed as error:
                if "still in flight" not in str(error):
                    raise
            else:
                self._is_asleep = True

    def _set(self, seconds: int) -> None:
        """Change a setting, while the engine runs.

        Spec: OperatorSet
        """
        with self._rt.region("Operator.Set", seconds=seconds):
            self._environ[VARIABLE] = str(seconds)

    def _consume(self, output: str) -> None:
        try:
            future = self._futures[output] = self._executor.wait(output)
            value = self._executor.result(output, future)
        except Timeout:
            self._endings[output] = GAVE_UP
        except OmniError as error:
            self._endings[output] = str(error)
        else:
            intact = is_output_of(output, value)
            self._endings[output] = DELIVERED if intact else "it came with other bytes than were computed"


def _is_virtual(rt: Runtime) -> bool:
    from omni_ipc.testbed import ControlledRuntime  # not with this module: worker processes do without the testbed

    return isinstance(rt, ControlledRuntime)
