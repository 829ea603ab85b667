"""How each round of a soak is set up: by lot, and within the memory that there is."""

from __future__ import annotations

import random
from typing import NamedTuple

from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.stress.settings import LARGEST_BYTES, SoakConfig
from omni_ipc.transport.geometry import SlotClass

LATE_HOST = "omni_ipc.stress.late:LateHost"

_ENGINE_BYTES, _WORKER_BYTES = 128 << 20, 64 << 20  # without any outputs
_LEAST_LOAD_BYTES = 64 << 20
_PER_BYTE = 6  # of an output, beside one on each device: its copy, its slot (up to twice as large), what checks it
_SMALLEST_SLOT = 14  # 16 KiB
_FEW_SLOTS = (SlotClass(1 << 14, 2), SlotClass(1 << 17, 2))
_MOST_CLASSES = 14
_PATIENT_S, _IMPATIENT_S = 60.0, 0.25
_GIANT, _RECORDED, _STEPWISE = 3, 4, 5  # every how manieth round
_FOLLOWED = 20  # rounds behind one in which something was found: if it comes again, there is evidence
_FEW_CLIENTS, _BRIEF_S = 6, 1.5


class Room(NamedTuple):
    """What fits into a soak's memory.

    Args:
        largest_bytes: of one output; and of all that a worker has made, which somebody still looks at.
        open_bytes: of all outputs that clients wait for, or hold.
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
        recorded: whether what it does is taken down; then it is a short one, and not computed step by step, where
            nothing is asynchronous: the specs speak of outputs that come by themselves.
    """

    number: int
    engine: EngineConfig
    clients: int
    seconds: float
    late_s: float
    dozes: bool
    giant: bool
    abrupt: bool
    recorded: bool

    def __str__(self) -> str:
        words = [f"batches of up to {self.engine.max_batch}", f"{self.clients} clients"]
        words += ["step by step"] * self.engine.step_execution
        words += ["a doze now and then"] * self.dozes + ["a giant"] * self.giant + ["an abrupt end"] * self.abrupt
        return f"round {self.number}: {', '.join(words)}, {len(self.engine.output_slots)} sizes of slots"


def least_bytes(workers: int) -> int:
    """Say how much memory a soak takes at least, with small outputs."""
    return _ENGINE_BYTES + _LEAST_LOAD_BYTES + workers * _WORKER_BYTES


def room(config: SoakConfig) -> Room:
    """Say what fits into a soak's memory, which is known by now."""
    there = config.memory_bytes or least_bytes(config.workers)
    left = there - _ENGINE_BYTES - config.workers * _WORKER_BYTES
    largest = min(LARGEST_BYTES, left // (_PER_BYTE + config.workers))
    return Room(largest, left // (_PER_BYTE + config.workers) // 2, left // (4 * _MOST_CLASSES))


def draw(config: SoakConfig, number: int, there: Room, *, suspicious: int = 0) -> Plan:
    """Set up a round.

    Args:
        suspicious: the last one in which something was found; 0 if there is none.
    """
    chance = random.Random(f"{config.seed} round {number}")
    timeout_s = chance.choice((_IMPATIENT_S, _PATIENT_S, _PATIENT_S))
    followed = suspicious > 0 and number - suspicious <= _FOLLOWED
    recorded = config.record and (config.defect is not None or followed or number % _RECORDED == 1)
    engine = EngineConfig(
        workers=config.workers,
        device=LATE_HOST if config.device == "cpu" else config.device,
        max_batch=chance.choice((1, 4, 32, 32)),
        max_waiting=chance.choice((8, 1024, 1024)),
        output_slots=tuple(chance.choice((_FEW_SLOTS, _slots(there), _slots(there)))),
        output_timeout_s=timeout_s,
        rpc_timeout_s=_PATIENT_S,
        drain_timeout_s=min(5.0, 0.8 * timeout_s),
        step_execution=number % _STEPWISE == 2 and not recorded,
    )
    most, longest_s = (_FEW_CLIENTS, _BRIEF_S) if recorded else (config.clients, 1.5 * config.round_s)
    return Plan(
        number=number,
        engine=engine,
        clients=min(most, chance.choice((1, config.clients // 4 or 1, config.clients, config.clients))),
        seconds=min(longest_s, chance.uniform(0.5, 1.5) * config.round_s),
        late_s=0.2 if timeout_s == _PATIENT_S else 2.5 * timeout_s,
        dozes=chance.random() < 0.5,
        giant=number % _GIANT == 0 and not recorded,
        abrupt=chance.random() < 0.3,
        recorded=recorded,
    )


def _slots(there: Room) -> list[SlotClass]:
    """Lay out slots of all sizes, the largest output's included."""
    giant = 1 << (there.largest_bytes - 1).bit_length()
    sizes = [1 << power for power in range(_SMALLEST_SLOT, _SMALLEST_SLOT + _MOST_CLASSES)]
    common = [size for size in sizes if size < giant and 2 * size <= 4 * there.slots_bytes]
    return [SlotClass(size, max(2, min(64, there.slots_bytes // size))) for size in common] + [SlotClass(giant, 1)]
