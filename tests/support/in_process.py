"""The command line, run in the process of the tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Ran(NamedTuple):
    """How a command ended that was run in this process."""

    code: int
    out: str
    err: str


Omni = Callable[..., Ran]
