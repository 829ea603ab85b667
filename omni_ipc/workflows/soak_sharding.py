"""A soak on several machines: the same load with a seed of its own on each, and one account of all.

    soak_on ── config, seed 7 ──► shard 0: soak ── its account so far, ..., all of it ──┐
            ── config, seed 8 ──► shard 1: soak ── the same ────────────────────────────┴─► one account

A shard whose machine is lost is begun anew on another; what it had found before is kept.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from time import monotonic

import msgspec

from omni_ipc import shards
from omni_ipc.accounts import Account, Finding, Survived
from omni_ipc.errors import Inconclusive, OmniError, UsageError
from omni_ipc.machines import Ended, Event, Lost, Needs, Program, Retried, Said, Shards, find
from omni_ipc.records import write_atomically
from omni_ipc.serving.results import Outcome
from omni_ipc.stress.settings import SoakConfig
from omni_ipc.workflows.evidence import FINDINGS
from omni_ipc.workflows.free_names import free_name
from omni_ipc.workflows.soak_folder import claimed, forget_rounds
from omni_ipc.workflows.soak_keeping import OnSample
from omni_ipc.workflows.soak_ready import check, share
from omni_ipc.workflows.soak_shard import News, Order

PROGRAM = "omni_ipc.workflows.soak_shard"

LOST = "lost machine"
"""The fault of a shard that was begun anew."""

_RETRIES = 2
_PATIENCE_S = 60.0  # until a shard that was asked to end has said how far it came


def soak_on(on: str, config: SoakConfig, *, count: int | None = None, on_sample: OnSample = id) -> Account:
    """Soak on machines.

    Args:
        on: their name; see `machines.find`. Of a Ray, each shard has a node for itself.
        count: shards, each as long as the soak; those without a machine wait for one. By default one a machine.
        on_sample: called with the account of all so far.

    Raises:
        UsageError: there are no such machines, or one of them refuses the soak at its beginning, or the folder is
            another soak's; says why.
        Inconclusive: not even a part of it came to be.
    """
    if count is not None and count < 1:
        raise UsageError(f"shards must be positive, and is {count}. Leave it out for one a machine.")
    check(config)
    gpus = 0 if config.device == "cpu" else config.workers
    with contextlib.ExitStack() as held:
        machines = held.enter_context(contextlib.closing(find(on, Needs(whole=True, gpus=gpus))))
        count = count or len(machines)
        if machines.path:  # all of them are this one
            config = share(config, min(count, len(machines)))
        held.enter_context(claimed(Path(config.folder)))
        gathering = _Gathering(config, count, on_sample)
        programs = [_program(config, shard, elsewhere=not machines.path) for shard in range(gathering.count)]
        with Shards(machines, programs, retries=_RETRIES, patience_s=_PATIENCE_S) as running:
            _hear_all(running, gathering)
        return gathering.conclude()


def _hear_all(running: Shards, gathering: _Gathering) -> None:
    """Take in what the shards say, to the ends of all, or for as long as it can go on; then with their last words."""
    try:
        for event in running.events():
            gathering.take(event)
    except KeyboardInterrupt:
        gathering.interrupted = "it was interrupted"
    except (Inconclusive, UsageError) as error:
        gathering.break_off(error)
    with contextlib.suppress(KeyboardInterrupt, Inconclusive, UsageError):  # they are killed, and what they said counts
        for event in running.stop():
            gathering.take(event)


def _program(config: SoakConfig, shard: int, *, elsewhere: bool) -> Program:
    folder = str(Path(config.folder) / _folder(shard))
    own = msgspec.structs.replace(config, seed=config.seed + shard, folder=folder)
    return Program(PROGRAM, msgspec.json.encode(Order(own, elsewhere)))


def _folder(shard: int) -> str:
    return f"shard-{shard}"


class _Gathering:
    """What the shards have said, and what that comes to.

    Attributes:
        interrupted: why not all of them came to their ends.
    """

    def __init__(self, config: SoakConfig, count: int, on_sample: OnSample) -> None:
        self.count = count
        self.interrupted = ""
        self._folder = Path(config.folder)
        self._on_sample = on_sample
        self._accounts: dict[str, Account] = {}
        self._running: set[str] = set()  # whose accounts are not all there is to come
        self._whole: set[int] = set()
        self._reasons: list[str] = []
        self._began_s = monotonic()
        self._lost: list[Survived] = []

    def take(self, event: Event | Retried | None) -> None:
        """Take in what a shard says, or what became of it.

        Raises:
            UsageError: a shard was refused, as all of them will be.
        """
        match event:
            case Said(shard=shard, line=line):
                self._hear(shard, msgspec.json.decode(line, type=News))
            case Retried(shard=shard, how=how):
                self._put_aside(shard)
                self._lost.append(
                    Survived(at_s=self._now_s(), fault=LOST, target=_name(shard), told=(how,), recovered_s=None)
                )
            case Lost(shard=shard, how=how):
                self._give_up(shard, f"it was lost {_RETRIES + 1} times: {how}")
            case Ended(shard=shard, status=status) if shard not in self._whole:
                self._give_up(shard, f"its process has ended with status {status}")

    def break_off(self, error: OmniError) -> None:
        """Note why those that are left do not come to their ends; raise it if that is all that there is to tell."""
        if not self._accounts or (isinstance(error, UsageError) and not self._is_under_way):
            raise error
        self.interrupted = "it could not go on"
        self._reasons.append(str(error))

    @property
    def _is_under_way(self) -> bool:
        """Tell whether what is refused is refused to one shard alone: the others have come to something."""
        found = any(account.findings for account in self._accounts.values())
        return bool(found or self._whole or self._lost or self.interrupted)

    def _hear(self, shard: int, news: News) -> None:
        if news.refused and not self._is_under_way:
            raise UsageError(f"Shard {shard}: {news.refused}")
        if why := news.failed or news.refused:
            self._whole.add(shard)
            self._give_up(shard, why)
        if news.account is None:
            return
        if Outcome.RESULT in news.account.outcomes:
            self._lost = [self._recovered(lost, shard) for lost in self._lost]
        self._running.add(_name(shard))
        if news.is_whole:
            self._whole.add(shard)
            self._running.discard(_name(shard))
        self._accounts[_name(shard)] = self._brought_home(shard, news.account, news.traces)
        self._tell()

    def _now_s(self) -> float:
        return monotonic() - self._began_s

    def _recovered(self, lost: Survived, shard: int) -> Survived:
        """Note when a shard that was lost tells of a result again."""
        if lost.target != _name(shard) or lost.recovered_s is not None:
            return lost
        return msgspec.structs.replace(lost, recovered_s=self._now_s() - lost.at_s)

    def _brought_home(self, shard: int, account: Account, traces: dict[str, bytes]) -> Account:
        """Have the traces of findings in the folder here, wherever they were made; one of each attempt."""

        def kept(finding: Finding) -> Finding:
            if finding.trace is None or (data := traces.get(Path(finding.trace).name)) is None:
                return finding
            wanted = self._folder / _folder(shard) / FINDINGS / Path(finding.trace).name
            path = free_name(wanted, same=lambda there: there.read_bytes() == data)
            with contextlib.suppress(UsageError):  # as the account, when the disk is full
                return msgspec.structs.replace(finding, trace=str(write_atomically(path, data)))
            return finding

        return msgspec.structs.replace(account, findings=tuple(map(kept, account.findings)))

    def _put_aside(self, shard: int) -> None:
        """Forget what an attempt has said, unless it has found something, and what it has taken down."""
        forget_rounds(self._folder / _folder(shard))
        self._running.discard(_name(shard))
        account = self._accounts.pop(_name(shard), None)
        if account is not None and account.findings:
            number = sum(name.startswith(f"{_name(shard)}, lost") for name in self._accounts) + 1
            self._accounts[f"{_name(shard)}, lost {number}"] = account

    def _give_up(self, shard: int, why: str) -> None:
        """Keep how far a shard came, and why not further."""
        self._running.discard(_name(shard))
        if (account := self._accounts.get(_name(shard))) is None:
            self._reasons.append(f"shard {shard} has no account: {why}")
        else:
            self._accounts[_name(shard)] = msgspec.structs.replace(account, interrupted=why)

    def _tell(self) -> None:
        account = self._merged()
        self._on_sample(account)
        with contextlib.suppress(UsageError):  # a full disk may have room again; at the end it is told
            shards.write(self._folder, account)

    def _merged(self) -> Account:
        merged = shards.merge(self._accounts, running=self._running)
        missing = self.count - len(self._whole)
        lost = [msgspec.structs.replace(each, cut_off=self._is_cut_off(each)) for each in self._lost]
        interrupted = self.interrupted and f"{self.interrupted}, with {missing} of {self.count} shards to come"
        return msgspec.structs.replace(
            merged,
            interrupted="; ".join(filter(None, (interrupted if missing else "", merged.interrupted))),
            faults=(*merged.faults, *lost),
            reasons=(*merged.reasons, *self._reasons),
        )

    def _is_cut_off(self, lost: Survived) -> bool:
        return lost.recovered_s is None and bool(self.interrupted)

    def conclude(self) -> Account:
        """Give the account of all, and write it, and beside it each shard's own.

        Raises:
            Inconclusive: there is none.
        """
        if not self._accounts:
            if self.interrupted:
                raise Inconclusive("The soak was interrupted before any shard had begun. Soak again.")
            why = "; ".join(self._reasons) or "no shard has said anything"
            raise Inconclusive(f"The soak has no account: {why}. See to the machines, and soak again.")
        self._running.clear()
        account = self._merged()
        try:
            for shard in range(self.count):
                forget_rounds(self._folder / _folder(shard))  # it may have been killed
                if (own := self._accounts.get(_name(shard))) is not None:
                    shards.write(self._folder / _folder(shard), own)
            shards.write(self._folder, account)
        except UsageError as error:
            account = msgspec.structs.replace(account, reasons=(*account.reasons, str(error)))
        self._on_sample(account)
        return account


def _name(shard: int) -> str:
    return f"shard {shard}"
