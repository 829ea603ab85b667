"""Runs a scenario in real time, its steps in the order of a trace: on threads, or with a real worker process."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from omni_ipc.errors import EnvironmentMissing, Inconclusive, OmniError
from omni_ipc.records import Failure, FailureKind, Step
from omni_ipc.scenarios import Launch, OutputsLost, Parts, Scenario
from omni_ipc.scenarios.scenario import Staged
from omni_ipc.scenarios.world import CONFIG
from omni_ipc.seam.api import Runtime
from omni_ipc.seam.conducted import ConductedRuntime
from omni_ipc.serving.host import WorkerHost
from omni_ipc.serving.links import WorkerLink
from omni_ipc.serving.spec import WorkerSpec
from omni_ipc.workflows.conductor import NO_KILLS, Conductor
from omni_ipc.workflows.killing import KILL, TASKS, Victim
from omni_ipc.workflows.rest import ON_HOST_S, all_asleep, rest_s_on
from omni_ipc.workflows.schedule import Conducted

PATIENCE_S = 10.0
"""How long the next step of a schedule may take to come on a busy machine; the steps themselves take microseconds."""

LONGEST_RUN_S = 60.0
"""When a run is given up: a scenario's own waits are far shorter, a user's function may have none."""

Vocabulary = Collection[tuple[str, str]]


class RealRun(msgspec.Struct, frozen=True):
    """A conducted run: how far it followed the schedule, and how it ended."""

    conducted: Conducted
    failure: Failure | None
    seconds: float


def run_on_threads(scenario: Scenario, parts: Parts, steps: Sequence[Step]) -> RealRun:
    """Run a scenario on threads of this process."""
    return _conduct(lambda rt, _: scenario.world(rt, parts).run(), steps, scenario.steps)


def run_on_processes(
    scenario: Scenario,
    parts: Parts,
    steps: Sequence[Step],
    *,
    device: str,
    host: WorkerHost,
    vocabulary: Vocabulary | None = None,
) -> RealRun:
    """Run a scenario with its worker in the process of ``host``, computing torch tensors on a device.

    Args:
        vocabulary: the (task, action) pairs that are steps; those of the scenario's model unless given.

    Raises:
        EnvironmentMissing: torch, or the device, is missing.
    """
    require_torch()  # here too, before any clock runs: the pump builds tensors
    spoken = scenario.steps if vocabulary is None else vocabulary
    victim = Victim(host) if any(step.action == KILL for step in steps) else None

    def run(rt: ConductedRuntime, conductor: Conductor) -> object:
        launch = _launch_on(host, device, conductor, scenario.staged, spoken, victim)
        return scenario.world(rt, parts, launch).run()

    kills = {KILL: victim.kill} if victim is not None else NO_KILLS
    return _conduct(run, steps, spoken, others=(host.pid,), kills=kills, rest_s=rest_s_on(device))


def require_torch() -> None:
    """Import torch, or say how to get it."""
    try:
        importlib.import_module("torch")
    except ImportError:
        raise EnvironmentMissing(
            "Workers compute torch tensors, and torch is not installed.", "Run: pip install 'omni-ipc[torch]'"
        ) from None


def best_device() -> str:
    """Name the device to use: "cuda" where there is one, else "cpu"."""
    require_torch()
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def run_function(function: Callable[[Any], object], steps: Sequence[Step]) -> RealRun:
    """Run a user's function on threads of this process; its regions are conducted, its other operations are not."""
    vocabulary = {(step.task, step.action) for step in steps if "A" <= step.action[0] <= "Z"}
    if not vocabulary:
        raise Inconclusive(
            "The trace has no regions, and on real threads only regions can be put in order. "
            'Open them in the code, with rt.region("Actor.Verb"), or replay it under control: leave out --on.'
        )
    return _conduct(lambda rt, _: function(rt), steps, vocabulary)


def _conduct(
    run: Callable[[ConductedRuntime, Conductor], object],
    steps: Sequence[Step],
    vocabulary: Vocabulary,
    *,
    others: Sequence[int] = (),
    kills: Mapping[str, Callable[[], bool]] = NO_KILLS,
    rest_s: float = ON_HOST_S,
) -> RealRun:
    """Let a function run in the order of a schedule.

    Args:
        others: processes besides this one that have a part in it.
        kills, rest_s: see `Conductor`.
    """
    schedule = [step for step in steps if (step.task, step.action) in vocabulary]
    at_rest = functools.partial(all_asleep, (os.getpid(), *others))
    with Conductor(schedule, patience_s=PATIENCE_S, at_rest=at_rest, rest_s=rest_s, kills=kills) as conductor:
        with _runtime(conductor, vocabulary) as rt:
            start = time.monotonic()
            main = rt.spawn(run, rt, conductor, name="main")
            threading.Thread.join(main, LONGEST_RUN_S)  # by the clock on the wall, whatever the runtime's says
            seconds = time.monotonic() - start
        if main.is_alive():
            raise Inconclusive(
                f"The run did not end within {LONGEST_RUN_S:g} s: a task waits without a bound. "
                "Give its wait a timeout, or look for it under control: omni-ipc explore."
            )
    try:
        return RealRun(conductor.outcome(), _judge(rt.errors), seconds)
    finally:
        rt.errors.clear()  # their frames hold outputs, whose memory holds the runtime: a circle that nobody else sees


@contextlib.contextmanager
def _runtime(conductor: Conductor, vocabulary: Vocabulary) -> Iterator[ConductedRuntime]:
    rt = ConductedRuntime(conductor.connect(), vocabulary)
    try:
        yield rt
    finally:
        rt.close()


def _judge(errors: Sequence[tuple[str, BaseException]]) -> Failure | None:
    """Make a failure of what the first task raised; the machinery's own errors are raised here."""
    for task, error in errors:
        if isinstance(error, OmniError):
            raise error
        kind = "" if isinstance(error, OutputsLost) else f"{type(error).__name__}: "
        return Failure(FailureKind.EXCEPTION, f"{kind}{error}", task=task)
    return None


def _launch_on(
    host: WorkerHost,
    device: str,
    conductor: Conductor,
    staged: Staged,
    vocabulary: Vocabulary,
    victim: Victim | None,
) -> Launch:
    """Make a launch that opens the parts' worker on a host, conducted as the engine's own tasks are."""

    def launch(rt: Runtime, parts: Parts) -> WorkerLink:
        worker = parts.link.worker or parts.worker
        spec = WorkerSpec(
            worker=f"{worker.__module__}:{worker.__qualname__}",
            pipeline=staged.pipeline,
            pipeline_options=dict(staged.options),
            device=staged.device or device,
            device_options={"kind": device} if staged.device else {},
            runtime="omni_ipc.seam.conducted:ConductedRuntime",
            runtime_options={"vocabulary": sorted(vocabulary), "mortal": TASKS if victim is not None else ()},
            drain_timeout_s=CONFIG.drain_timeout_s,
        )
        link = host.open(rt, spec, connection=conductor.connect())
        parts.link().attach(rt, link)
        return link if victim is None else victim.as_link(link)

    return launch
