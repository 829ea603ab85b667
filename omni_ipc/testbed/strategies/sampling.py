"""The samplers together, in proportion to how soon each finds what there is to find."""

from __future__ import annotations

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.strategies.pct import PriorityWalk
from omni_ipc.testbed.strategies.pos import PartialOrderSampling
from omni_ipc.testbed.strategies.profile import Profile
from omni_ipc.testbed.strategies.profiled import Profiled
from omni_ipc.testbed.strategies.random_walk import RandomWalk
from omni_ipc.testbed.strategies.sampler import Sampler
from omni_ipc.testbed.strategies.surw import SelectivelyUniformWalk
from omni_ipc.testbed.strategies.uniform import UniformWalk
from omni_ipc.testbed.tasks import Task


class Sampling(Profiled):
    """Takes turns: of ten runs, five are SURW's, two POS's, one each PCT-3's, URW's and a random walk's."""

    title = "sampling by SURW, POS, PCT-3, URW and random walks"

    def __init__(self, seed: int, profile: Profile | None = None) -> None:
        super().__init__(seed, profile)
        surw = SelectivelyUniformWalk(seed, self.profile)
        pos = PartialOrderSampling(seed, self.profile)
        pct = PriorityWalk(seed, self.profile)
        others = (UniformWalk(seed, self.profile), RandomWalk(seed))
        self._turns: tuple[Sampler, ...] = (surw, pos, surw, pct, surw, others[0], surw, pos, surw, others[1])
        self._active: Sampler = surw

    def _begin(self) -> None:
        number = self.number - self.stride
        self._active = self._turns[number % len(self._turns)]
        self._active.number = number
        self._active.next_prefix()

    def _sample(self, kernel: Kernel, enabled: list[Task]) -> Task | None:
        return self._active.choose(kernel, enabled)
