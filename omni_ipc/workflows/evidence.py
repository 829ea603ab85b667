"""What becomes of recordings while a soak goes on: samples are held against specs, those of findings are cut down.

    soak ── a round's recordings ──► one task, one after the other ──► omni-ipc validate | omni-ipc stress reduce
                                                                         (processes of their own, of low priority)

What cannot be looked at in time is forgotten: the soak never waits for it, but a little at its end.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import msgspec

from omni_ipc.accounts import Validation
from omni_ipc.conformance.children import Children
from omni_ipc.errors import Inconclusive

FINDINGS = "findings"
"""The folder of recordings of rounds in which something was found, and of traces, in that of a soak."""

_SAMPLES = "samples"
_POLITE = ("nice", "-n", "19")
_STEPS = 120  # of AsyncOutput: more take minutes
_SEARCH_S, _REDUCE_S = 30.0, 30.0
_LONGEST_S = 240.0  # of a command: several searches
_MOST_REDUCED = 3  # findings: others are most likely the same


class Broken(NamedTuple):
    """Recordings that a spec does not allow.

    Args:
        at_s: when it was found out, on the monotonic clock.
        recordings: the folder that they are kept in.
    """

    at_s: float
    sentence: str
    recordings: str


class _Written(msgspec.Struct):
    """What a command of ours writes."""

    result: dict[str, Any]


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
        self._answers: dict[str, Counter[str]] = {spec: Counter() for spec in self._specs}
        self._traces: dict[str, str] = {}
        self._broken: list[Broken] = []
        self._silent: dict[str, None] = {}
        self._children = Children()
        self._thread = threading.Thread(target=self._work, name="evidence", daemon=True)

    def __enter__(self) -> Evidence:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._children.__exit__(kind, error, trace)
        self.finish(0.0)
        self._thread.join()
        shutil.rmtree(self._folder / _SAMPLES, ignore_errors=True)

    def finish(self, patience_s: float) -> None:
        """Take nothing more, and wait for what is not looked at yet."""
        with self._news:
            self._ending = True
            self._news.notify()
        self._thread.join(patience_s)

    def place(self, number: int) -> str:
        """Say where the recordings of a round are kept, if something was found in it."""
        return str(self._folder / FINDINGS / f"round {number}")

    def sample(self, recordings: Path, number: int) -> None:
        """Take the recordings of a round, to hold them against the specs; if others wait for that, it forgets them."""
        with self._news:
            if not self._jobs:
                self._take(recordings, self._folder / _SAMPLES / str(number), is_finding=False)

    def keep(self, recordings: Path, number: int) -> None:
        """Take the recordings of a round in which something was found, to cut them down."""
        with self._news:
            self._take(recordings, Path(self.place(number)), is_finding=True)

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
        with self._news:
            return tuple(self._silent)

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
            while not self._jobs and not self._ending:
                self._news.wait()
            findings = [job for job in self._jobs if job.is_finding]
            job = next(iter(findings or self._jobs), None)
            if job is not None:
                self._jobs.remove(job)
            return job

    def _validate(self, folder: Path) -> None:
        for spec in self._specs:
            result = self._run("validate", folder, "--spec", spec, "--seconds", _SEARCH_S, "--steps", _STEPS)
            sessions = [each for each in (result or {}).get("sessions", ()) if each["steps"]]
            with self._news:
                for session in sessions:
                    self._answers[spec] += Counter({session["answer"]: 1, "steps": session["steps"]})
                rejected = [each for each in sessions if each["answer"] == "rejected"]
                if rejected and folder.parent.name == _SAMPLES:
                    folder = self._kept(folder)
                    self._jobs.append(_Job(folder, is_finding=True))
                for each in rejected:
                    sentence = f"{spec} does not allow what was recorded: {each['reason']}"
                    self._broken.append(Broken(time.monotonic(), sentence, str(folder)))
        if folder.parent.name == _SAMPLES:
            shutil.rmtree(folder, ignore_errors=True)

    def _reduce(self, folder: Path) -> None:
        if self._reduced == _MOST_REDUCED:
            return
        self._reduced += 1
        defect = ("--defect", self._defect) if self._defect is not None else ()
        to = self._folder / FINDINGS
        result = self._run("stress", "reduce", folder, *defect, "--save", to, "--seconds", _REDUCE_S)
        if result is not None and result["trace"] is not None:
            with self._news:
                self._traces[str(folder)] = result["trace"]

    def _kept(self, folder: Path) -> Path:
        kept = Path(self.place(int(folder.name)))
        kept.parent.mkdir(parents=True, exist_ok=True)
        return folder.rename(kept)

    def _run(self, *command: object) -> dict[str, Any] | None:
        """Run a command of ours, and give its result; if there is none, note why."""
        result = self._folder / f".{command[0]}.json"
        result.unlink(missing_ok=True)
        ended = self._children.run(
            [*_POLITE, sys.executable, "-m", "omni_ipc", *map(str, command), "--json", str(result)],
            cwd=Path.cwd(),
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            timeout_s=_LONGEST_S,
        )
        try:
            return msgspec.json.decode(result.read_bytes(), type=_Written).result
        except (OSError, msgspec.DecodeError):
            if ended.exit_code == 2:  # this machine lacks something: that it speaks of none of the steps is no news
                with self._news:
                    self._silent.setdefault(ended.errors.strip().rpartition("\n")[2].removeprefix("omni-ipc: "))
            return None
        finally:
            result.unlink(missing_ok=True)
