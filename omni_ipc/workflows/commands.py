"""Commands of ours, run beside something else: as processes of low priority, which end with whoever runs them.

They look at the product by its own specs, wherever those of the user's lie.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from omni_ipc.conformance.models.manifest import ENVIRONMENT as SPECS
from omni_ipc.conformance.processes.children import Children

_POLITE = ("nice", "-n", "19")
_GRACE_S = 10.0
_ENVIRONMENT = 2  # exit code: this machine lacks something


class _Written(msgspec.Struct):
    """What a command writes."""

    result: dict[str, Any]


class Commands:
    """Runs commands one after another; a context manager, which ends the one that runs, and kills it if it does not.

    Args:
        folder: where each may leave its result for a moment.
        limit_s: after which a command is killed.

    Attributes:
        refusals: why commands could not be run on this machine, a sentence each.
    """

    def __init__(self, folder: Path, *, limit_s: float) -> None:
        self._folder = folder
        self._limit_s = limit_s
        self._children = Children()
        self.refusals: dict[str, None] = {}

    def __enter__(self) -> Commands:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._children.dismiss(_GRACE_S)  # who is killed leaves its temporary folders
        self._children.__exit__(kind, error, trace)

    def run(self, *command: object) -> dict[str, Any] | None:
        """Run a command, and give its result as it is written for ``--json``; None if it came to none.

        Raises:
            Inconclusive: the ``with`` was left.
        """
        result = self._folder / f".{command[0]}.json"
        environment = {name: value for name, value in os.environ.items() if name != SPECS}
        try:
            ended = self._children.run(
                [*_POLITE, sys.executable, "-m", "omni_ipc", *map(str, command), "--json", str(result)],
                cwd=Path.cwd(),
                env={**environment, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                timeout_s=self._limit_s,
            )
        except OSError as error:  # no memory, no descriptors, no nice
            self.refusals.setdefault(f"omni-ipc {command[0]} could not be started: {error.strerror}.")
            return None
        try:
            return msgspec.json.decode(result.read_bytes(), type=_Written).result
        except (OSError, msgspec.DecodeError):
            if ended.exit_code == _ENVIRONMENT:
                self.refusals.setdefault(ended.errors.strip().rpartition("\n")[2].removeprefix("omni-ipc: "))
            return None
        finally:
            result.unlink(missing_ok=True)
