"""The saboteur: a task that puts one fault after the other into the processes of a soak, and sees how each is met."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import NamedTuple

from omni_ipc.accounts import Survived
from omni_ipc.errors import UnknownName
from omni_ipc.stress.faults import FAULTS, Fault, Target
from omni_ipc.stress.hog import HOG, MACHINE, hog
from omni_ipc.stress.ledger import Latest
from omni_ipc.stress.stalls import patience

ENGINE = "engine"
"""Of the processes, the one with engine and clients; the others are workers."""

_HELD_S = (0.2, 2.0)
PATIENCE_S = 60.0
"""For the next result behind a fault, on a machine that has time for it."""

_LOOK_S = 0.02
_MOST_TOLD = 20
_SPARED = frozenset({("memory", ENGINE)})  # whoever checks the outputs needs memory, too


class Blow(NamedTuple):
    """A fault that is to be put in, by lot."""

    fault: str
    target: str
    held_s: float


class Saboteur:
    """Puts in faults until it is left; a context manager, behind which no process is stopped or limited.

    Args:
        kinds: of `FAULTS`, and the hog.
        every_s: from the moment at which a fault was met to the next one, about.
        processes: tells name -> id of those that live; asked anew for each fault.
        latest: tells the latest result.
        spare_bytes: tells how much a hog may take, now.
        since_s: the beginning of the soak, on the monotonic clock.

    Raises:
        UnknownName: there is no such fault.
    """

    def __init__(
        self,
        *,
        seed: int,
        kinds: Sequence[str],
        every_s: float,
        processes: Callable[[], Mapping[str, int]],
        latest: Callable[[], Latest],
        spare_bytes: Callable[[], int],
        since_s: float,
    ) -> None:
        for kind in kinds:
            if kind not in (*FAULTS, HOG):
                raise UnknownName("fault", kind, (*FAULTS, HOG))
        self._lot = random.Random(f"{seed} saboteur")
        self._kinds = tuple(kinds)
        self._every_s = every_s
        self._processes = processes
        self._latest = latest
        self._spare_bytes = spare_bytes
        self._since_s = since_s
        self._over = threading.Event()
        self._told: dict[str, None] = {}  # since the last fault
        self._blows: list[tuple[float, Blow]] = []
        self._survived: list[Survived] = []
        self._unanswered: list[Survived] = []
        self._failed: dict[str, None] = {}
        self._thread = threading.Thread(target=self._run, name="saboteur", daemon=True)

    def __enter__(self) -> Saboteur:
        if self._kinds:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._kinds:
            self._thread.join()

    @property
    def blows(self) -> tuple[tuple[float, Blow], ...]:
        """The faults that were begun, or tried, each with the time before that on the monotonic clock."""
        return tuple(self._blows)

    @property
    def survived(self) -> tuple[Survived, ...]:
        """The faults so far, and how each was met."""
        return tuple(self._survived)

    @property
    def unanswered(self) -> tuple[Survived, ...]:
        """Those of them that no result came after, though there was time for one."""
        return tuple(self._unanswered)

    @property
    def failed(self) -> tuple[str, ...]:
        """Why faults could not be put in, a sentence each."""
        return tuple(self._failed)

    def told(self, what: str) -> None:
        """Take note of what somebody who waited was told in place of a result; any thread may."""
        if len(self._told) < _MOST_TOLD:
            self._told.setdefault(what)

    def strike(self, blow: Blow, pid: int | None = None) -> Survived | None:
        """Put a fault in, and wait for the next result; None if the process had ended before.

        Args:
            pid: of the process that it hits; None if it hits the machine.
        """
        begun_s = time.monotonic()
        self._blows.append((begun_s, blow))
        self._told.clear()
        try:
            with hog(self._spare_bytes()) if pid is None else _harm(pid, FAULTS[blow.fault]):
                recovered_s = self._hold(blow.held_s, begun_s)
        except (ProcessLookupError, FileNotFoundError):
            return None
        except OSError as error:
            self._failed.setdefault(f"The fault '{blow.fault}' could not be put into {blow.target}: {error.strerror}.")
            return None
        recovered_s, cut_off = (recovered_s, False) if recovered_s is not None else self._await_result(begun_s)
        survived = Survived(
            at_s=begun_s - self._since_s,
            fault=blow.fault,
            target=blow.target,
            told=tuple(self._told),
            recovered_s=recovered_s,
            cut_off=cut_off,
        )
        if recovered_s is None and not cut_off:
            self._unanswered.append(survived)
        return survived

    def _run(self) -> None:
        while not self._over.wait(self._every_s * self._lot.uniform(0.5, 1.5)):
            processes = self._processes()
            blow = self._draw(processes)
            if blow is not None and (survived := self.strike(blow, processes.get(blow.target))) is not None:
                self._survived.append(survived)

    def _draw(self, processes: Mapping[str, int]) -> Blow | None:
        """Choose a fault, and then whom it hits."""
        fault = self._lot.choice(self._kinds)
        whom = [MACHINE] if fault == HOG and processes else sorted(processes)
        names = [name for name in whom if (fault, name) not in _SPARED]
        return Blow(fault, self._lot.choice(names), self._lot.uniform(*_HELD_S)) if names else None

    def _hold(self, held_s: float, begun_s: float) -> float | None:
        """Let a fault last; gives how long the next result took, if it came meanwhile, as where nobody is disturbed."""
        ends_s = time.monotonic() + held_s
        recovered_s: float | None = None
        while (left_s := ends_s - time.monotonic()) > 0 and not self._over.wait(min(left_s, _LOOK_S)):
            recovered_s = recovered_s or self._recovered_s(begun_s)
        return recovered_s

    def _await_result(self, begun_s: float) -> tuple[float | None, bool]:
        """Wait for the next result behind a fault.

        Returns:
            how long it took, if it came; and whether the soak ended before it could.
        """
        while (recovered_s := self._recovered_s(begun_s)) is None:
            if self._over.wait(_LOOK_S):
                return None, True
            if time.monotonic() - begun_s > patience(PATIENCE_S):
                return None, False
        return recovered_s, False

    def _recovered_s(self, begun_s: float) -> float | None:
        """Tell how long after a fault the result came of a request that was submitted behind it; None if none did."""
        latest = self._latest()
        return latest.ended_s - begun_s if latest.submitted_s > begun_s else None


@contextlib.contextmanager
def _harm(pid: int, fault: Fault) -> Iterator[None]:
    with Target(pid) as target, fault(target):
        yield
