"""What an exploration is asked for, in plain values: what saved ones are compared with, and other processes told."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import TypeVar

import msgspec

from omni_ipc.errors import UnknownName, UsageError
from omni_ipc.machines.named import MOST_A_CORE
from omni_ipc.records import MemoryOrder
from omni_ipc.testbed.budget import Budget, Subject
from omni_ipc.testbed.faults.kernel import Fault
from omni_ipc.testbed.faults.names import Timers
from omni_ipc.testbed.runner import Runner, Scenario
from omni_ipc.testbed.strategies import STRATEGIES, Strategy, share_of

T = TypeVar("T")


def several(option: str, given: Collection[T]) -> tuple[T, ...]:
    """Return what an option takes several of.

    Raises:
        UsageError: it is a string, whose letters nobody means.
    """
    if isinstance(given, str):
        raise UsageError(f"{option} is {given!r}, and takes several names. Write {option}=[{given!r}].")
    return tuple(given)


class Options(msgspec.Struct, frozen=True):
    """The arguments of `explore`, but for those that are no values."""

    name: str
    strategy: str
    runs: int | None
    seconds: float | None
    seed: int
    transparent: tuple[str, ...]
    memory: str
    defect: str | None
    max_steps: int
    declared: bool
    faults: tuple[str, ...]
    timers: str
    instrument: tuple[str, ...]
    job: int = 0
    jobs: int = 1  # processes that explore together, of which this is one

    def check(self, places: int | None = None) -> Options:
        """Return the same.

        Args:
            places: for jobs, if these run on other machines.

        Raises:
            UsageError: a budget is not positive.
            UnknownName: there is no such strategy, memory order or way of timers.
        """
        for name in ("runs", "seconds", "max_steps", "jobs"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise UsageError(f"{name} must be positive, and is {value}. Leave it out for no limit.")
        if places is not None and self.jobs > places:
            raise UsageError(f"jobs is {self.jobs:,}, and the machines have places for {places}. Give fewer.")
        if places is None and self.jobs > (most := MOST_A_CORE * (os.cpu_count() or 1)):
            raise UsageError(f"jobs is {self.jobs:,}, and this machine can make use of {most} at most. Give fewer.")
        for kind, name, known in (
            ("strategy", self.strategy, STRATEGIES),
            ("memory order", self.memory, list(MemoryOrder)),
            ("way of timers", self.timers, list(Timers)),
        ):
            if name not in known:
                raise UnknownName(kind, name, known)
        return self

    @property
    def budget(self) -> Budget:
        return Budget(self.runs, self.seconds)

    def subject(self, faults: Sequence[Fault]) -> Subject:
        return Subject(self.name, self.defect, MemoryOrder(self.memory), tuple(map(str, faults)))

    def runner(self, scenario: Scenario, faults: Sequence[Fault], points: Collection[str] = ()) -> Runner:
        """Make what runs the scenario.

        Args:
            points: accesses that are known to be points.
        """
        return Runner(
            scenario,
            transparent=self.transparent,
            max_steps=self.max_steps,
            memory=MemoryOrder(self.memory),
            declared=self.declared,
            faults=faults,
            instrument=self.instrument,
            points=points,
        )

    def make_strategy(self) -> Strategy:
        """Make the strategy, or this job's share of it."""
        return share_of(self.strategy, self.seed, self.job, self.jobs)
