"""Whether a request may have ended as it did: what was done to it, and what happened meanwhile."""

from __future__ import annotations

import re
import time
from collections import Counter
from typing import NamedTuple

from omni_ipc.errors import OmniError
from omni_ipc.serving.results import Outcome
from omni_ipc.stress.load import Ask
from omni_ipc.stress.stalls import STALLED_S, patience

_EARLY = 0.95  # of a timeout: clocks are read at different moments


class Moment(NamedTuple):
    """What had happened when a request went in."""

    at_s: float
    aborts: int  # of requests of its id
    sleeps: int


class Circumstances:
    """What happens to all requests of one engine; one event loop's, and read by threads.

    Args:
        timeout_s: the shortest time after which a request may be told that it timed out.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._aborts: Counter[str] = Counter()
        self._sleeps = 0
        self._asleep = False
        self.stopping = False

    def now(self, request_id: str) -> Moment:
        """Take note of a request that goes in."""
        return Moment(time.monotonic(), self._aborts[request_id], self._sleeps - self._asleep)

    def aborting(self, request_id: str) -> None:
        """Note that requests of an id are aborted from now on."""
        self._aborts[request_id] += 1

    def sleeping(self, asleep: bool) -> None:
        """Note that the workers are going to sleep, or were woken."""
        self._sleeps += asleep
        self._asleep = asleep

    def is_due(self, ask: Ask, since: Moment, error: OmniError) -> bool:
        """Tell whether a request had to expect this error.

        A timeout is due where it is short. Nothing that works takes as long as a long one.
        """
        match Outcome.of(error):
            case Outcome.ABORTED:
                return self._aborts[ask.request.id] > since.aborts
            case Outcome.TIMED_OUT:
                waited_s = time.monotonic() - since.at_s
                return waited_s >= _EARLY * self._timeout_s and self._timeout_s < patience(STALLED_S)
            case Outcome.SHUT_DOWN:
                return self.stopping
        if ask.request.options["trouble"] and re.search("was to fail|cannot travel", str(error)):
            return True
        return self._sleeps > since.sleeps and "pipeline sleeps" in str(error)
