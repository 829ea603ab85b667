"""How long a conductor waits for the next step of its schedule."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

LOOK_S = 0.02
"""How often it looks whether waiting makes sense."""

CALM = 0.2
"""The share of the rest after which it is calm: whoever was woken has gone on by then."""


class Patience:
    """Ends at a deadline, or earlier, once nobody has moved for a while; somewhat earlier it is calm.

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
        self.stir()

    def stir(self) -> None:
        """Somebody has moved."""
        self._resting = 0

    def look(self) -> None:
        """Look whether nobody moves; to be called once in `LOOK_S`."""
        self._resting = self._resting + 1 if self._at_rest() else 0

    @property
    def is_calm(self) -> bool:
        """Tell whether nobody moves who was woken by what has happened."""
        return self._resting * LOOK_S >= self.rest_s * CALM

    @property
    def is_at_rest(self) -> bool:
        """Tell whether nobody has moved for long enough: then nobody will any more."""
        return self._resting * LOOK_S >= self.rest_s

    def is_over(self) -> bool:
        """Tell whether the deadline has passed: whether anybody would still come is not known."""
        return time.monotonic() >= self._deadline
