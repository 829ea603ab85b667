"""Pipelines that do what no model should to the process that they run in."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from omni_ipc.seam.api import Runtime
from omni_ipc.serving.requests import Request


class Unfriendly:
    """Gives its process id, or trouble: the prompt says which."""

    calls = frozenset({"echo"})

    def __init__(self, *, rt: Runtime, options: Any = None) -> None:
        self._rt = rt
        self._options = options

    def forward(self, batch: Sequence[Request]) -> list[Any]:
        """Compute one request after another."""
        return [self._compute(request) for request in batch]

    def echo(self, value: Any = None) -> Any:
        """Give it back; without one, the options that it was made with."""
        return self._options if value is None else value

    def __del__(self) -> None:
        """Come to no end, if it was made so."""
        while self._options == "linger":
            self._rt.sleep(1)

    def _compute(self, request: Request) -> Any:
        match request.prompt:
            case "fork":  # whoever comes back is a child, too
                self._see_off(os.fork())
            case "fork and exit":
                if (child := os.fork()) == 0:
                    sys.exit(0)
                self._see_off(child)
            case "wait":
                while not os.path.exists(str(request.options["for"])):
                    self._rt.sleep(0.01)
            case "print":
                print("printed by the model", flush=True)
                os.write(1, b"and behind Python's back\n")
            case "close":
                os.closerange(3, 1000)
            case "slow":
                self._rt.sleep(0.5)
            case "evil":
                return Evil()
        return os.getpid()

    def _see_off(self, child: int) -> None:
        """Come back behind the child, if that ends."""
        if child:
            os.waitpid(child, 0)


class Evil:
    """Raises when anybody looks at it."""

    @property
    def device(self) -> str:
        raise RuntimeError("do not look")
