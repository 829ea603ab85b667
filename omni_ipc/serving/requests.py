"""Requests: what a client asks of the model. Their input arrays travel beside the message, as outputs do.

Request(id, prompt, options, inputs) ── admissible ──► a copy that the workers will understand, or a refusal
                                     ── detach ──► requests without inputs  ┐
                                                   a payload of the inputs ┴─► one message ── attach ──► Request
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec

from omni_ipc import trees
from omni_ipc.errors import FormatError, UsageError
from omni_ipc.transport import wire
from omni_ipc.transport.packing import split

Option: TypeAlias = bool | int | float | str | None


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """One request for one output.

    Args:
        id: the client's name of it; another request may have the same one at the same time.
        options: of the pipeline: steps, a seed, a size.
        inputs: a tree (dict, list, tuple) of host arrays: latents, a picture to start from; None if there are none. On
            the worker's side the arrays may look into the engine's memory: read them, and write elsewhere.
        number: the engine's name of it in step execution: no other request of that engine has it. 0 elsewhere.
    """

    id: str
    prompt: str = ""
    options: dict[str, Option] = {}
    inputs: Any = None
    number: int = 0


_DECODER = msgspec.msgpack.Decoder(Request)


def admissible(request: Request) -> Request:
    """See that a request can be sent, before it is in a batch with others, which would fail with it.

    Returns:
        A copy: options and containers that nobody changes any more, and the same arrays.

    Raises:
        UsageError: it is no request, or something in it cannot travel.
    """
    if not isinstance(request, Request):
        raise UsageError(f"A {type(request).__qualname__} is no request. Give a serving.requests.Request.")
    try:
        copy = _DECODER.decode(wire.encode(msgspec.structs.replace(request, inputs=None)))
    except (UsageError, msgspec.DecodeError) as error:
        raise UsageError(
            f"Request {request.id!r:.80} cannot be sent: {error} Give texts for id and prompt, and options that are "
            "texts, numbers of 64 bits, bool or None."
        ) from None
    if request.inputs is None:
        return copy
    split(request.inputs, f"inputs of request '{copy.id:.80}'")
    return msgspec.structs.replace(copy, inputs=trees.mapped(lambda leaf: leaf, request.inputs))


def detach_inputs(requests: Sequence[Request]) -> tuple[tuple[Request, ...], list[Any] | None]:
    """Split requests from their inputs.

    Returns:
        The requests without, and one tree a request to send beside them; None if no request has any.
    """
    inputs = [request.inputs for request in requests]
    if all(tree is None for tree in inputs):
        return tuple(requests), None
    return tuple(msgspec.structs.replace(request, inputs=None) for request in requests), inputs


def attach_inputs(requests: Sequence[Request], payload: object) -> tuple[Request, ...]:
    """Give requests back what `detach_inputs` split from them.

    Raises:
        FormatError: it is not one tree a request.
    """
    if payload is None:
        return tuple(requests)
    if not isinstance(payload, list) or len(payload) != len(requests):
        found = f"{len(payload)} trees" if isinstance(payload, list) else f"a {type(payload).__name__}"
        raise FormatError(f"inputs: {found} beside {len(requests)} requests. Do both sides run the same omni_ipc?")
    return tuple(
        msgspec.structs.replace(request, inputs=inputs) for request, inputs in zip(requests, payload, strict=True)
    )
