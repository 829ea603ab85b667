"""A place on a node of a Ray, as an actor of it: runs one program in a process beside it, and is asked what that says.

It is known to Ray by its name in this module, so that a node must have omni_ipc installed, of the same version. What
passes through Ray, and so through its pickle, are bytes, numbers and short texts.
"""

from __future__ import annotations

import os
import platform

from omni_ipc import __version__
from omni_ipc.machines.api import Ended, Lost, Program, Said
from omni_ipc.machines.local import LocalMachines

MISFIT = "This node has another omni-ipc"

Heard = tuple[list[bytes], int | None, str]
"""Lines; the exit status, if it has ended by itself; how it was lost, if it was."""


class Seat:
    """Holds one program.

    Args:
        version: of the omni_ipc that orders it.
    """

    def __init__(self, version: str) -> None:
        if version != __version__:
            raise RuntimeError(f"{MISFIT}: {__version__} at {platform.node()}, and {version} is asked for")
        self._machine = LocalMachines(1)

    def begin(self, module: str, order: bytes) -> str:
        """Start the program; return where that is."""
        self._machine.start(0, Program(module, order))
        return f"process {os.getpid()} at {platform.node()}"

    def hear(self, timeout_s: float) -> Heard:
        """Wait for what it says."""
        lines: list[bytes] = []
        self._machine.wait(timeout_s)
        while self._machine.heard:
            match self._machine.heard.popleft():
                case Said(line=line):
                    lines.append(line)
                case Ended(status=status):
                    return lines, status, ""
                case Lost(how=how):
                    return lines, None, how
        return lines, None, ""

    def stop(self) -> None:
        """Ask it to end."""
        self._machine.stop()
