"""Two engines in one process have nothing in common: not a lock, not a name, not a word of what they keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from omni_ipc.records import Verdict
from omni_ipc.scenarios import Parts, find
from omni_ipc.seam.api import Task
from omni_ipc.testbed import ControlledRuntime, explore
from omni_ipc.workflows.exploring import explore_scenario

ONE, OTHER = "future_orphan", "salvage"


class Named:
    """A runtime whose tasks have a first name, so that two worlds may call theirs the same."""

    def __init__(self, rt: ControlledRuntime, prefix: str) -> None:
        self._rt = rt
        self._prefix = prefix

    def spawn(self, fn: Callable[..., object], *args: object, name: str) -> Task:
        return self._rt.spawn(fn, *args, name=f"{self._prefix} {name}")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rt, name)


def both(rt: ControlledRuntime) -> tuple[object, ...]:
    """Run the one's world and the other's at once, and tell how each ended."""
    endings: dict[str, object] = {}

    def run(name: str) -> None:
        named: Any = Named(rt, name)
        endings[name] = find(name).world(named, Parts()).run()

    tasks = [rt.spawn(run, name, name=f"engine of {name}") for name in (ONE, OTHER)]
    for task in tasks:
        task.join()
    return endings[ONE], endings[OTHER]


def test_two_engines_share_nothing() -> None:
    """Together they have as many orders as the one has times the other: no step of one conflicts with the other's."""
    alone = [explore_scenario(name).traces for name in (ONE, OTHER)]
    together = explore(both, declared=True)
    assert (together.verdict, together.failure) == (Verdict.HOLDS, None), together.reason
    assert together.traces == alone[0] * alone[1]
