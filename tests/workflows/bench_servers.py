"""Servers that misbehave, for the bench to start."""

from __future__ import annotations

from omni_ipc.workflows.bench.server import Case


class Raises:
    """Cannot be started."""

    def __init__(self, case: Case) -> None:
        raise OSError("no room at all")
