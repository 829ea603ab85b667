"""What a pipeline returned, held against what it was asked for: one output a request, on the worker's device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from omni_ipc import trees
from omni_ipc.device.api import Device
from omni_ipc.serving.requests import Request
from omni_ipc.transport.wire import RemoteError


class Outputs(NamedTuple):
    """The outputs of one forward or step.

    Args:
        values: one a request; None where there is an error.
        errors: what took an output's place, by its position: it fails alone.
    """

    values: list[Any]
    errors: dict[int, RemoteError]


def check(returned: Any, batch: Sequence[Request], device: Device, *, method: str) -> Outputs:
    """Take what ``method`` returned for a batch.

    Raises:
        TypeError: it is nothing that holds outputs.
        ValueError: it does not hold one output a request.
    """
    values = _as_list(returned, method)
    if len(values) != len(batch):
        asked = "one request" if len(batch) == 1 else f"a batch of {len(batch)} requests"
        raise ValueError(f"{method}() returned {len(values)} outputs for {asked}. Let it return one output a request.")
    errors = {}
    for place, (value, request) in enumerate(zip(values, batch, strict=True)):
        if (error := _misfit(value, request, device, method)) is not None:
            errors[place] = RemoteError.from_exception(error)
            values[place] = None
    return Outputs(values, errors)


def _as_list(returned: Any, method: str) -> list[Any]:
    if isinstance(returned, Mapping | str | bytes) or not (
        hasattr(returned, "__len__") and hasattr(returned, "__getitem__")
    ):
        what = "nothing" if returned is None else f"a {type(returned).__name__}"
        raise TypeError(f"{method}() returned {what}. Let it return a list: one output a request.")
    try:
        return list(returned)
    except Exception as error:
        raise TypeError(
            f"{method}() returned a {type(returned).__name__} that cannot be gone through ({error}). "
            "Let it return a list: one output a request."
        ) from error


def _misfit(value: Any, request: Request, device: Device, method: str) -> BaseException | None:
    """Give what the request fails with, if its output is an error, or holds what lies elsewhere."""
    if isinstance(value, BaseException):
        return value
    try:
        elsewhere = {str(getattr(leaf, "device", "cpu")) for leaf in trees.leaves(value)} - {"cpu", device.name}
    except RecursionError:
        return ValueError(
            f"{method}() returned an output for request '{request.id}' that contains itself, or lies too deep. Give a "
            "flatter tree."
        )
    except Exception as error:  # of an attribute of the user's class
        return error
    if not elsewhere:
        return None
    return ValueError(
        f"{method}() returned a tensor on {', '.join(sorted(elsewhere))} for request '{request.id}', and the worker "
        f"computes on {device.name}. Move it there, or to the host: tensor.to('{device.name}')."
    )
