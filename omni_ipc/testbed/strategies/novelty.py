"""How many of the last samples were new: what tells that sampling more is of little use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WINDOW = 200  # samples to look back on
_FEW = 0.01  # share of new ones below which it is time to stop


class Novelty:
    """Counts samples whose order of conflicting steps had not been seen before."""

    def __init__(self) -> None:
        self._last: list[bool] = []

    def note(self, new: bool) -> None:
        """Take note of a sample."""
        if len(self._last) == WINDOW:
            del self._last[0]
        self._last.append(new)

    @property
    def is_spent(self) -> bool:
        """Whether a whole window of samples held next to nothing new."""
        return len(self._last) == WINDOW and sum(self._last) < WINDOW * _FEW

    def __str__(self) -> str:
        new, last = sum(self._last), len(self._last)
        return f"{new} of the last {last} {'was a new order' if last == 1 else 'were new orders'}"

    def state(self) -> dict[str, Any]:
        return dict(vars(self))

    def restore(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
