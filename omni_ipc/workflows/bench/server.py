"""What is compared: a whole output path, from a forward in a worker process to the consumer, behind one interface."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from omni_ipc.pipelines.synthetic import Synthetic
from omni_ipc.seam.api import Runtime
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.executor import Executor

RT = NativeRuntime()
CONFIG = EngineConfig(output_timeout_s=60, rpc_timeout_s=60)


class Case(msgspec.Struct, frozen=True):
    """One thing to measure a server at."""

    batch: int  # requests that are computed at once
    nbytes: int  # of each output
    scratch: str  # a folder of this run's own; its name begins all names in /dev/shm


class Server(Protocol):
    """A worker process, and the engine's side of it, in this one."""

    executor: Executor

    def __init__(self, case: Case) -> None: ...

    def copied(self) -> int:
        """Tell how many bytes of outputs both processes have copied so far."""

    def close(self) -> None:
        """Shut down, and give back all that it holds."""


class Counted(Synthetic):
    """Gives outputs that are there already, and tells how many bytes its process has copied."""

    calls = frozenset({"copied"})

    def __init__(self, *, rt: Runtime, nbytes: int, copied: Callable[[], int]) -> None:
        super().__init__(rt=rt, nbytes=nbytes)
        self._copied = copied

    def copied(self) -> int:
        """Tell how many bytes this process has copied."""
        return self._copied()


def load(path: str) -> Any:
    """Import a server's class by "module:class", the module being one of `servers` if it has no dots."""
    from omni_ipc.serving.factory import load

    return load(path if "." in path.partition(":")[0] else f"{__package__}.servers.{path}")
