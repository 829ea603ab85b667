"""A soak: engines among clients for as long as is asked for, with faults put in, and an account of it all.

this process:  keeps the account, looks at the processes, puts in faults, holds recordings against the spec
    └─ engine and clients (stress/served.py), a round after the other; begun anew when it dies
           └─ workers
"""

from __future__ import annotations

import contextlib
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from omni_ipc.accounts import Account
from omni_ipc.errors import UsageError
from omni_ipc.interrupts import postponed
from omni_ipc.records import write_atomically
from omni_ipc.shards import ACCOUNT
from omni_ipc.stress.book import Around, Book
from omni_ipc.stress.ledger import Ledger
from omni_ipc.stress.leftovers import await_none, is_worker, sample
from omni_ipc.stress.messages import Began, Ended, Failed, Found, Message, Order, Told
from omni_ipc.stress.perturbed import RECORDINGS
from omni_ipc.stress.process import ServedProcess, children
from omni_ipc.stress.regions import regions_of
from omni_ipc.stress.runtimes import ROUNDS, folder_of
from omni_ipc.stress.saboteur import ENGINE, Saboteur
from omni_ipc.stress.settings import SoakConfig
from omni_ipc.workflows.evidence import Evidence
from omni_ipc.workflows.soak_ready import ready

LOG = "processes.log"
"""What engine, clients and workers print, in the same folder."""

OnSample = Callable[[Account], object]

_HEAR_S = 0.1
_SAMPLE_S = 1.0
_WRITE_S = 5.0
_LAST_ROUND_S = 240.0  # beyond every timeout in it
_LEAVE_S = 10.0  # for a soak that was interrupted
_EVIDENCE_S = 120.0  # for what recordings tell, when all has ended
_TRIES = 4  # of an engine that does not start
_DEVICE_LOST = re.compile(r"(CUDA|XPU|SYCL|Level.Zero).*error|device (was |is )?lost", re.IGNORECASE)


def soak(config: SoakConfig, *, on_sample: OnSample | None = None) -> Account:
    """Soak, and tell what came of it; also if it is interrupted, by KeyboardInterrupt.

    Args:
        on_sample: called with the account so far, about once a second, and with the whole one at the end.

    Raises:
        UsageError: it cannot be done as it is asked for; says why.
        EnvironmentMissing: this machine lacks the device, or the memory.
    """
    config, machine = ready(config)
    with contextlib.closing(Ledger.create()) as ledger:
        return _Soak(config, Book(config, machine, ledger), ledger, on_sample or _say_nothing).run()


