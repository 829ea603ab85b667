"""Signals, by name."""

from __future__ import annotations

import signal


def name_of(number: int) -> str:
    """Name a signal. Those of real time, which end a process as others do, have no name that Python knows."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
