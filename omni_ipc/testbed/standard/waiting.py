"""``concurrent.futures.wait`` and ``as_completed`` under control."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ALL_COMPLETED, FIRST_COMPLETED, FIRST_EXCEPTION, Future
from concurrent.futures._base import DoneAndNotDoneFutures
from typing import Any

from omni_ipc.records import Field
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.objects.future import ControlledFuture
from omni_ipc.testbed.operations import Reading

Futures = set[ControlledFuture]


def suits(fs: Iterable[Any]) -> bool:
    """Tell whether all are futures under control, so that one step can wait for them."""
    return all(isinstance(future, ControlledFuture) for future in fs)


def wait(
    kernel: Kernel, fs: Iterable[ControlledFuture], timeout: float | None = None, return_when: str = ALL_COMPLETED
) -> DoneAndNotDoneFutures[Any]:
    """Wait for some futures, or for all."""
    futures = set(fs)
    if return_when not in (ALL_COMPLETED, FIRST_COMPLETED, FIRST_EXCEPTION) and len(_done(futures)) < len(futures):
        raise ValueError(f"Invalid return condition: {return_when!r}")

    def suffices() -> bool:
        done = _done(futures)
        if return_when == FIRST_COMPLETED and done:
            return True
        if return_when == FIRST_EXCEPTION and any(future.has_failed() for future in done):
            return True
        return len(done) == len(futures)

    done = _wait(kernel, "futures.wait", futures, suffices, timeout)
    return DoneAndNotDoneFutures(set[Future[Any]](done), set[Future[Any]](futures - done))


def as_completed(
    kernel: Kernel, fs: Iterable[ControlledFuture], timeout: float | None = None
) -> Iterator[ControlledFuture]:
    """Give futures in the order in which they come to their ends."""
    end = None if timeout is None else timeout + kernel.now()
    pending = set(fs)
    total = len(pending)
    given = _wait(kernel, "futures.as_completed", pending, _at_once, None)
    while True:
        pending -= given
        yield from sorted(given, key=lambda future: future.settled_at)
        if not pending:
            return
        left = None if end is None else end - kernel.now()
        if left is not None and left < 0:
            raise TimeoutError(f"{len(pending)} (of {total}) futures unfinished")
        given = _wait(kernel, "futures.as_completed", pending, functools.partial(_has_done, pending), left)


def _wait(
    kernel: Kernel, action: str, futures: Futures, suffices: Callable[[], bool], timeout: float | None
) -> Futures:
    """Wait until some futures suffice, and return those that are done."""
    look = Reading(action, _All(futures), lambda: _done(futures), suffices, lambda: _done(futures))
    result: Futures = kernel.perform_within(look, timeout)
    return result


def _done(futures: Futures) -> Futures:
    return {future for future in futures if future.has_ended()}


def _has_done(futures: Futures) -> bool:
    return any(future.has_ended() for future in futures)


def _at_once() -> bool:
    return True


class _All:
    """Several futures as one subject."""

    def __init__(self, futures: Futures) -> None:
        self._futures = sorted(futures, key=lambda future: future.identity)
        self.bit = 0
        for future in futures:
            self.bit |= future.bit

    def label(self) -> dict[str, Field]:
        return {"futures": " ".join(future.name for future in self._futures)}

    def shown(self) -> str:
        return " ".join(future.shown() for future in self._futures)

    def blocked_on(self) -> str:
        return " or ".join(future.name for future in self._futures if not future.has_ended()) + " to be settled"

    def holder(self) -> None:
        return None
