"""What the workers computed: as one rank says it, and as the executor hands it on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from omni_ipc.errors import OmniError
from omni_ipc.serving.messages import ComputeDone


class Computed(NamedTuple):
    """A rank's "compute done"; in step execution with rank 0's values."""

    done: ComputeDone
    values: Any


class Executed(NamedTuple):
    """A forward that is done.

    Args:
        outputs: the ids of its outputs, one a request; they are announced by themselves.
        execution_s: how long the slowest rank computed.
        stages: seconds of the model's stages, by their names.
    """

    outputs: tuple[str, ...]
    execution_s: float
    stages: Mapping[str, float] = {}


class Stepped(NamedTuple):
    """A step that is done.

    Args:
        values: one a request: its output, None if it is not finished, or the error that it has failed with.
        execution_s: how long the slowest rank computed.
        stages: seconds of the model's stages, by their names.
    """

    values: Sequence[Any]
    execution_s: float
    stages: Mapping[str, float] = {}


def errors_of(answers: Sequence[Computed]) -> dict[int, OmniError]:
    """Tell which requests have failed alone on some rank, by their place in the batch; of the lowest such rank, why."""
    return {
        place: error.as_error(f"The worker of rank {answer.done.rank}")
        for answer in reversed(answers)
        for place, error in answer.done.errors.items()
    }


def with_errors(values: Any, errors: Mapping[int, OmniError]) -> Any:
    """Put errors into the places of the values that they stand for."""
    if not errors or isinstance(values, BaseException):
        return values
    return [errors.get(place, value) for place, value in enumerate(values)]


def slowest(answers: Sequence[Computed]) -> float:
    """Give the seconds that the slowest rank computed."""
    return max(answer.done.execution_s for answer in answers)
