"""What the process of engine and clients says, and how it ends: judged, by whether a fault explains it."""

from __future__ import annotations

import time
from collections.abc import Callable

from omni_ipc.stress.device_errors import is_lost
from omni_ipc.stress.leftovers import await_none, is_worker
from omni_ipc.stress.messages import Began, Ended, Failed, Found, Message, Told
from omni_ipc.stress.process import ServedProcess
from omni_ipc.stress.settings import SoakConfig
from omni_ipc.workflows.oom import OomKills
from omni_ipc.workflows.soak_keeping import Keeper

_TRIES = 4  # of an engine that does not start
_KILLED = "killed by SIGKILL"
_MORE_MEMORY = "Free some (see `free -m`), or ask for less: --memory, --workers"


class Listener:
    """Judges what is said; for one soak.

    Args:
        told: who else is told what clients were told.
        oom: what the kernel has killed.
    """

    def __init__(self, config: SoakConfig, keeper: Keeper, told: Callable[[str], object], oom: OomKills) -> None:
        self._device = config.device
        self._keeper = keeper
        self._told = told
        self._oom = oom
        self._has_failed = False  # the machine has, and all that is told since comes of that
        self._failures: list[str] = []  # why no engine started, or lived on, since the last one that did

    def take(self, message: Message) -> None:
        """Take in what the process says."""
        self._keeper.hear()
        self._oom.lately()  # by which it knows what comes later
        match message:
            case Began():
                for sentence in self._failures:
                    self._keeper.find("health", sentence)
                self._failures.clear()
                self._keeper.begin(message)
            case Told(at_s=at_s, sentence=sentence):
                self._told(sentence)
                if not (self._is_explained(at_s) or self._blame_machine(sentence)):
                    self._keeper.find("outcome", f"Somebody was told, and there was no fault: {sentence}", at_s=at_s)
            case Failed(at_s=at_s, number=number, sentence=sentence):
                self._told(sentence)
                if not (self._is_explained(at_s) or self._blame_machine(sentence)):
                    what = f"An engine did not start, and there was no fault: {sentence}"
                    self._fail(f"no engine starts any more: {sentence}", what)
                self._keeper.put_away(number)
            case Found(at_s=at_s, kind=kind, sentence=sentence):
                self._keeper.find(kind, sentence, at_s=at_s)
            case Ended(number=number, own_bytes=own_bytes):
                self._keeper.book.settled(own_bytes)
                self._keeper.put_away(number)

    def part(self, process: ServedProcess, ending: str) -> None:
        """Take leave of a process that has ended."""
        interrupted, now_s = self._keeper.book.interrupted, time.monotonic()
        what = f"The process of engine and clients {ending} in {self._keeper.round.what or 'its first round'}"
        explained = process.ended_well or interrupted or self._is_explained(now_s)
        if not explained and not self._blame_machine(what):
            sentence = f"{what}, and there was no fault. See {self._keeper.log}{self._perhaps(ending)}."
            self._fail(f"engines do not live: {sentence}", sentence)
        self.close(process)

    def close(self, process: ServedProcess) -> None:
        """Kill a process if it lives, and see that nothing is left of it."""
        process.close()
        if lost := self._keeper.part(killed=not process.ended_well):
            self._told(f"lost with the engine: {lost:,} requests")
        workers = self._keeper.round.workers
        if left := await_none(lambda: ", ".join(str(pid) for pid in workers if is_worker(pid))):
            self._keeper.find("leftover", f"The worker processes {left} outlived the process of their engine.")
        self._keeper.rescue()

    def conclude(self) -> None:
        """Judge what can be judged only at the end."""
        for sentence in () if self._keeper.book.interrupted else self._failures:
            self._keeper.find("health", sentence)

    def _blame_machine(self, sentence: str) -> bool:
        """Tell whether what no fault explains tells that the machine fails; then the soak ends.

        A fault explains the loss of a device, too: it may be lost to a process that was let have nothing more.
        """
        why = ""
        if is_lost(self._device, sentence):
            why = f"the device is lost: {sentence}"
        elif _KILLED in sentence and (killed := self._oom.lately()):
            why = f"{killed}. {sentence.removesuffix('.')}. {_MORE_MEMORY}"
        if why:
            self._has_failed = True
            self._keeper.book.interrupted = self._keeper.book.interrupted or why
        return bool(why)

    def _perhaps(self, ending: str) -> str:
        """Say who may have ended a process, if nobody knows."""
        if _KILLED not in ending or self._oom.are_counted:
            return ""
        return ", and `dmesg`: the kernel does so where memory is short, and does not count it here"

    def _is_explained(self, at_s: float) -> bool:
        return self._has_failed or self._keeper.book.is_explained(at_s, self._keeper.round_s)

    def _fail(self, at_last: str, sentence: str) -> None:
        """Note that no engine came to life; after some of that in a row, give up."""
        self._failures.append(sentence)
        if len(self._failures) == _TRIES:
            self._keeper.book.interrupted = at_last
