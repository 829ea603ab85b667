"""How each round of a soak is set up: by lot, and within the memory that there is."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.stress.settings import LARGEST_BYTES, SoakConfig
from omni_ipc.transport.geometry import SlotClass

LEAST_BYTES = 192 << 20
"""For engine and one worker, with small outputs; and half of it for each worker more."""

LATE_HOST = "omni_ipc.stress.late:LateHost"

_PER_BYTE = 6  # of an output: on the device, its copy, its slot (up to twice as large), and what checks it
_SMALLEST_SLOT, _LARGEST_SLOT = 14, 31  # powers of two
_FEW_SLOTS = (SlotClass(1 << 14, 2), SlotClass(1 << 17, 2))
_MOST_CLASSES = 14
_PATIENT_S, _IMPATIENT_S = 60.0, 0.25


class Room(NamedTuple):
    """What fits into a soak's memory.

    Args:
        largest_bytes: of one output.
        open_bytes: of all outputs that are open.
        slots_bytes: of each size of slots.
    """

    largest_bytes: int
    open_bytes: int
    slots_bytes: int


class Plan(NamedTuple):
    """One round.

    Args:
        engine: its settings.
        clients: how many ask.
        seconds: how long they do.
        late_s: by how much outputs are late, at most.
        dozes: whether the workers sleep now and then.
        giant: whether the largest output is asked for, once.
        abrupt: whether it ends in the middle of everything.
    """

    number: int
    engine: EngineConfig
    clients: int
    seconds: float
    late_s: float
    dozes: bool
    giant: bool
    abrupt: bool

    def __str__(self) -> str:
        words = [f"batches of {self.engine.max_batch}", f"{self.clients} clients"]
        words += ["a doze now and then"] * self.dozes + ["a giant"] * self.giant + ["an abrupt end"] * self.abrupt
        return f"round {self.number}: {', '.join(words)}, {len(self.engine.output_slots)} sizes of slots"


def room(memory_bytes: int, workers: int) -> Room:
    """Say what fits into so much memory."""
    left = memory_bytes - LEAST_BYTES * (workers - 1) // 2
    largest = min(LARGEST_BYTES, left // (_PER_BYTE + workers))
    return Room(largest, left // (_PER_BYTE + workers) // 2, left // (4 * _MOST_CLASSES))


def draw(config: SoakConfig, number: int, there: Room, *, device: str, workers: dict[str, Any]) -> Plan:
    """Set up a round.

    Args:
        device: that each worker has.
        workers: further settings of theirs.
    """
    chance = random.Random(f"{config.seed} round {number}")
    impatient = chance.random() < 0.3
    timeout_s = _IMPATIENT_S if impatient else _PATIENT_S
    engine = EngineConfig(
        workers=config.workers,
        device=device,
        max_batch=chance.choice((1, 4, 32, 32)),
        max_waiting=chance.choice((8, 1024, 1024)),
        output_slots=tuple(chance.choice((_FEW_SLOTS, _slots(there), _slots(there)))),
        output_timeout_s=timeout_s,
        rpc_timeout_s=_PATIENT_S,
        drain_timeout_s=min(5.0, 0.8 * timeout_s),
        **workers,
    )
    return Plan(
        number=number,
        engine=engine,
        clients=chance.choice((1, config.clients // 4 or 1, config.clients)),
        seconds=chance.uniform(0.5, 1.5) * config.round_s,
        late_s=2.5 * timeout_s if impatient else 0.2,
        dozes=chance.random() < 0.5,
        giant=number % 3 == 0,
        abrupt=chance.random() < 0.3,
    )


def _slots(there: Room) -> list[SlotClass]:
    """Lay out slots of all sizes, the largest output included if there is memory for it."""
    sizes = [1 << power for power in range(_SMALLEST_SLOT, _LARGEST_SLOT) if 2 << power <= 8 * there.slots_bytes]
    sizes = sizes[:_MOST_CLASSES]
    giant = 1 << (there.largest_bytes - 1).bit_length()
    return [SlotClass(size, max(2, min(64, there.slots_bytes // size))) for size in sizes if size < giant] + [
        SlotClass(giant, 1)
    ]
