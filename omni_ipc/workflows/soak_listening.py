"""What the process of engine and clients says, and how it ends: judged, by whether a fault explains it."""

from __future__ import annotations

import time
from collections.abc import Callable

from omni_ipc.stress.judging import is_device_lost
from omni_ipc.stress.leftovers import await_none, is_worker
from omni_ipc.stress.messages import Began, Ended, Failed, Found, Message, Told
from omni_ipc.stress.process import ServedProcess
from omni_ipc.stress.settings import SoakConfig
from omni_ipc.workflows.soak_keeping import Keeper

_TRIES = 4  # of an engine that does not start


class Listener:
    """Judges what is said; for one soak.

    Args:
        told: who else is told what clients were told.
    """

    def __init__(self, config: SoakConfig, keeper: Keeper, told: Callable[[str], object]) -> None:
        self._device = config.device
        self._keeper = keeper
        self._told = told
        self._failures: list[str] = []  # why no engine started, or lived on, since the last one that did

    def take(self, message: Message) -> None:
        """Take in what the process says."""
        self._keeper.hear()
        match message:
            case Began():
                for sentence in self._failures:
                    self._keeper.find("health", sentence)
                self._failures.clear()
                self._keeper.begin(message)
            case Told(at_s=at_s, sentence=sentence):
                self._told(sentence)
                if self._is_explained(at_s):
                    return  # also of a device: it may be lost to a process that was let have nothing more
                if self._device != "cpu" and is_device_lost(sentence):
                    self._keeper.book.interrupted = f"the device is lost: {sentence}"
                else:
                    self._keeper.find("outcome", f"Somebody was told, and there was no fault: {sentence}", at_s=at_s)
            case Failed(at_s=at_s, number=number, sentence=sentence):
                self._told(sentence)
                if not self._is_explained(at_s):
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
        interrupted = self._keeper.book.interrupted
        if not (process.ended_well or interrupted or self._is_explained(time.monotonic())):
            of = self._keeper.round.what or "its first round"
            sentence = (
                f"The process of engine and clients {ending} in {of}, and there was no fault. See {self._keeper.log}"
            )
            if ending.endswith("SIGKILL"):
                sentence += ", and `dmesg`: the kernel does so where memory is short"
            sentence += "."
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

    def _is_explained(self, at_s: float) -> bool:
        return self._keeper.book.is_explained(at_s, self._keeper.round_s)

    def _fail(self, at_last: str, sentence: str) -> None:
        """Note that no engine came to life; after some of that in a row, give up."""
        self._failures.append(sentence)
        if len(self._failures) == _TRIES:
            self._keeper.book.interrupted = at_last
