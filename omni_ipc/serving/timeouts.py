"""How long a consumer waits for its output: one answer for the synchronous and the streaming path, given at each wait.

The environment variable `OMNI_IPC_OUTPUT_TIMEOUT` goes before the field of the configuration. One that is of no use is
passed over, and told once.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Mapping

import msgspec

from omni_ipc.serving.config import LONGEST_S, ServingConfig

VARIABLE = "OMNI_IPC_OUTPUT_TIMEOUT"

_LOGGER = logging.getLogger(__name__)


class Limit(msgspec.Struct, frozen=True):
    """A bound on one wait, and where it is set.

    Args:
        given: the value as it was given there.
    """

    seconds: float
    setting: str
    given: str

    @property
    def remedy(self) -> str:
        """What to do if the work is merely slow."""
        return f"If the work is merely slow, set {self.setting}={self.given} to a larger value."


class OutputTimeout:
    """Resolves the output timeout of one engine; knows which values it has warned of.

    Args:
        environ: where the variable is looked up at each wait; the process's environment unless given.
    """

    def __init__(self, config: ServingConfig, environ: Mapping[str, str] = os.environ) -> None:
        self._config = config
        self._environ = environ
        self._warned: set[str] = set()

    def resolve(self) -> Limit:
        """Read the setting that is in force now."""
        given = self._environ.get(VARIABLE)
        if given is not None:
            seconds, fault = _read(given, self._config.drain_timeout_s)
            if fault is None:
                return Limit(min(seconds, LONGEST_S), VARIABLE, given)
            self._warn(given, fault)
        seconds = self._config.output_timeout_s
        return Limit(seconds, "output_timeout_s", f"{seconds:g}")

    def _warn(self, given: str, fault: str) -> None:
        if given not in self._warned:
            self._warned.add(given)
            _LOGGER.warning(
                "%s=%r is ignored: it is %s. Outputs are awaited for output_timeout_s=%g s. "
                "Give a number of seconds above the drain timeout, or unset it.",
                VARIABLE,
                given,
                fault,
                self._config.output_timeout_s,
            )


def _read(given: str, drain_timeout_s: float) -> tuple[float, str | None]:
    """Read a number of seconds, and say what is wrong with it, if anything is."""
    try:
        seconds = float(given)
    except ValueError:
        return 0.0, "empty" if not given.strip() else "no number"
    if not math.isfinite(seconds):
        return seconds, "not finite"
    if seconds <= 0:
        return seconds, "not positive"
    if seconds <= drain_timeout_s:
        return seconds, f"not above the drain timeout, drain_timeout_s={drain_timeout_s:g}"
    return seconds, None
