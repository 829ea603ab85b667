"""A native runtime that lets tasks rest before their regions, so that a soak comes to orders that are rare otherwise.

    task ── rest? ──► region: taken down, measured ──► ...

Two kinds of rests. *Random* ones: any region, now and then. *PCT-like* ones: for some time, some tasks are slow at each
of their regions, as those of low priority are in probabilistic concurrency testing, and then others are: so one task
falls behind by many steps of the others, which single rests hardly ever bring about.
"""

from __future__ import annotations

import itertools
import random
import threading
import time
import zlib
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from omni_ipc.records import Field
from omni_ipc.seam import api
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.seam.recording import RecordingRuntime
from omni_ipc.seam.words import NativeWords
from omni_ipc.stress.regions import Regions

RECORDINGS = "recordings"
"""The folder of recordings, in that of a `Perturbation`."""


class Perturbation(msgspec.Struct, frozen=True, kw_only=True):
    """How the processes of an engine are perturbed, and where they leave what they have measured.

    Args:
        folder: for measurements, and for recordings.
        seed: each process has rests of its own, by it.
        record: whether what the processes do is taken down.
        share: of the regions that a task rests before; 0 to 1.
        longest_s: of a rest.
        slow: share of the tasks that are slow at a time; 0 to 1.
        span: number of regions of a process after which others are slow.
    """

    folder: str
    seed: int = 0
    record: bool = False
    share: float = 0.02
    longest_s: float = 0.002
    slow: float = 0.15
    span: int = 300

    def of_workers(self) -> dict[str, Any]:
        """Give the settings of an engine whose workers are perturbed likewise."""
        return {
            "worker_runtime": f"{PerturbedRuntime.__module__}:{PerturbedRuntime.__qualname__}",
            "worker_runtime_options": {"perturbation": msgspec.to_builtins(self)},
        }


class Rests:
    """Says how long a task of one process is to rest before its next region."""

    def __init__(self, perturbation: Perturbation, process: str) -> None:
        self._how = perturbation
        self._name = f"{perturbation.seed} {process}"
        self._lot = random.Random(self._name)
        self._regions = itertools.count()  # next() of it is atomic

    def next_s(self, task: str) -> float:
        """Give the rest of a task, in seconds; mostly 0."""
        span = next(self._regions) // self._how.span
        if self._lot.random() < self._how.share or self._is_slow(task, span):
            return self._how.longest_s * self._lot.random()
        return 0.0

    def _is_slow(self, task: str, span: int) -> bool:
        return zlib.crc32(f"{self._name} {span} {task}".encode()) < self._how.slow * (1 << 32)


class PerturbedRuntime(NativeRuntime):
    """Perturbs the regions of one process, measures them, and takes them down if that is asked for.

    Args:
        perturbation: or its fields, as they come to a worker.
        rank: of the worker; None in the engine's process.
    """

    def __init__(self, perturbation: Perturbation | Mapping[str, Any], rank: int | None = None) -> None:
        how = msgspec.convert(perturbation, Perturbation)
        folder = Path(how.folder)
        folder.mkdir(parents=True, exist_ok=True)
        self._inner = RecordingRuntime(folder / RECORDINGS) if how.record else NativeRuntime()
        self._rests = Rests(how, "engine" if rank is None else f"worker {rank}")
        self._regions = Regions(folder, "engine" if rank is None else "worker")

    def close(self) -> None:
        """Leave what was measured, and take down nothing more."""
        self._regions.write()
        if isinstance(self._inner, RecordingRuntime):
            self._inner.close()

    def watch(self, target: object, guard: api.Lock | api.Condition | None, name: str) -> None:
        self._inner.watch(target, guard, name)

    def words(self, buffer: memoryview) -> NativeWords:
        return self._inner.words(buffer)

    def region(
        self, action: str, lock: api.Lock | api.Condition | None = None, /, **fields: Field
    ) -> AbstractContextManager[Any, bool | None]:
        return _Perturbed(action, self._inner.region(action, lock, **fields), self._rests, self._regions)


class _Perturbed:
    """A region behind a rest; measured from the end of that one to its own, its waiting for the lock included."""

    __slots__ = ("_action", "_begun_ns", "_inner", "_regions", "_rests")

    def __init__(
        self, action: str, inner: AbstractContextManager[Any, bool | None], rests: Rests, regions: Regions
    ) -> None:
        self._action = action
        self._inner = inner
        self._rests = rests
        self._regions = regions

    def __enter__(self) -> None:
        if rest_s := self._rests.next_s(threading.current_thread().name):
            time.sleep(rest_s)
        self._begun_ns = time.monotonic_ns()
        self._inner.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._inner.__exit__(kind, error, trace)
        self._regions.add(self._action, time.monotonic_ns() - self._begun_ns)
