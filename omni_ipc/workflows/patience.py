"""How long a conductor waits for the next step of its schedule."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

LOOK_S = 0.02
"""How often it looks whether waiting makes sense."""


class Patience:
    """Ends at a deadline, or earlier, once nobody has moved for a while.

    Args:
        seconds: from `renew` to the deadline; there is none before the first time.
        at_rest: tells whether nobody moves.
        rest_s: for how long that must be so.
    """

    def __init__(self, seconds: float, *, at_rest: Callable[[], bool], rest_s: float) -> None:
        self.seconds = seconds
        self.rest_s = rest_s
        self._at_rest = at_rest
        self._resting = 0  # looks in a row at which nobody moved
        self._deadline = math.inf

    @property
    def began(self) -> bool:
        """Tell whether anything is waited for."""
        return self._deadline != math.inf

    def renew(self) -> None:
        """Begin anew: something has happened."""
        self._deadline = time.monotonic() + self.seconds
        self._resting = 0

    def is_at_rest(self) -> bool:
        """Look whether nobody moves, and tell whether it was so for long enough: then nobody will any more."""
        self._resting = self._resting + 1 if self._at_rest() else 0
        return self._resting * LOOK_S >= self.rest_s

    def is_over(self) -> bool:
        """Tell whether the deadline has passed: whether anybody would still come is not known."""
        return time.monotonic() >= self._deadline
