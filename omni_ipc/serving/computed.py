"""What the workers computed: as one rank says it, and as the executor hands it on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from omni_ipc.serving.messages import ComputeDone


class Computed(NamedTuple):
    """A rank's "compute done"; in step execution with rank 0's values, of which each may be an error."""

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
