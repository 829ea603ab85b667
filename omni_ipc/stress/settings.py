"""What a soak is asked for."""

from __future__ import annotations

import msgspec

LARGEST_BYTES = 1_300_000_000
"""Of one output, where there is memory for it: a batch of 32 as it was met in the field."""

FAULTS = ("kill", "stop", "memory", "descriptors", "hog")


class SoakConfig(msgspec.Struct, frozen=True, kw_only=True):
    """One soak on one machine.

    Args:
        seconds: how long to go on.
        workers: processes that compute, one a rank.
        device: in torch's words, "cpu", "cuda", "xpu:1"; without an index each rank has its own, if there are enough.
        seed: of all that is left to chance; what the processes make of it differs from run to run.
        folder: where the account, and what else is kept, is written.
        memory_bytes: that engine, clients and workers may take together, shared memory counted once, beside what a
            device's libraries take for themselves; and at most half as much again a hog. None: half of what can be had.
        clients: that ask, and requests that they see through at a time, at most; what they have left behind may be open
            for a moment longer.
        round_s: how long one engine lives, about.
        faults: kinds of faults to put in, of `FAULTS`.
        fault_every_s: how much time lies between two of them, about.
        perturb: whether tasks rest before regions, at random.
        defect: a field defect to put back; None: the reference.
        record: whether to record some rounds, and to hold them against the spec; all of them, if there is a defect.
    """

    seconds: float
    workers: int = 1
    device: str = "cpu"
    seed: int = 0
    folder: str = "soak"
    memory_bytes: int | None = None
    clients: int = 64
    round_s: float = 10.0
    faults: tuple[str, ...] = FAULTS
    fault_every_s: float = 15.0
    perturb: bool = True
    defect: str | None = None
    record: bool = True
