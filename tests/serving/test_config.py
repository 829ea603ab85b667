"""Settings: what no engine can work with is refused when they are made, with the value and what to give."""

from __future__ import annotations

from typing import Any

import pytest

from omni_ipc.errors import UsageError
from omni_ipc.serving.config import LONGEST_S
from omni_ipc.serving.engine_config import EngineConfig


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ({"workers": "2"}, r"workers='2' is no whole number"),
        ({"workers": 2.5}, r"workers=2\.5 is no whole number"),
        ({"max_batch": True}, r"max_batch=True is no whole number"),
        ({"max_waiting": -1}, r"max_waiting=-1 lets no request through"),
        ({"poll_s": "0.1"}, r"poll_s='0\.1' is no usable time"),
        ({"poll_s": None}, r"poll_s=None is no usable time"),
        ({"rpc_timeout_s": float("nan")}, r"rpc_timeout_s=nan is no usable time"),
        ({"rpc_timeout_s": 1e10}, r"rpc_timeout_s=10000000000\.0 is no usable time\. .* 1,000,000 at most"),
        ({"step_execution": "no"}, r"step_execution='no' is neither True nor False"),
        ({"device": 0}, r"device=0 names no device\. Give 'cpu', 'cuda:\{rank\}'"),
        ({"output_slots": 5}, r"output_slots=5 cannot be had"),
        ({"output_slots": ()}, r"output_slots=\(\) cannot be had"),
        ({"output_slots": ((3, 1),)}, r"output_slots=\(\(3, 1\),\) cannot be had: .*rising powers of two"),
        ({"output_slots": ((4096, 0),)}, r"output_slots=\(\(4096, 0\),\) cannot be had: .*counts of 1 or more"),
    ],
)
def test_a_setting_of_the_wrong_kind_is_refused(setting: dict[str, Any], told: str) -> None:
    """Now, and not by the thread that meets it first."""
    with pytest.raises(UsageError, match=told):
        EngineConfig(**setting)


def test_the_longest_time_can_be_waited() -> None:
    """It overflows nowhere below."""
    assert EngineConfig(rpc_timeout_s=LONGEST_S, output_timeout_s=LONGEST_S).rpc_timeout_s == LONGEST_S