class _Soak:
    """One soak that is going on."""

    def __init__(self, config: SoakConfig, book: Book, ledger: Ledger, on_sample: OnSample) -> None:
        self._config = config
        self._folder = Path(config.folder)
        self._book = book
        self._ledger = ledger
        self._on_sample = on_sample
        self._told: Callable[[str], object] = str  # who else is told what clients were told
        self._round = Began(0, (), 0.0, False, "")  # the latest one
        self._round_s = book.began_s
        self._failures: list[str] = []  # why no engine started, since the last one that did
        self._process: ServedProcess | None = None
        self._evidence = Evidence(self._folder, defect=config.defect, workers=config.workers)
        self._suspicious: set[int] = set()  # rounds in which something was found
        self._sample_s = self._write_s = book.began_s

    def run(self) -> Account:
        """Soak to the end, or until something interrupts it; the account is kept in any case."""
        self._write()  # what cannot be written is told here, and not in the middle
        with self._evidence:
            try:
                self._go_on()
            except KeyboardInterrupt:  # once more
                self._book.interrupted = "it was interrupted"
            finally:
                with postponed():
                    self._leave()
            if not self._book.interrupted:
                with contextlib.suppress(KeyboardInterrupt):
                    self._evidence.finish(_EVIDENCE_S)
        return self._conclude()

    def _go_on(self) -> None:
        try:
            with self._sabotaged():
                self._until(self._book.began_s + self._config.seconds)
        except KeyboardInterrupt:
            self._book.interrupted = "it was interrupted"
        except UsageError as error:  # the account cannot be written, or the process not be started
            self._book.interrupted = str(error)
        self._end(_LEAVE_S if self._book.interrupted else _LAST_ROUND_S)

    @contextlib.contextmanager
    def _sabotaged(self) -> Iterator[None]:
        saboteur = Saboteur(
            seed=self._config.seed,
            kinds=self._config.faults,
            every_s=self._config.fault_every_s,
            processes=self._processes,
            latest=lambda: self._ledger.latest,
            since_s=self._book.began_s,
        )
        self._told = saboteur.told
        self._book.around = Around(
            blows=lambda: [begun_s for begun_s, _ in saboteur.blows],
            survived=lambda: saboteur.survived,
            failed=lambda: saboteur.failed,
            validations=self._evidence.validations,
            traces=self._evidence.traces,
            broken=self._evidence.broken,
            notes=self._evidence.silent,
        )
        with saboteur:
            yield

    def _processes(self) -> dict[str, int]:
        """Give those that live, by name."""
        process = self._process
        if process is None:
            return {}
        workers = {f"worker {rank}": pid for rank, pid in enumerate(self._round.workers)}
        return {ENGINE: process.pid, **children(process.pid, workers)}

    def _until(self, deadline_s: float) -> None:
        while time.monotonic() < deadline_s and not self._book.interrupted:
            if self._process is None:
                order = Order(self._config, self._round.number + 1)
                with postponed():  # a Ctrl-C in between would leave it to nobody
                    self._process = ServedProcess(order, self._ledger, self._folder / LOG)
            self._listen(self._process)
            self._keep()

    def _end(self, patience_s: float) -> None:
        """Let the last round come to its end."""
        deadline_s = time.monotonic() + patience_s
        while self._process is not None and time.monotonic() < deadline_s:
            self._process.stop()
            self._listen(self._process)
        if self._process is not None and not self._book.interrupted:
            self._find("health", f"{self._round.what} did not end within {patience_s:g} s. See {self._folder / LOG}.")

    def _listen(self, process: ServedProcess) -> None:
        """Take in what the process says; if it has ended, let it go."""
        ending = process.ending()  # first: all that it has said is there then
        for message in process.hear(0.0 if ending else _HEAR_S):
            self._take(message)
        if ending is not None:
            self._part(process, ending)

    def _take(self, message: Message) -> None:
        match message:
            case Began():
                for sentence in self._failures:
                    self._find("health", f"An engine did not start, and there was no fault: {sentence}")
                self._failures.clear()
                self._round, self._round_s = message, time.monotonic()
            case Told(at_s=at_s, sentence=sentence):
                self._told(sentence)
                if self._config.device != "cpu" and _DEVICE_LOST.search(sentence):
                    self._book.interrupted = f"the device is lost: {sentence}"
                elif not self._book.is_explained(at_s, self._round_s):
                    self._find("outcome", f"Somebody was told, and there was no fault: {sentence}", at_s)
            case Failed(at_s=at_s, number=number, sentence=sentence):
                self._told(sentence)
                if not self._book.is_explained(at_s, self._round_s):
                    self._fail(f"no engine starts any more: {sentence}", sentence)
                self._put_away(number)
            case Found(at_s=at_s, kind=kind, sentence=sentence):
                self._find(kind, sentence, at_s)
            case Ended(number=number, own_bytes=own_bytes):
                self._book.settled(own_bytes)
                self._put_away(number)

    def _part(self, process: ServedProcess, ending: str) -> None:
        """Take leave of a process that has ended, and see that its workers have, too."""
        self._process = None
        if not (
            process.ended_well or self._book.interrupted or self._book.is_explained(time.monotonic(), self._round_s)
        ):
            sentence = f"The process of engine and clients {ending}. See {self._folder / LOG}."
            self._fail(f"engines do not live: {sentence}", sentence)
        self._close(process)

    def _close(self, process: ServedProcess) -> None:
        """Settle what a process has left open, and see that nothing is left of it."""
        process.close()
        for name in ("left", "open", "slots"):
            self._ledger.put(name, 0)
        self._book.parted(killed=not process.ended_well)
        workers = self._round.workers
        if left := await_none(lambda: ", ".join(str(pid) for pid in workers if is_worker(pid))):
            self._find("leftover", f"The worker processes {left} outlived the process of their engine.")
        if self._round.number in self._suspicious:
            self._put_away(self._round.number)

    def _leave(self) -> None:
        """Kill what still runs, and forget what processes have taken down."""
        process, self._process = self._process, None
        if process is not None:
            self._close(process)
        shutil.rmtree(self._folder / ROUNDS, ignore_errors=True)

    def _conclude(self) -> Account:
        """Judge what can be judged only at the end."""
        for sentence in () if self._book.interrupted else self._failures:
            self._find("health", sentence)
        self._look(time.monotonic())  # at what is left
        try:
            self._write()
        except UsageError as error:
            self._book.interrupted = self._book.interrupted or str(error)
        account = self._book.account()
        self._on_sample(account)
        return account

    def _fail(self, at_last: str, sentence: str) -> None:
        """Note that no engine came to life; after some of that in a row, give up."""
        self._failures.append(sentence)
        if len(self._failures) == _TRIES:
            self._book.interrupted = at_last

    def _find(self, kind: str, message: str, at_s: float | None = None) -> None:
        number, recordings = self._round.number, None
        if folder_of(self._config, number).joinpath(RECORDINGS).exists():
            self._suspicious.add(number)
            recordings = self._evidence.place(number)
        self._book.find(kind, message, at_s=at_s, recordings=recordings)

    def _put_away(self, number: int) -> None:
        """Take along what the processes of a round have measured, and taken down."""
        folder = folder_of(self._config, number)
        self._book.measured(regions_of(folder))
        if number in self._suspicious:
            self._evidence.keep(folder / RECORDINGS, number)
        else:
            self._evidence.sample(folder / RECORDINGS, number)
        shutil.rmtree(folder, ignore_errors=True)

    def _keep(self) -> None:
        """Look at the processes, and keep the account, each when it is due."""
        now_s = time.monotonic()
        if now_s >= self._sample_s:
            self._sample_s = now_s + _SAMPLE_S
            self._look(now_s)
            self._on_sample(self._book.account())
        if now_s >= self._write_s:
            self._write_s = now_s + _WRITE_S
            self._write()

    def _look(self, now_s: float) -> None:
        self._book.sample(sample(now_s - self._book.began_s, self._processes(), self._ledger))

    def _write(self) -> None:
        write_atomically(self._folder / ACCOUNT, msgspec.json.encode(self._book.account()))


def _say_nothing(_: Account) -> None:
    return
