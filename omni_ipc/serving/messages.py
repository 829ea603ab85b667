"""What engine and worker say to each other: msgspec structs, tagged, decoded by type and never unpickled.

engine ── Execute, Call, Stop ──► main loop of every rank      (broadcast; arrays of the requests travel beside Execute)
engine ◄── ComputeDone, ComputeFailed, Returned, CallFailed ── main loop of each rank    (its own lane)
engine ◄── OutputReady, OutputFailed ──── output thread of rank 0  (its own lane; may overtake ComputeDone)

Every rank answers each call once. An answer says what it answers: ``rpc``, the number of the call, and ``epoch``, the
incarnation of the engine that made it. One that belongs to no call that is still awaited is discarded.
"""

from __future__ import annotations

from typing import Any

import msgspec

from omni_ipc.errors import FormatError, UsageError
from omni_ipc.serving.requests import Request
from omni_ipc.transport import wire
from omni_ipc.transport.wire import RemoteError


class Execute(msgspec.Struct, frozen=True, tag=True):
    """Compute one forward over ``requests``, and announce its result as the output ``output``.

    ``output`` is a batch of one value a request if ``split``; else it is the single output of the single request. The
    requests' inputs, where they have any, travel beside this message: one tree a request.

    In step execution (``step``) there is no announcement: rank 0's answer carries what the step computed.
    """

    rpc: int
    epoch: int
    output: str
    requests: tuple[Request, ...]
    split: bool
    step: bool = False


class Call(msgspec.Struct, frozen=True, tag=True):
    """Call a method of the worker ("sleep", "wake"), or one that its pipeline has declared."""

    rpc: int
    epoch: int
    method: str
    arguments: dict[str, Any] = {}


def callable_as(call: Call) -> Call:
    """See that workers will understand a call, and give it as they will.

    Raises:
        UsageError: they will not.
    """
    try:
        return wire.decode(wire.encode(call), Call)
    except (UsageError, FormatError) as error:
        raise UsageError(
            f"{call.method}() cannot be called so: {error} Give the method's name, and plain arguments: texts, numbers "
            "of 64 bits, bytes, lists, dicts."
        ) from None


class Stop(msgspec.Struct, frozen=True, tag=True):
    """Announce what is computed, say goodbye on every lane, and end."""


class ComputeDone(msgspec.Struct, frozen=True, tag=True):
    """The forward is done; the output will be announced by itself.

    In step execution the values travel beside rank 0's: one a request, None for what is not finished, or for what has
    failed alone; ``errors`` tells by its position why.
    """

    rpc: int
    epoch: int
    rank: int
    execution_s: float
    stages: dict[str, float] = {}  # seconds of the model's stages, by their names
    errors: dict[int, RemoteError] = {}


class ComputeFailed(msgspec.Struct, frozen=True, tag=True):
    """The forward raised; no output will come."""

    rpc: int
    epoch: int
    rank: int
    error: RemoteError


class Returned(msgspec.Struct, frozen=True, tag=True):
    """A call's value: numbers, texts, lists, dicts."""

    rpc: int
    epoch: int
    rank: int
    value: Any


class CallFailed(msgspec.Struct, frozen=True, tag=True):
    """The called method raised, or could not be called."""

    rpc: int
    epoch: int
    rank: int
    error: RemoteError


class OutputReady(msgspec.Struct, frozen=True, tag=True):
    """The output, whose values travel beside this message.

    ``errors`` tells, by its position in the batch, why an output could not be brought to the engine while the others
    could; None stands in its place.
    """

    output: str
    split: bool
    errors: dict[int, RemoteError] = {}


class OutputFailed(msgspec.Struct, frozen=True, tag=True):
    """The output was computed, and could not be brought to the engine."""

    output: str
    split: bool
    error: RemoteError


Command = Execute | Call | Stop
Answer = ComputeDone | ComputeFailed | Returned | CallFailed
Reply = Answer | OutputReady | OutputFailed
