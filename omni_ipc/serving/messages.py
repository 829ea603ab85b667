"""What engine and worker say to each other: msgspec structs, tagged, decoded by type and never unpickled.

engine ── Execute, Stop ──► worker main loop
engine ◄── ComputeDone, ComputeFailed ── worker main loop      (its own lane)
engine ◄── OutputReady, OutputFailed ─── worker output thread  (its own lane; may overtake ComputeDone)
"""

from __future__ import annotations

import msgspec

from omni_ipc.transport.wire import RemoteError


class Execute(msgspec.Struct, frozen=True, tag=True):
    """Compute one forward over ``requests``, and announce its result as the output ``output``.

    ``output`` is a batch of one value a request if ``split``; else it is the single output of the single request.
    """

    rpc: int
    output: str
    requests: tuple[str, ...]
    split: bool


class Stop(msgspec.Struct, frozen=True, tag=True):
    """Announce what is computed, say goodbye on every lane, and end."""


class ComputeDone(msgspec.Struct, frozen=True, tag=True):
    """The forward is done; the output will be announced by itself."""

    rpc: int
    output: str


class ComputeFailed(msgspec.Struct, frozen=True, tag=True):
    """The forward raised; no output will come."""

    rpc: int
    error: RemoteError


class OutputReady(msgspec.Struct, frozen=True, tag=True):
    """The output, whose values travel beside this message."""

    output: str
    split: bool


class OutputFailed(msgspec.Struct, frozen=True, tag=True):
    """The output was computed, and could not be brought to the engine."""

    output: str
    split: bool
    error: RemoteError


Request = Execute | Stop
Reply = ComputeDone | ComputeFailed | OutputReady | OutputFailed
