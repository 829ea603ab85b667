"""From the steps of a trace to those of a worker process: what real tasks can be put in order by.

A trace of the explorer has every step of a world in one runtime. Of these, a schedule for real tasks keeps the regions,
the uses of objects that a conducted runtime makes, the moments at which a wait's time is up, and faults. It lacks how
lanes and queues are waited for, which is a matter of time; and it gets the steps of the worker, where the world has a
stand-in.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from omni_ipc.errors import UsageError
from omni_ipc.records import Field, Origin, Step, Trace
from omni_ipc.scenarios import Scenario
from omni_ipc.seam.turn_messages import is_region
from omni_ipc.workflows.killing import KILL
from omni_ipc.workflows.schedule import is_fault

_WAYS = ("Bell.", "Port.", "Reader.", "Writer.")
"""Regions of a lane; how many there are depends on the lane."""

_LEGACY = ("Socket.",)
"""Regions of parts that only defects have; see scenarios/legacy."""

_USES = frozenset({"condition.wake", "event.is_set", "event.set", "future.cancel", "loop.call_soon_threadsafe"})
_LIMITED = frozenset({"condition.wake", "future.exception", "future.result", "loop.select"})


def schedule_of(trace: Trace, scenario: Scenario, defect: str | None) -> list[Step]:
    """Give the steps that tasks of real processes are to take, in their order.

    Args:
        defect: that the code has; without it, what only a defect has takes no steps.

    Raises:
        UsageError: a step lacks a field that tells it from others.
    """
    if trace.origin is Origin.MODEL:
        return [step for step in trace.steps if (step.task, step.action) in scenario.steps]
    steps = [*_kept(trace.steps, scenario)]
    return [*_with_worker(steps if defect is not None else _without_legacy(steps), scenario)]


def _without_legacy(steps: Sequence[Step]) -> list[Step]:
    """Leave out what only defects do, and tasks that do nothing else."""
    concerned = {step.task for step in steps if step.action.startswith(_LEGACY)}
    left = [step for step in steps if not step.action.startswith(_LEGACY)]
    others = {step.task for step in left if is_region(step.action) or step.task not in concerned}
    return [step for step in left if step.task in others]


def _kept(steps: Iterable[Step], scenario: Scenario) -> Iterator[Step]:
    """Keep what can be put in order; what time had passed by the steps that were left out, it has by the next one."""
    passed = 0.0
    for step in steps:
        passed = max(passed, step.time or 0.0)
        if (kept := _staged(step, scenario)) is not None:
            yield msgspec.structs.replace(kept, time=passed or None)


def _staged(step: Step, scenario: Scenario) -> Step | None:
    task = re.sub(r"^(worker\.output) .*", r"\1", step.task)  # a stand-in has a task for each output
    match step.action:
        case "Writer.Publish" if step.fields.get("way") == "socket":
            return Step(task, "Socket.Publish")  # lies in it there; between processes it is a region of its own
        case _ if is_fault(step):
            return step
        case region if is_region(region):
            of_lane = region.startswith(_WAYS) and (step.task, region) not in scenario.steps
            return None if of_lane else Step(task, region, step.fields)
        case limited if step.expired and limited in _LIMITED:
            return Step(task, limited, expired=True)
        case "sleep" if not task.startswith("worker."):
            return Step(task, "sleep", expired=True)
        case "loop.run":
            callback = re.sub(r"^Task-\d+ ", "", str(_field(step, "callback")))
            return Step(task, "loop.run", {"callback": callback})
        case use if use in _USES:
            return Step(task, use)
    return None


def _field(step: Step, name: str) -> Field:
    if name not in step.fields:
        raise UsageError(f"The step '{step}' has no '{name}'. Restore the trace, or make it anew.")
    return step.fields[name]


def _with_worker(steps: Iterable[Step], scenario: Scenario) -> Iterator[Step]:
    """Have the worker say what the pump takes from it, just before it does or is killed, unless it has said so."""
    said: Counter[tuple[str, object]] = Counter()
    ahead: list[Step] = []  # from a kill of the worker on, behind which it says nothing more
    for step in steps:
        for kind, (says, takes) in _SAID.items():
            what = (kind, step.fields.get(kind))
            if step.action == says.action:
                said[what] += 1
            elif step.action == takes and said[what]:
                said[what] -= 1
            elif step.action == takes and says.action not in scenario.transparent:
                yield msgspec.structs.replace(says, fields={kind: _field(step, kind)})
        if ahead or step.action == KILL:
            ahead.append(step)
        else:
            yield step
    yield from ahead


_SAID = {
    "rpc": (Step("worker.main", "Worker.Reply"), "Pump.Reply"),
    "output": (Step("worker.output", "Worker.Announce"), "Pump.Unpack"),
}
