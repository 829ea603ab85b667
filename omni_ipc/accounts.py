"""What a soak on real workers comes to: what went in, what came out, what was survived, what was left.

Times are in seconds, sizes in bytes. The account is kept while the soak runs, so that an interrupted one has it, too.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from omni_ipc.histograms import Histogram
from omni_ipc.records import Verdict

Count = Annotated[int, msgspec.Meta(ge=0)]
"""Of what can be counted; of bytes, too."""

Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e10)]
"""Some centuries at most: a file that tells more is no account."""

STEPWISE = "step by step"
"""The kind of requests that are computed so, whatever their size."""

KINDS = ("to 64 KiB", "to 1 MiB", "to 16 MiB", "to 256 MiB", "above 256 MiB", STEPWISE)
"""Of requests, in the order in which they are told: but for the last one, by the size of their outputs."""

FINDINGS = ("outcome", "bytes", "leftover", "health", "spec", "error")
"""Kinds of findings."""


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """Where it ran.

    Args:
        device: as it was asked for: "cpu", "cuda", "xpu".
        devices: the name of each device that was used; of the processor where that is the device.
        driver: of the devices; empty on the host.
        versions: package -> version: omni_ipc, python, torch, numpy.
    """

    host: str
    system: str
    cores: Count
    memory_bytes: Count
    device: str
    devices: tuple[str, ...]
    driver: str
    versions: dict[str, str]


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One look at the processes.

    Args:
        at_s: since the soak began.
        ended: requests that had ended by then.
        open: requests that were open.
        resident: process ("engine", "worker 0") -> its memory, shared memory included.
        descriptors: process -> open file descriptors.
        slots: of all slots for outputs, those in use.
        shared: bytes of the shared memory that the processes own.
        taken: bytes that all of them have together, with shared memory counted once.
        device: process -> memory of its device that it keeps; none of those that have no device but the host.
    """

    at_s: Seconds
    ended: Count
    open: Count
    resident: dict[str, Count]
    descriptors: dict[str, Count]
    slots: Count
    shared: Count
    taken: Count = 0
    device: dict[str, Count] = {}


class Survived(msgspec.Struct, frozen=True, kw_only=True):
    """A fault that was put into the run, and how it was met.

    Args:
        fault: "kill", "stop", "memory", "descriptors", "hog".
        target: a process, or "machine".
        told: what those who waited were told, once each.
        recovered_s: from the fault until the next result; None if there was none.
        cut_off: there was none, as the soak ended before: nobody knows whether one would have come.
    """

    at_s: Seconds
    fault: str
    target: str
    told: tuple[str, ...]
    recovered_s: Seconds | None
    cut_off: bool = False


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Something that must not be.

    Args:
        kind: one of FINDINGS.
        message: what it is, in a sentence.
        trace: the file of a trace that shows it under control, if it could be cut down to one.
        recordings: the folder of what the processes took down before it.
        stood: where the threads of the processes were, a line each, if they did not get on.
    """

    at_s: Seconds
    kind: str
    message: str
    trace: str | None = None
    recordings: str | None = None
    stood: tuple[str, ...] = ()


class Validation(msgspec.Struct, frozen=True, kw_only=True):
    """Recordings that were held against the spec while the soak ran."""

    spec: str
    accepted: Count
    rejected: Count
    inconclusive: Count
    steps: Count


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """One soak.

    Args:
        seconds: from its start to the end of its last process; ``asked_s``: that it was to run.
        interrupted: why it ended before that; empty if it did not.
        requests: that went in.
        outcomes: how they ended; where the sum is not ``requests``, the soak did not end well.
        checked_bytes: of outputs whose checksum was as expected.
        latencies: kind of request -> from submit to its result, of those whose clients waited for it.
        regions: process kind and region ("engine Pump.Deliver") -> how long it took.
        reasons: why it is no clean "holds": one sentence each.
        notes: what else there is to tell, and changes no verdict.
        defect: the field defect that was put back; the commands that replay its traces have to name it.
        due_errors: of the requests that ended with an error, those that were to: as they asked for one, or as the
            pipeline slept.
        doing: what the soak still does behind its time; empty while it soaks, and at the end.
        memory_bytes: that the processes were to take at most; ``taken_bytes``: that they took at most; 0: not known.
    """

    started: str
    seed: int
    asked_s: Seconds
    seconds: Seconds
    interrupted: str
    workers: Count
    machine: Machine
    requests: Count
    outcomes: dict[str, Count]
    checked_bytes: Count
    latencies: dict[str, Histogram]
    regions: dict[str, Histogram]
    samples: tuple[Sample, ...]
    faults: tuple[Survived, ...]
    validations: tuple[Validation, ...]
    findings: tuple[Finding, ...]
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    defect: str | None = None
    due_errors: int = 0
    doing: str = ""
    memory_bytes: Count = 0
    taken_bytes: Count = 0

    @property
    def verdict(self) -> Verdict:
        """A finding decides; then whether something was shown, to the end that was asked for, and all accounted for."""
        if self.findings:
            return Verdict.VIOLATED
        unsettled = self.requests != sum(self.outcomes.values())
        is_open = self.reasons or self.interrupted or not self.requests or unsettled
        return Verdict.INCONCLUSIVE if is_open else Verdict.ENDED_WELL
