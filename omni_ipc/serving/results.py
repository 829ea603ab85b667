"""What comes of a request: its output, or one of the other outcomes."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import msgspec

from omni_ipc.errors import Aborted, OmniError, ShutdownError, Timeout


class Outcome(enum.StrEnum):
    """How a request ended; each admitted request ends in exactly one."""

    RESULT = "result"
    ERROR = "error"
    ABORTED = "aborted"
    TIMED_OUT = "timed_out"
    SHUT_DOWN = "shut_down"

    @staticmethod
    def of(error: OmniError) -> Outcome:
        """Tell which outcome an error is."""
        for kind, outcome in _OUTCOMES.items():
            if isinstance(error, kind):
                return outcome
        return Outcome.ERROR


_OUTCOMES: Mapping[type[OmniError], Outcome] = {
    Aborted: Outcome.ABORTED,
    Timeout: Outcome.TIMED_OUT,
    ShutdownError: Outcome.SHUT_DOWN,
}


class Computed(msgspec.Struct, frozen=True):
    """The forward of a request is done.

    Args:
        output: the id to ask for the value by, which comes on a way of its own; None if the value is here.
        execution_s: how long the forward of its batch took.
        stages: of the model, with the seconds that each took.
    """

    output: str | None
    value: Any
    execution_s: float
    stages: dict[str, float]


class RequestOutput(msgspec.Struct, frozen=True):
    """The output of one request.

    Args:
        value: a tree (dict, list, tuple) of host arrays; they look into memory that the worker gets back once nobody
            refers to them any more.
        execution_time_s: the model's own, of the batch that the request was part of; the wait for the output is not in
            it.
        output_ready_wait_time_s: from "compute done" until the output was here, as its consumer waited for it.
        stage_durations_s: of the stages of the model, and of nothing else.
    """

    request_id: str
    value: Any
    execution_time_s: float
    output_ready_wait_time_s: float
    stage_durations_s: dict[str, float]
