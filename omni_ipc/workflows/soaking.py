"""A soak: engines among clients for as long as is asked for, with faults put in, and an account of it all.

this process:  keeps the account, looks at the processes, puts in faults, holds recordings against the spec
    └─ engine and clients (stress/served.py), a round after the other; begun anew when it dies
           └─ workers
"""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from omni_ipc.accounts import Account
from omni_ipc.errors import UsageError
from omni_ipc.interrupts import postponed
from omni_ipc.report.text import counted
from omni_ipc.stress import stacks
from omni_ipc.stress.book import Around, Book
from omni_ipc.stress.ledger import Ledger
from omni_ipc.stress.messages import Order
from omni_ipc.stress.process import ServedProcess, children
from omni_ipc.stress.runtimes import ROUNDS
from omni_ipc.stress.saboteur import ENGINE, Saboteur
from omni_ipc.stress.settings import SoakConfig
from omni_ipc.stress.stalls import SILENT_S
from omni_ipc.workflows.evidence import Evidence
from omni_ipc.workflows.limits import spare_bytes
from omni_ipc.workflows.oom import OomKills
from omni_ipc.workflows.soak_folder import claimed
from omni_ipc.workflows.soak_keeping import Keeper, OnSample
from omni_ipc.workflows.soak_listening import Listener
from omni_ipc.workflows.soak_ready import ready

_HEAR_S = 0.1
_LEAVE_S = 10.0  # for a soak that was interrupted
_HOG_SHARES = (2, 4)  # of what the soak may take, of what can be had: one part in so many
_SHOW_S = 1.0  # between two looks at how far that is
_EVIDENCE_S = 120.0  # for what recordings tell, when all has ended


def soak(config: SoakConfig, *, on_sample: OnSample = id, claim: bool = True) -> Account:
    """Soak, and tell what came of it; also if it is interrupted, by KeyboardInterrupt.

    Args:
        on_sample: called with the account so far, about once a second, and with the whole one at the end.
        claim: whether to take the folder for its own, and to clear it; else it is the caller's, who did.

    Raises:
        UsageError: it cannot be done as it is asked for; says why.
        EnvironmentMissing: this machine lacks the device, or the memory.
    """
    config, machine = ready(config)
    with (
        claimed(Path(config.folder)) if claim else contextlib.nullcontext(),
        contextlib.closing(Ledger.create()) as ledger,
    ):
        return _Soak(config, Keeper(config, Book(config, machine, ledger), ledger, on_sample), ledger).run()


class _Soak:
    """One soak that is going on."""

    def __init__(self, config: SoakConfig, keeper: Keeper, ledger: Ledger) -> None:
        self._config = config
        self._keeper = keeper
        self._book = keeper.book
        self._ledger = ledger
        self._saboteur = Saboteur(
            seed=config.seed,
            kinds=config.faults,
            every_s=config.fault_every_s,
            processes=self._processes,
            latest=lambda: ledger.latest,
            spare_bytes=self._spare_bytes,
            since_s=self._book.began_s,
        )
        self._listener = Listener(config, keeper, self._saboteur.told, OomKills())
        self._process: ServedProcess | None = None
        self._book.around = Around(
            blows=lambda: [begun_s for begun_s, _ in self._saboteur.blows],
            survived=lambda: self._saboteur.survived,
            failed=lambda: self._saboteur.failed,
            validations=keeper.evidence.validations,
            unanswered=lambda: self._saboteur.unanswered,
            traces=keeper.evidence.traces,
            broken=keeper.evidence.broken,
            notes=keeper.evidence.silent,
        )

    def run(self) -> Account:
        """Soak to the end, or until something interrupts it; the account is kept in any case."""
        self._keeper.write()  # what cannot be written is told here, and not in the middle
        with self._keeper.evidence as evidence:
            try:
                self._go_on()
            except KeyboardInterrupt:  # once more
                self._book.interrupted = "it was interrupted"
            finally:
                with postponed():
                    self._leave()
            if not self._book.interrupted:
                self._look_at(evidence)
        self._listener.conclude()
        return self._keeper.conclude()

    def _go_on(self) -> None:
        with self._interruptible(), self._saboteur:
            self._until(self._book.began_s + self._config.seconds)
        with self._interruptible():
            self._end(_LEAVE_S if self._book.interrupted else SILENT_S)

    @contextlib.contextmanager
    def _interruptible(self) -> Iterator[None]:
        try:
            yield
        except KeyboardInterrupt:
            self._book.interrupted = "it was interrupted"
        except UsageError as error:  # the account cannot be written, or the process not be started
            self._book.interrupted = str(error).removesuffix(".")

    def _until(self, deadline_s: float) -> None:
        while time.monotonic() < deadline_s and not self._book.interrupted:
            if self._process is None:
                order = Order(self._config, self._keeper.round.number + 1)
                with postponed():  # a Ctrl-C in between would leave it to nobody
                    self._process = ServedProcess(order, self._ledger, self._keeper.log)
            self._attend(self._process)
            self._keeper.look_on(self._processes())

    def _end(self, patience_s: float) -> None:
        """Let the last round come to its end."""
        deadline_s = time.monotonic() + patience_s
        self._book.doing = "waiting for the last round to end"
        while self._process is not None and time.monotonic() < deadline_s:
            self._process.stop()
            self._attend(self._process)
            self._keeper.look_on(self._processes())
        if self._process is not None and not self._book.interrupted:
            sentence = f"{self._keeper.round.what} did not end within {patience_s:g} s. See {self._keeper.log}."
            self._keeper.find("health", sentence, stood=stacks.ask(self._processes(), self._keeper.log))

    def _look_at(self, evidence: Evidence) -> None:
        """Wait for what recordings tell."""
        why, deadline_s = "there was no more time", time.monotonic() + _EVIDENCE_S
        try:
            while (left := evidence.waiting) and time.monotonic() < deadline_s:
                self._book.doing = f"looking at {counted(left, 'recording')}"
                self._keeper.show()
                evidence.finish(_SHOW_S)
        except KeyboardInterrupt:
            why = "it was asked to end"
        if left := evidence.waiting:
            self._book.notes.append(f"Recordings that were not looked at, as {why}: {left}.")

    def _attend(self, process: ServedProcess) -> None:
        """Take in what the process says, and how it gets on; if it has ended, or never will, let it go."""
        ending = process.ending()  # first: all that it has said is there then
        for message in process.hear(0.0 if ending else _HEAR_S):
            self._listener.take(message)
        if ending is not None:
            self._process = None
            self._listener.part(process, ending)
        elif not self._keeper.watch(self._processes()):
            self._process = None
            self._listener.close(process)

    def _leave(self) -> None:
        """Kill what still runs, and forget what processes have taken down."""
        process, self._process = self._process, None
        if process is not None:
            self._listener.close(process)
        self._keeper.end()
        shutil.rmtree(Path(self._config.folder) / ROUNDS, ignore_errors=True)

    def _processes(self) -> dict[str, int]:
        """Give those that live, by name."""
        process = self._process
        if process is None:
            return {}
        workers = {f"worker {rank}": pid for rank, pid in enumerate(self._keeper.round.workers)}
        return {ENGINE: process.pid, **children(process.pid, workers)}

    def _spare_bytes(self) -> int:
        """Say how much a hog may take: what leaves the machine, and this soak, far more than it takes."""
        bounds = (self._config.memory_bytes, spare_bytes())
        return min(bound // share for bound, share in zip(bounds, _HOG_SHARES, strict=True) if bound is not None)
