"""What is kept of a soak while it goes on: what was found, what rounds leave behind, and the account on disk.

messages, processes ──► Keeper ──► book ──► account.json
   recordings of rounds ──┴──────► evidence: samples are held against the spec, those of findings cut down
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from omni_ipc import shards
from omni_ipc.accounts import Account
from omni_ipc.errors import UsageError
from omni_ipc.report.text import counted
from omni_ipc.stress import stacks
from omni_ipc.stress.book import Book
from omni_ipc.stress.ledger import Ledger
from omni_ipc.stress.leftovers import sample
from omni_ipc.stress.messages import Began
from omni_ipc.stress.perturbed import RECORDINGS
from omni_ipc.stress.regions import regions_of
from omni_ipc.stress.runtimes import folder_of
from omni_ipc.stress.saboteur import PATIENCE_S
from omni_ipc.stress.settings import SoakConfig
from omni_ipc.stress.stalls import SILENT_S, Progress
from omni_ipc.workflows.evidence import Evidence

LOG = "processes.log"
"""What engine, clients and workers print, in the folder of the soak."""

OnSample = Callable[[Account], object]

_LONGER = "Soak for longer, or with another --seed, or have an explorer look for it: omni-ipc explore --help."
_SAMPLE_S = 1.0
_WRITE_S = 5.0


class Keeper:
    """Keeps the account of one soak, and all that goes with it.

    Attributes:
        book: what is counted, measured and found.
        evidence: what becomes of recordings; a context manager.
        log: the file of what the processes print.
        round: the one that goes on, or went on last.
        round_s: when that began.
    """

    def __init__(self, config: SoakConfig, book: Book, ledger: Ledger, on_sample: OnSample) -> None:
        self._config = config
        self._folder = Path(config.folder)
        self._ledger = ledger
        self._on_sample = on_sample
        self.book = book
        self.evidence = Evidence(self._folder, defect=config.defect, workers=config.workers)
        self.log = self._folder / LOG
        self.round = Began(0, (), 0.0, False, "")
        self.round_s = book.began_s
        self._suspicious: set[int] = set()  # rounds that something was found in, and that were recorded
        self._broken = 0  # recordings that no spec allows
        self._unanswered = 0  # faults
        self._requests = Progress(book.began_s)
        self._process = Progress(book.began_s, SILENT_S)
        self._heard = 0  # messages
        self._sample_s = self._write_s = book.began_s

    def hear(self) -> None:
        """Take note that the process of engine and clients says something."""
        self._heard += 1

    def begin(self, message: Began) -> None:
        """Take note of a round, before which workers that died were replaced."""
        for rank, (before, now) in enumerate(zip(self.round.workers, message.workers, strict=False)):
            if before != now:
                self.book.replaced(f"worker {rank}")
        self.round, self.round_s = message, time.monotonic()

    def find(self, kind: str, message: str, *, at_s: float | None = None, stood: tuple[str, ...] = ()) -> None:
        """Note something that must not be, in the round that goes on; those behind it are recorded."""
        number, recordings = self.round.number, None
        if folder_of(self._config, number).joinpath(RECORDINGS).exists():
            self._suspicious.add(number)
            recordings = self.evidence.place(number)
        self.book.find(kind, message, at_s=at_s, recordings=recordings, stood=stood)
        self._mark()

    def look_on(self, processes: Mapping[str, int]) -> None:
        """Keep samples and account, each when it is due.

        Raises:
            UsageError: the account cannot be written.
        """
        now_s = time.monotonic()
        if now_s >= self._sample_s:
            self._sample_s = now_s + _SAMPLE_S
            self._look(now_s, processes)
            self.show()
        if now_s >= self._write_s:
            self._write_s = now_s + _WRITE_S
            self.write()

    def show(self) -> None:
        """Show the account so far to whoever looks on."""
        self._on_sample(self.book.account())

    def watch(self, processes: Mapping[str, int]) -> bool:
        """See whether the processes get on: something ends, and results come again after a fault.

        Returns:
            whether there is anything to hope for; else they have to be ended, for the soak to go on.
        """
        now_s, ended, unsettled = time.monotonic(), sum(self._ledger.outcomes().values()), self.book.unsettled
        stalled_s = self._requests.look(now_s, ended=ended, unsettled=unsettled)
        if stalled_s is not None:
            left = counted(unsettled, "request")
            sentence = f"Nothing ended for {stalled_s:.0f} s, with {left} open, in {self.round.what}."
            self.find("health", sentence, stood=stacks.ask(processes, self.log))
        silent_s = self._process.look(now_s, ended=ended + self._heard, unsettled=len(processes))
        if silent_s is not None:
            sentence = f"For {silent_s:.0f} s nothing was heard of engine and clients, since {self.round.what}."
            self.find("health", sentence, stood=stacks.ask(processes, self.log))
        for fault in self.book.around.unanswered()[self._unanswered :]:
            self._unanswered += 1
            sentence = f"After the fault '{fault.fault}' of {fault.target} no result came, in {PATIENCE_S:g} s or more."
            self.find("health", sentence, stood=stacks.ask(processes, self.log))
        if len(broken := self.evidence.broken()) > self._broken:
            self._broken = len(broken)
            self._mark()
        return silent_s is None

    def put_away(self, number: int) -> None:
        """Take along what the processes of a round have measured, and taken down."""
        folder = folder_of(self._config, number)
        self.book.measured(regions_of(folder))
        if number in self._suspicious:
            self.evidence.keep(folder / RECORDINGS, number)
        else:
            self.evidence.sample(folder / RECORDINGS, number)
        shutil.rmtree(folder, ignore_errors=True)

    def end(self) -> None:
        """Take note that all processes have ended, with a last look at what is left of them."""
        self.book.ended_s = time.monotonic()
        self._look(self.book.ended_s, {})

    def part(self, *, killed: bool) -> int:
        """Settle what a process has left open that is no more; gives how many requests are lost with it."""
        before = self.book.lost
        for name in ("left", "open", "slots"):
            self._ledger.put(name, 0)
        self.book.parted(killed=killed)
        return self.book.lost - before

    def rescue(self) -> None:
        """Take along what was recorded of a round that did not come to its end, if something was found in it."""
        if self.round.number in self._suspicious:
            self.put_away(self.round.number)

    def write(self) -> None:
        """Bring the account on disk up to date.

        Raises:
            UsageError: it cannot be written.
        """
        shards.write(self._folder, self.book.account())

    def conclude(self) -> Account:
        """Close the account, and give it; a full disk is told in it."""
        if self._config.defect and not (self.book.interrupted or self.book.account().findings):
            self.book.reasons.append(f"The defect '{self._config.defect}' did not show. {_LONGER}")
        self.book.doing = ""
        try:
            self.write()
        except UsageError as error:
            self.book.interrupted = self.book.interrupted or str(error)
        account = self.book.account()
        self._on_sample(account)
        return account

    def _mark(self) -> None:
        """Have the rounds behind this one recorded."""
        self._ledger.put("suspicious", max(1, self.round.number))

    def _look(self, now_s: float, processes: Mapping[str, int]) -> None:
        self.book.sample(sample(now_s - self.book.began_s, processes, self._ledger))
