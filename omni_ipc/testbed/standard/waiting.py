"""``concurrent.futures.wait`` and ``as_completed`` under control."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ALL_COMPLETED, FIRST_COMPLETED, FIRST_EXCEPTION, Future
from concurrent.futures._base import DoneAndNotDoneFutures
from typing import Any, NamedTuple

from omni_ipc.records import Field
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.objects.condition import ControlledCondition
from omni_ipc.testbed.objects.future import FINISHED, NOTIFIED, ControlledFuture
from omni_ipc.testbed.operations import Reading, always

Futures = set[Future[Any]]


def suits(fs: Iterable[Any]) -> bool:
    """Tell whether all are futures under control, so that one step can wait for them."""
    return all(isinstance(future, ControlledFuture) or _is_over_locks(future) for future in fs)


def _is_over_locks(future: Any) -> bool:
    """Tell whether it is an instance of a subclass, which runs the standard library's code over locks under control."""
    return isinstance(future, Future) and isinstance(future.__dict__.get("_condition"), ControlledCondition)


def wait(
    kernel: Kernel, fs: Iterable[Future[Any]], timeout: float | None = None, return_when: str = ALL_COMPLETED
) -> DoneAndNotDoneFutures[Any]:
    """Wait for some futures, or for all."""
    futures = set(fs)
    if return_when not in (ALL_COMPLETED, FIRST_COMPLETED, FIRST_EXCEPTION) and len(_done(futures)) < len(futures):
        raise ValueError(f"Invalid return condition: {return_when!r}")

    def suffices() -> bool:
        done = _done(futures)
        if return_when == FIRST_COMPLETED and done:
            return True
        if return_when == FIRST_EXCEPTION and any(_state(future).exception is not None for future in done):
            return True
        return len(done) == len(futures)

    done = _wait(kernel, "futures.wait", futures, suffices, timeout)
    return DoneAndNotDoneFutures(done, futures - done)


def as_completed(kernel: Kernel, fs: Iterable[Future[Any]], timeout: float | None = None) -> Iterator[Future[Any]]:
    """Give futures in the order in which they come to their ends."""
    end = None if timeout is None else timeout + kernel.now()
    pending = set(fs)
    total = len(pending)
    given = _wait(kernel, "futures.as_completed", pending, always, None)
    while True:
        pending -= given
        yield from sorted(given, key=lambda future: (_state(future).settled_at, _bit(future)))
        if not pending:
            return
        left = None if end is None else end - kernel.now()
        if left is not None and left <= 0:
            raise TimeoutError(f"{len(pending)} (of {total}) futures unfinished")
        given = _wait(kernel, "futures.as_completed", pending, functools.partial(_has_done, pending), left)


def _wait(
    kernel: Kernel, action: str, futures: Futures, suffices: Callable[[], bool], timeout: float | None
) -> Futures:
    """Wait until some futures suffice, and return those that are done."""
    look = Reading(action, _All(futures), lambda: _done(futures), suffices, lambda: _done(futures))
    result: Futures = kernel.perform_within(look, timeout)
    return result


class _State(NamedTuple):
    has_ended: bool
    exception: BaseException | None
    settled_at: int  # step; 0 if nobody noted it


def _state(future: Any) -> _State:
    return _State(future._state in (NOTIFIED, FINISHED), future._exception, getattr(future, "settled_at", 0))


def _bit(future: Any) -> int:
    """Return what a step reads that looks at a future."""
    bit: int = future.bit if isinstance(future, ControlledFuture) else future._condition.lock.bit
    return bit


def _done(futures: Futures) -> Futures:
    return {future for future in futures if _state(future).has_ended}


def _has_done(futures: Futures) -> bool:
    return any(_state(future).has_ended for future in futures)


class _All:
    """Several futures as one subject."""

    def __init__(self, futures: Futures) -> None:
        self._futures = sorted(futures, key=_bit)
        self.bit = 0
        for future in futures:
            self.bit |= _bit(future)

    def label(self) -> dict[str, Field]:
        return {"futures": " ".join(map(_name, self._futures))}

    def shown(self) -> str:
        return " ".join(str(future._state).lower() for future in self._futures)

    def blocked_on(self) -> str:
        return " or ".join(_name(future) for future in self._futures if not _state(future).has_ended) + " to be settled"

    def holder(self) -> None:
        return None


def _name(future: Any) -> str:
    return future.name if isinstance(future, ControlledFuture) else type(future).__name__
