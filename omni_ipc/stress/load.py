"""What clients ask for, drawn by lot: how much, of what kind, and how they take it, or do not."""

from __future__ import annotations

import enum
import math
import random
import zlib
from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from omni_ipc.serving.requests import Request
from omni_ipc.stress.memory import HostMemory
from omni_ipc.stress.outputs import Kind, make, nbytes_of
from omni_ipc.stress.pipeline import Trouble, plan_of

KIB, MIB = 1 << 10, 1 << 20

T = TypeVar("T")


class Way(enum.StrEnum):
    """What a client does with its request."""

    AWAIT = "await"
    ITERATE = "iterate"  # by `async for`
    BLOCK = "block"  # in a thread
    HOLD = "hold"  # takes the output, keeps it for a while, and looks only then
    LATE = "late"  # asks for its output only a while after the request
    ABORT = "abort"  # aborts it after a while, and asks nevertheless
    CANCEL = "cancel"  # is cancelled while it waits
    GIVE_UP = "give up"  # waits so long, and no longer
    CLOSE = "close"  # closes its stream, unseen
    DESERT = "desert"  # lets its stream be deleted
    LEAVE = "leave"  # asks for several at once, and leaves behind the first one


class Draw(NamedTuple):
    """How often something is drawn, and what."""

    weight: float
    least: int
    most: int


SIZES = (
    Draw(70, KIB, 64 * KIB),
    Draw(22, 64 * KIB, MIB),
    Draw(7, MIB, 16 * MIB),
    Draw(1, 16 * MIB, 256 * MIB),
)
_WAYS = {Way.AWAIT: 8, Way.ITERATE: 3, Way.BLOCK: 3, Way.HOLD: 3, Way.LATE: 2, Way.ABORT: 3, Way.CANCEL: 2}
_WAYS |= {Way.GIVE_UP: 1, Way.CLOSE: 1, Way.DESERT: 2, Way.LEAVE: 1}
_KINDS = {Kind.PLAIN: 5, Kind.ROW: 4, Kind.VIDEO: 3, Kind.NESTED: 3, Kind.MANY: 1}
_SHARED_IDS = 12
_SHARED_PART = 0.2  # of the requests: under an id that others have, too
_TROUBLE_PART = 0.02
_INPUTS_PART = 0.1
_MOST_INPUTS_BYTES = 4 * MIB
_LATE_PART = 0.02
_LONGEST_FORWARD_S = 0.02
_PAUSE_S = 0.02
_MOST_STEPS = 4


class Ask(NamedTuple):
    """One request, and what becomes of it.

    Args:
        nbytes: of its output's tensors.
        way: what its client does.
        pause_s: before the client does it.
    """

    request: Request
    nbytes: int
    way: Way
    pause_s: float


class Load:
    """Draws requests; every one has a number of its own, also among those of other loads, which its output is made of.

    Attributes:
        chance: what it draws by, for whatever else is left to chance.

    Args:
        largest_bytes: of an output, at most.
        late_s: by how much a late output is late, at most.
        stepwise: whether they are computed step by step.
    """

    def __init__(self, seed: str, *, largest_bytes: int, late_s: float, stepwise: bool = False) -> None:
        self.chance = random.Random(seed)
        self._largest_bytes = largest_bytes
        self._late_s = late_s
        self._stepwise = stepwise
        self._count = 0
        self._first = zlib.crc32(seed.encode())
        self._seed = seed

    def draw(self) -> Ask:
        """Draw the next one."""
        chance = self.chance
        size = chance.choices(SIZES, [each.weight for each in SIZES])[0]
        nbytes = int(math.exp(chance.uniform(math.log(size.least), math.log(size.most))))
        return self._ask(min(nbytes, self._largest_bytes), self._one_of(_KINDS), self._one_of(_WAYS))

    def giant(self) -> Ask:
        """Ask for the largest output that there may be."""
        return self._ask(self._largest_bytes, Kind.PLAIN, self.chance.choice((Way.AWAIT, Way.BLOCK, Way.ABORT)))

    def _ask(self, nbytes: int, kind: Kind, way: Way) -> Ask:
        chance = self.chance
        self._count += 1
        shared = chance.random() < _SHARED_PART
        trouble = chance.choice([*Trouble]).value if chance.random() < _TROUBLE_PART else ""
        late = chance.random() < _LATE_PART
        request = Request(
            f"shared {chance.randrange(_SHARED_IDS)}" if shared else f"{self._seed} {self._count}",
            options={
                "kind": kind.value,
                "nbytes": nbytes,
                "salt": self._first + self._count,
                "forward_s": chance.choice((0.0, 0.0, chance.uniform(0, _LONGEST_FORWARD_S))),
                "late_s": chance.uniform(0, self._late_s) if late else 0.0,
                "trouble": trouble,
                "steps": chance.randint(1, _MOST_STEPS) if self._stepwise else 0,
            },
        )
        planned = plan_of(request)
        if nbytes <= _MOST_INPUTS_BYTES and chance.random() < _INPUTS_PART:
            inputs = make(HostMemory().tensor, planned)
            request = Request(request.id, options=request.options, inputs=inputs)
        return Ask(request, nbytes_of(planned), way, chance.choice((0.0, chance.uniform(0, _PAUSE_S))))

    def _one_of(self, weights: Mapping[T, int]) -> T:
        return self.chance.choices([*weights], [*weights.values()])[0]
