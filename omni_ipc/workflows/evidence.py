"""What becomes of recordings while a soak goes on: samples are held against specs, those of findings are cut down.

    soak ── a round's recordings ──► one task, one after the other ──► omni-ipc validate | omni-ipc stress reduce
                                                                         (processes of their own, of low priority)

What cannot be looked at in time is forgotten: the soak never waits for it, but a little at its end.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from collections import Counter, deque
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from omni_ipc.accounts import Validation
from omni_ipc.errors import Inconclusive
from omni_ipc.workflows.commands import Commands
from omni_ipc.workflows.free_names import free_name

FINDINGS = "findings"
"""The folder of recordings of rounds in which something was found, and of traces, in that of a soak."""

SAMPLES = "samples"
"""That of recordings which are to be held against the spec."""

_STEPS = 1_000  # of AsyncOutput: in about two seconds of computing
_SEARCH_S, _REDUCE_S = 30.0, 30.0
_LONGEST_S = 240.0  # of a command: several searches
_MOST_REDUCED = 3  # findings: others are most likely the same
_MOST_KEPT = 20  # rounds, a few MB each


class Broken(NamedTuple):
    """Recordings that a spec does not allow.

    Args:
        at_s: when it was found out, on the monotonic clock.
        recordings: the folder that they are kept in, if they are.
    """

    at_s: float
    sentence: str
    recordings: str | None


class _Job(NamedTuple):
    folder: Path
    is_finding: bool


class Evidence:
    """Looks at recordings, in a task of its own; a context manager.

    Args:
        folder: of the soak.
        defect: that the processes have.
        workers: one, or several: of several AsyncOutput does not speak.
    """

    def __init__(self, folder: Path, *, defect: str | None, workers: int) -> None:
        self._folder = folder
        self._defect = defect
        self._specs = ("SplitMap", "FutureOrphan", *(("AsyncOutput",) if workers == 1 else ()))
        self._jobs: deque[_Job] = deque()
        self._news = threading.Condition()  # guards _jobs, _ending, and what was found out
        self._ending = False
        self._reduced = 0
        self._kept: dict[int, str] = {}  # round -> where its recordings are kept
        self._busy = False  # whether a job is being done
        self._answers: dict[str, Counter[str]] = {spec: Counter() for spec in self._specs}
        self._traces: dict[str, str] = {}
        self._broken: list[Broken] = []
        self._commands = Commands(folder, limit_s=_LONGEST_S)
        self._thread = threading.Thread(target=self._work, name="evidence", daemon=True)

    def __enter__(self) -> Evidence:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._commands.__exit__(kind, error, trace)
        self.finish(0.0)
        self._thread.join()
        shutil.rmtree(self._folder / SAMPLES, ignore_errors=True)

    def finish(self, patience_s: float) -> None:
        """Take nothing more, and wait for what is not looked at yet."""
        with self._news:
            self._ending = True
            self._news.notify()
        self._thread.join(patience_s)

    @property
    def waiting(self) -> int:
        """Recordings that are not looked at yet, or not to their end."""
        with self._news:
            return len(self._jobs) + self._busy

    def place(self, number: int) -> str | None:
        """Say where the recordings of a round are kept, in which something was found; None once there are plenty."""
        with self._news:
            return self._place(number)

    def sample(self, recordings: Path, number: int) -> None:
        """Take the recordings of a round, to hold them against the specs; if others wait for that, it forgets them."""
        with self._news:
            if not self._jobs:
                self._take(recordings, self._folder / SAMPLES / str(number), is_finding=False)

    def keep(self, recordings: Path, number: int) -> None:
        """Take the recordings of a round in which something was found, to cut them down."""
        with self._news:
            if (place := self._place(number)) is not None:
                self._take(recordings, Path(place), is_finding=True)

    def validations(self) -> tuple[Validation, ...]:
        """Tell how the samples fared, spec by spec."""
        with self._news:
            return tuple(
                Validation(
                    spec=spec,
                    accepted=answers["accepted"],
                    rejected=answers["rejected"],
                    inconclusive=answers["inconclusive"],
                    steps=answers["steps"],
                )
                for spec, answers in self._answers.items()
                if answers
            )

    def traces(self) -> Mapping[str, str]:
        """Give the traces that recordings were cut down to: folder -> file."""
        with self._news:
            return dict(self._traces)

    def broken(self) -> tuple[Broken, ...]:
        """Give what specs do not allow."""
        with self._news:
            return tuple(self._broken)

    def silent(self) -> tuple[str, ...]:
        """Say why recordings could not be looked at, a sentence each."""
        return (*self._commands.refusals,)

    def _place(self, number: int) -> str | None:
        if number not in self._kept and len(self._kept) < _MOST_KEPT:
            self._kept[number] = str(free_name(self._folder / FINDINGS / f"round-{number}"))
        return self._kept.get(number)

    def _take(self, recordings: Path, folder: Path, *, is_finding: bool) -> None:
        with contextlib.suppress(OSError):  # a full disk, or nothing was recorded
            folder.parent.mkdir(parents=True, exist_ok=True)
            recordings.rename(folder)
            self._jobs.append(_Job(folder, is_finding))
            self._news.notify()

    def _work(self) -> None:
        with contextlib.suppress(Inconclusive):  # it is left, and no more commands are run
            while (job := self._next()) is not None:
                self._reduce(job.folder) if job.is_finding else self._validate(job.folder)

    def _next(self) -> _Job | None:
        with self._news:
            self._busy = False
            while not self._jobs and not self._ending:
                self._news.wait()
            findings = [job for job in self._jobs if job.is_finding]
            job = next(iter(findings or self._jobs), None)
            if job is not None:
                self._jobs.remove(job)
            self._busy = job is not None
            return job

    def _validate(self, folder: Path) -> None:
        for spec in self._specs:
            result = self._commands.run("validate", folder, "--spec", spec, "--seconds", _SEARCH_S, "--steps", _STEPS)
            sessions = [each for each in (result or {}).get("sessions", ()) if each["steps"]]
            reasons = [each["reason"] for each in sessions if each["answer"] == "rejected"]
            with self._news:
                for each in sessions:
                    self._answers[spec] += Counter({each["answer"]: 1, "steps": each["steps"]})
                if reasons:
                    self._break(folder, f"{spec} does not allow what was recorded: {reasons[0]}")
                    return
        shutil.rmtree(folder, ignore_errors=True)

    def _break(self, folder: Path, sentence: str) -> None:
        """Note that a sample was rejected, and have it cut down like what else was found."""
        if (place := self._place(int(folder.name))) is not None:
            self._take(folder, Path(place), is_finding=True)
        self._broken.append(Broken(time.monotonic(), sentence, place))
        del self._broken[_MOST_KEPT:]

    def _reduce(self, folder: Path) -> None:
        if self._reduced == _MOST_REDUCED:
            return
        self._reduced += 1
        defect = ("--defect", self._defect) if self._defect is not None else ()
        to = self._folder / FINDINGS
        result = self._commands.run("stress", "reduce", folder, *defect, "--save", to, "--seconds", _REDUCE_S)
        if result is not None and result["trace"] is not None:
            with self._news:
                self._traces[str(folder)] = result["trace"]
