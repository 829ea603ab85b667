"""Accounts of several soaks put together as one, and accounts read back from their files."""

from __future__ import annotations

import bisect
import operator
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from omni_ipc.accounts import KINDS, Account, Finding, Machine, Sample, Survived, Validation
from omni_ipc.errors import UsageError
from omni_ipc.histograms import Histogram
from omni_ipc.inputs import read_file
from omni_ipc.records import write_atomically

ACCOUNT = "account.json"
"""What a soak keeps in its folder."""

MOST_SAMPLES = 500
"""In the account of several shards."""

T = TypeVar("T")
Timed = TypeVar("Timed", Finding, Survived)


def merge(shards: Mapping[str, Account], *, running: Collection[str] = ()) -> Account:
    """Put the accounts of shards together.

    Counts are added up. Times count from the start of the first shard, so it lasted from there to the end of the last
    one. Processes are named after their shard, too: "shard 0: worker 1".

    Args:
        shards: name -> account; a single one is returned as it is.
        running: those that go on: they still have what they were last seen with.

    Raises:
        UsageError: there is none.
    """
    if not shards:
        raise UsageError(
            "There is no account to put together: no shard came to an end. Run it again with fewer shards."
        )
    if len(shards) == 1:
        return next(iter(shards.values()))
    began = min(map(_began, shards.values()))
    placed = [_placed(name, account, (_began(account) - began).total_seconds()) for name, account in shards.items()]
    first = min(placed, key=_began)
    return Account(
        started=first.started,
        seed=min(account.seed for account in placed),
        asked_s=max(account.asked_s for account in placed),
        seconds=max(account.seconds for account in placed),
        interrupted="; ".join(filter(None, (account.interrupted for account in placed))),
        workers=sum(account.workers for account in placed),
        machine=_together([account.machine for account in placed]),
        requests=sum(account.requests for account in placed),
        outcomes=_joined((account.outcomes for account in placed), operator.add),
        checked_bytes=sum(account.checked_bytes for account in placed),
        latencies=_joined(
            ({kind: Histogram() for kind in _kinds(placed)}, *(each.latencies for each in placed)), operator.add
        ),
        regions=_joined((account.regions for account in placed), operator.add),
        samples=_samples([account.samples for account in placed], [name in running for name in shards]),
        faults=_in_order(fault for account in placed for fault in account.faults),
        validations=_validations(validation for account in placed for validation in account.validations),
        findings=_in_order(finding for account in placed for finding in account.findings),
        reasons=tuple(reason for account in placed for reason in account.reasons),
        notes=tuple(dict.fromkeys(note for account in placed for note in account.notes)),
        defect=first.defect,
        due_errors=sum(account.due_errors for account in placed),
        memory_bytes=sum(account.memory_bytes for account in placed),
        taken_bytes=sum(account.taken_bytes for account in placed),
    )


def read(path: Path) -> Account:
    """Read an account: the one in the folder of a soak, or what it wrote as its result.

    Raises:
        UsageError: the file cannot be read, or holds none.
    """
    path = path / ACCOUNT if path.is_dir() else path
    try:
        document = msgspec.json.decode(read_file(path))
    except OSError as error:
        raise UsageError(f"Cannot read the account '{path}': {error.strerror}. Give the file of a soak.") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise UsageError(f"The account '{path}' is not whole JSON ({error}). Restore it, or soak again.") from None
    if isinstance(document, dict) and "command" in document:
        document = document.get("result")
    try:
        account = msgspec.convert(document, Account, str_keys=True)
        if _began(account).tzinfo is None:
            raise ValueError(f"it has begun at '{account.started}', in no time zone")
    except ValueError as error:  # msgspec's, too
        raise UsageError(
            f"'{path}' is no account of a soak, or one of another version of omni_ipc: {error}. "
            "Give what 'omni-ipc stress soak --json FILE' wrote; with the version that it was written with."
        ) from None
    return account


def read_all(paths: Sequence[Path]) -> tuple[Account, dict[str, Account]]:
    """Read accounts: all of them as one, and each by its name: that of its file, or of its folder.

    The folder of a soak on several machines has one account, and beside it one of each shard.

    Raises:
        UsageError: a file cannot be read, or holds no account.
    """
    if len(paths) == 1 and (parts := shards_in(paths[0])):
        return read(paths[0]), parts
    short = [path.absolute().parent.name if path.name == ACCOUNT else path.stem for path in paths]
    many = Counter(short)
    parts = {str(path) if many[name] > 1 else name: read(path) for name, path in zip(short, paths, strict=True)}
    return merge(parts), parts


def write(folder: Path, account: Account) -> None:
    """Write an account into the folder of its soak.

    Raises:
        UsageError: it cannot be written.
    """
    write_atomically(folder / ACCOUNT, msgspec.json.format(msgspec.json.encode(account), indent=1))


def shards_in(folder: Path) -> dict[str, Account]:
    """Read the accounts of shards in the folder of a soak; none if it had none.

    Raises:
        UsageError: one of them cannot be read.
    """
    folders = sorted(folder.glob("shard-*"), key=lambda path: (len(path.name), path.name))
    return {path.name: read(path) for path in folders if (path / ACCOUNT).is_file()}


def _began(account: Account) -> datetime:
    return datetime.fromisoformat(account.started)


