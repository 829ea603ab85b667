"""Accounts of soaks that never ran, for tests of what is made of accounts."""

from __future__ import annotations

from typing import Any

import msgspec

from omni_ipc.accounts import Account, Finding, Machine, Sample, Survived, Validation
from omni_ipc.histograms import Histogram

MACHINE = Machine(
    host="alpha",
    system="Linux 6.1 x86_64",
    cores=2,
    memory_bytes=16 << 30,
    device="cpu",
    devices=("Xeon",),
    driver="",
    versions={"omni_ipc": "0.1", "python": "3.12.3", "torch": "2.5.1"},
)


def sample(at_s: float, *, ended: int = 0, resident: int = 50 << 20, slots: int = 0, workers: int = 1) -> Sample:
    """Look at an engine and its workers, each of them of the same size."""
    processes = ("engine", *(f"worker {rank}" for rank in range(workers)))
    return Sample(
        at_s=at_s,
        ended=ended,
        open=3,
        resident=dict.fromkeys(processes, resident),
        descriptors=dict.fromkeys(processes, 20),
        slots=slots,
        shared=8 << 20,
        taken=len(processes) * (resident - (8 << 20)) + (8 << 20),
    )


PLAIN = Account(
    started="2026-01-01T12:00:00+00:00",
    seed=7,
    asked_s=60.0,
    seconds=60.5,
    interrupted="",
    workers=1,
    machine=MACHINE,
    requests=100,
    outcomes={"result": 90, "aborted": 10},
    checked_bytes=5 << 30,
    latencies={"small": Histogram({7: 60, 15: 30}, 0.0009)},
    regions={"engine Pump.Deliver": Histogram({0: 10, 1: 80}, 0.0001)},
    samples=(sample(0.0), sample(30.0, ended=50, resident=80 << 20, slots=4), sample(60.0, ended=100)),
    faults=(Survived(at_s=20.0, fault="kill", target="worker 0", told=("PeerDied", "PeerDied"), recovered_s=1.5),),
    validations=(Validation(spec="AsyncOutput", accepted=3, rejected=0, inconclusive=1, steps=900),),
    findings=(),
)
"""One worker, a minute, one fault, and nothing found."""

LOST = Finding(at_s=40.0, kind="outcome", message="Request r17 has no outcome.", trace="found/lost.trace.json")


def account(**changes: Any) -> Account:
    """Give the plain one, but for what is said."""
    return msgspec.structs.replace(PLAIN, **changes)
