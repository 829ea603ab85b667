"""Requests and calls: what a worker would not understand is refused at the call, and harms nobody else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from omni_ipc.errors import UsageError
from omni_ipc.serving.messages import Call, callable_as
from omni_ipc.serving.requests import Request, admissible

ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        (Request(5), r"Request 5 cannot be sent: Expected `str`, got `int` - at `\$\.id`"),  # type: ignore[arg-type]
        (Request([1]), r"Request \[1\] cannot be sent: .*`\$\.id`"),  # type: ignore[arg-type]
        (Request("x", prompt=b"y"), r"Request 'x' cannot be sent: .*`\$\.prompt`"),  # type: ignore[arg-type]
        (Request("\ud800"), r"surrogates not allowed"),
        (Request("x", options={"a": [1]}), r"got `array` - at `\$\.options"),  # type: ignore[dict-item]
        (Request("x", options={"a": 2**70}), r"can't serialize ints"),
        (Request("x", options={"a": np.float32(1)}), r"type numpy\.float32 is unsupported"),  # type: ignore[dict-item]
        (Request("x", options={1: 2}), r"Expected `str`, got `int` - at `key`"),  # type: ignore[dict-item]
        (Request("x", inputs=object()), r"inputs of request 'x' is a builtins\.object, which cannot travel"),
        (Request("x", inputs={"a": ENDLESS}), r"inputs of request 'x'\.a\[0\].* contains itself"),
        ("x", r"A str is no request\. Give a serving\.requests\.Request"),
        (None, r"A NoneType is no request"),
    ],
)
def test_a_request_that_no_worker_would_understand_is_refused(request_: Any, told: str) -> None:
    """With what is wrong with it, and before it is in a batch with others."""
    with pytest.raises(UsageError, match=told):
        admissible(request_)


def test_a_request_that_was_admitted_is_not_changed_any_more() -> None:
    """Its options and containers are its own from then on; its arrays are not copied."""
    options: dict[str, Any] = {"steps": 4}
    inputs = {"latents": [np.ones(3)]}
    admitted = admissible(Request("x", "a lighthouse", options, inputs))
    options["steps"] = inputs["latents"][0]
    inputs["latents"].append(inputs)  # type: ignore[arg-type]
    assert admitted.options == {"steps": 4}
    assert list(admitted.inputs) == ["latents"]
    (array,) = admitted.inputs["latents"]
    assert array is options["steps"]


@pytest.mark.parametrize(
    ("method", "arguments", "told"),
    [
        (5, {}, r"5\(\) cannot be called so: .*Expected `str`, got `int` - at `\$\.method`"),
        ("echo", {"value": object()}, r"echo\(\) cannot be called so: .*type object is unsupported"),
        ("echo", {"value": 2**70}, r"can't serialize ints"),
    ],
)
def test_a_call_that_no_worker_would_understand_is_refused(method: Any, arguments: dict[str, Any], told: str) -> None:
    """With what is wrong with it: a worker that gets it could not say whom to answer."""
    with pytest.raises(UsageError, match=told):
        callable_as(Call(1, 1, method, arguments))
