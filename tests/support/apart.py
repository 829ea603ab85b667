"""A runtime whose tasks have names of their own, for two engines in one world."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from omni_ipc.seam.api import Runtime, Task


class _Apart:
    def __init__(self, rt: Runtime, name: str) -> None:
        self._rt = rt
        self._name = name

    def spawn(self, fn: Callable[..., object], *args: object, name: str) -> Task:
        return self._rt.spawn(fn, *args, name=f"{self._name}.{name}")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rt, name)


def apart(rt: Runtime, name: str) -> Runtime:
    """Give the same runtime, with a prefix for the names of tasks."""
    return cast("Runtime", _Apart(rt, name))