def _placed(name: str, account: Account, later_s: float) -> Account:
    """Tell an account in the times of all, and with the shard's name before whatever is its own."""

    def own(word: str) -> str:
        return f"{name}: {word}" if word else ""

    def sample(at: Sample) -> Sample:
        resident, descriptors, device = (
            {own(process): count for process, count in of.items()} for of in (at.resident, at.descriptors, at.device)
        )
        at_s = at.at_s + later_s
        return msgspec.structs.replace(at, at_s=at_s, resident=resident, descriptors=descriptors, device=device)

    return msgspec.structs.replace(
        account,
        seconds=account.seconds + later_s,
        interrupted=own(account.interrupted),
        samples=tuple(map(sample, account.samples)),
        faults=tuple(
            msgspec.structs.replace(fault, at_s=fault.at_s + later_s, target=own(fault.target))
            for fault in account.faults
        ),
        findings=tuple(
            msgspec.structs.replace(finding, at_s=finding.at_s + later_s, message=own(finding.message))
            for finding in account.findings
        ),
        reasons=tuple(map(own, account.reasons)),
    )


def _kinds(accounts: Iterable[Account]) -> list[str]:
    """Give the kinds of requests of all, in the order in which they are told."""
    there = dict.fromkeys(kind for account in accounts for kind in account.latencies)
    return [*(kind for kind in KINDS if kind in there), *(kind for kind in there if kind not in KINDS)]


def _joined(tables: Iterable[Mapping[str, T]], add: Callable[[T, T], T]) -> dict[str, T]:
    joined: dict[str, T] = {}
    for table in tables:
        for name, value in table.items():
            joined[name] = add(joined[name], value) if name in joined else value
    return joined


def _together(machines: Sequence[Machine]) -> Machine:
    """Give what there was; shards on one host shared it."""
    hosts = {machine.host: machine for machine in machines}.values()
    versions = _joined(({name: [of] for name, of in machine.versions.items()} for machine in machines), operator.add)
    return Machine(
        host=_listed(machine.host for machine in hosts),
        system=_listed(machine.system for machine in machines),
        cores=sum(machine.cores for machine in hosts),
        memory_bytes=sum(machine.memory_bytes for machine in hosts),
        device=_listed(machine.device for machine in machines),
        devices=tuple(dict.fromkeys(device for machine in machines for device in machine.devices)),
        driver=_listed(machine.driver for machine in machines),
        versions={name: _listed(of) for name, of in versions.items()},
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(filter(None, names)))


class _Look(NamedTuple):
    """A sample among those of all shards."""

    shard: int
    sample: Sample
    is_last: bool  # of its shard, which has ended


def _samples(shards: Sequence[Sequence[Sample]], running: Sequence[bool]) -> tuple[Sample, ...]:
    """Give the sums over all shards at moments when one of them was looked at: at all, or as many as may be told."""
    looks = [
        _Look(shard, sample, sample is samples[-1] and not running[shard])
        for shard, samples in enumerate(shards)
        for sample in samples
    ]
    looks.sort(key=lambda look: look.sample.at_s)
    step = 1 + len(looks) // MOST_SAMPLES
    seen: dict[int, _Look] = {}
    sums: list[Sample] = []
    for left, look in zip(reversed(range(len(looks))), looks, strict=True):
        seen[look.shard] = look
        if left % step == 0:  # so the last one stays
            ended = sum(_ended(samples, look.sample.at_s) for samples in shards)
            sums.append(_sum(look, seen.values(), ended))
    return tuple(sums)


def _sum(now: _Look, seen: Iterable[_Look], ended: int) -> Sample:
    """Add up what each shard was last seen with; one that has ended has nothing any more."""
    living = [look.sample for look in seen if not look.is_last or look is now]
    return Sample(
        at_s=now.sample.at_s,
        ended=ended,
        open=sum(sample.open for sample in living),
        resident=_joined((sample.resident for sample in living), operator.add),
        descriptors=_joined((sample.descriptors for sample in living), operator.add),
        slots=sum(sample.slots for sample in living),
        shared=sum(sample.shared for sample in living),
        taken=sum(sample.taken for sample in living),
        device=_joined((sample.device for sample in living), operator.add),
    )


def _ended(samples: Sequence[Sample], at_s: float) -> int:
    """Give how many requests of a shard had ended at a moment: between two looks, in a straight line.

    Rates would jump else: shards are not looked at at the same moments.
    """
    place = bisect.bisect_right(samples, at_s, key=lambda sample: sample.at_s)
    if place in (0, len(samples)):
        return samples[-1].ended if place else 0
    one, other = samples[place - 1], samples[place]
    return one.ended + round((other.ended - one.ended) * (at_s - one.at_s) / (other.at_s - one.at_s))


def _in_order(those: Iterable[Timed]) -> tuple[Timed, ...]:
    return tuple(sorted(those, key=lambda each: each.at_s))


def _validations(those: Iterable[Validation]) -> tuple[Validation, ...]:
    """Give one a spec."""

    def both(one: Validation, other: Validation) -> Validation:
        return Validation(
            spec=one.spec,
            accepted=one.accepted + other.accepted,
            rejected=one.rejected + other.rejected,
            inconclusive=one.inconclusive + other.inconclusive,
            steps=one.steps + other.steps,
        )

    return tuple(_joined(({each.spec: each} for each in those), both).values())
