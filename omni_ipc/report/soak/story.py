"""A soak in sentences: what went in and came out, what was survived, what was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from omni_ipc.accounts import Account, Survived, Validation
from omni_ipc.report.quantities import duration, figure, size
from omni_ipc.report.text import counted


def sentences(account: Account) -> Iterator[str]:
    """Tell an account, the worst first."""
    if account.findings:
        first = account.findings[0]
        found = counted(len(account.findings), "finding")
        yield f"{found}; the first one, after {duration(first.at_s)}: {first.message}"
    if account.interrupted:
        yield f"It ended after {duration(account.seconds)} of {duration(account.asked_s)}: {ended(account.interrupted)}"
    yield from account.reasons
    yield _requests(account)
    if account.due_errors:
        yield _errors(account)
    yield f"{size(account.checked_bytes)} of outputs were checked by checksum."
    if account.taken_bytes and account.memory_bytes:
        taken, there = size(account.taken_bytes), size(account.memory_bytes)
        of = (
            f"of {there}" if account.machine.device == "cpu" else f"the device's libraries included; of {there} without"
        )
        yield f"The processes took {taken} of memory at most, shared memory counted once, {of}."
    if account.faults:
        yield _faults(account.faults)
    yield from map(validation, account.validations)
    yield from account.notes


def ended(words: str) -> str:
    """End words as a sentence, unless they are one."""
    return words if words.endswith((".", "?", "!")) else f"{words}."


def validation(of: Validation) -> str:
    """Say what became of recordings that were held against a spec."""
    recordings = of.accepted + of.rejected + of.inconclusive
    named = {"accepted": of.accepted, "rejected": of.rejected, "inconclusive": of.inconclusive}
    answers = of_counts(named) or "none"
    steps = counted(of.steps, "step")
    return f"{counted(recordings, 'recording')}, {steps} of {of.spec}: {answers}."


def is_silent(fault: Survived) -> bool:
    """Tell whether no result came after a fault, though there was time for one."""
    return fault.recovered_s is None and not fault.cut_off


def rate(account: Account) -> str:
    """Say how many requests ended in a second."""
    ended = sum(account.outcomes.values())
    return f"{figure(ended / account.seconds)}/s" if account.seconds > 0 else "none yet"


def outcomes(account: Account) -> str:
    """Write how requests ended, the most frequent end first: "90 result, 1 timed out"."""
    return of_counts({name.replace("_", " "): count for name, count in account.outcomes.items()})


def in_counts(words: Iterable[str]) -> str:
    """Write "3 kill, 1 stop"."""
    return of_counts(Counter(words))


def of_counts(counts: Mapping[str, int]) -> str:
    """Write counts, the largest first."""
    ordered = sorted(counts.items(), key=lambda named: -named[1])
    return ", ".join(f"{count:,} {word}" for word, count in ordered if count)


def _requests(account: Account) -> str:
    ended = sum(account.outcomes.values())
    told = f": {outcomes(account)}" if ended else ""
    if not account.requests and not ended:
        return (
            f"No request went in, so nothing was shown.{'' if account.interrupted else ' Soak for longer: --minutes.'}"
        )
    if ended == account.requests:
        return f"{counted(ended, 'request')} went in, and as many outcomes came out, one each{told}."
    return f"{counted(account.requests, 'request')} went in, but {counted(ended, 'outcome')} came out{told}."


def _errors(account: Account) -> str:
    """Say which errors were to come; any other that no fault explains is a finding, or has ended the soak."""
    errors, due = account.outcomes.get("error", 0), account.due_errors
    told = f"Of {counted(errors, 'error')} {due:,} were to come: asked for, or of a pipeline that slept"
    if errors == due:
        return f"{told}."
    origins = ["faults that were put in"] if account.faults else []
    origins += ["what ended the soak"] if account.interrupted else []
    ways = [f"came of {' or of '.join(origins)}"] if origins else []
    ways += ["are among the findings"] if account.findings else []
    return f"{told}; the other {errors - due:,} {' or '.join(ways) or 'were not'}."


def _faults(faults: Sequence[Survived]) -> str:
    recoveries = [fault.recovered_s for fault in faults if fault.recovered_s is not None]
    silent, cut_off = sum(map(is_silent, faults)), sum(fault.cut_off for fault in faults)
    told = [f"{counted(len(faults), 'fault')}: {in_counts(fault.fault for fault in faults)}"]
    told += [f"the next result came after {duration(max(recoveries))} at most"] if recoveries else []
    told += [f"no result came after {'any' if silent == len(faults) else f'{silent:,}'} of them"] if silent else []
    told += [f"the soak ended before one could come after {cut_off:,} of them"] if cut_off else []
    return f"{'; '.join(told)}."
