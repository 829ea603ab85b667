"""What samples schedules of a scenario whose tasks it knows from a run in the default order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.strategies.base import Run
from omni_ipc.testbed.strategies.profile import Profile
from omni_ipc.testbed.strategies.sampler import Sampler
from omni_ipc.testbed.tasks import Task


class Profiled(Sampler):
    """Runs the default order first, unless somebody else has done so.

    Args:
        profile: of somebody else, which will be filled before the first run.
    """

    def __init__(self, seed: int, profile: Profile | None = None) -> None:
        super().__init__(seed)
        self._owns_profile = profile is None
        self.profile = Profile() if profile is None else profile
        self._profiling = False

    def next_prefix(self) -> Sequence[int] | None:
        self._profiling = self.profile.is_empty
        return () if self._profiling else super().next_prefix()

    def choose(self, kernel: Kernel, enabled: list[Task]) -> Task | None:
        return self.profile.choose(kernel, enabled) if self._profiling else self._sample(kernel, enabled)

    def learn(self, run: Run) -> None:
        super().learn(run)
        if self._profiling:
            self.profile.learn(run)

    def _sample(self, kernel: Kernel, enabled: list[Task]) -> Task | None:
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        return super().state() | ({"profile": self.profile.state()} if self._owns_profile else {})

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        if self._owns_profile:
            self.profile.restore(state["profile"])
