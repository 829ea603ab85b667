"""The model of a soak: what it gives for a batch at once, or step by step, is what its requests have asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omni_ipc.device.host import HostDevice
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.requests import Request
from omni_ipc.stress.late import LateHost
from omni_ipc.stress.outputs import Kind, difference
from omni_ipc.stress.pipeline import Varied, plan_of

OPTIONS = {"kind": "plain", "nbytes": 5000, "salt": 1, "forward_s": 0.0, "late_s": 0.0, "trouble": "", "steps": 0}


def request(salt: int, *, inputs: Any = None, **options: Any) -> Request:
    """Make one of a few ids, so that several have the same."""
    return Request(f"r{salt % 3}", options=OPTIONS | {"salt": salt} | options, inputs=inputs)


def pipeline() -> Varied:
    return Varied(rt=NativeRuntime())


def wrong(asked: Request, output: Any) -> str | None:
    return difference({"late": 0.0, "value": plan_of(asked)}, output)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.sampled_from(Kind), st.sampled_from([4000, 5000])), min_size=1, max_size=8))
def test_each_request_of_a_batch_gets_its_own(wanted: Sequence[tuple[Kind, int]]) -> None:
    """Whatever they are together, whatever their ids; rows of one size lie in one array."""
    batch = [request(salt, kind=kind.value, nbytes=nbytes) for salt, (kind, nbytes) in enumerate(wanted)]
    outputs = pipeline().forward(batch)
    assert [wrong(each, output) for each, output in zip(batch, outputs, strict=True)] == [None] * len(batch)
    rows = [id(o["value"]["image"].base) for (kind, n), o in zip(wanted, outputs, strict=True) if kind is Kind.ROW]
    assert len({*rows}) == len({nbytes for kind, nbytes in wanted if kind is Kind.ROW})


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 4), st.sampled_from(Kind)), min_size=1, max_size=8))
def test_step_by_step_each_request_takes_as_many_as_it_asks_for(wanted: Sequence[tuple[int, int, Kind]]) -> None:
    """While others come and go; then it is what a forward would have given."""
    model, done = pipeline(), {}
    waiting = [(begins, request(salt, steps=n, kind=kind.value)) for salt, (begins, n, kind) in enumerate(wanted)]
    for now in range(8):
        batch = [each for begins, each in waiting if begins <= now and each.options["salt"] not in done]
        if batch:
            outputs = zip(batch, model.step(batch), strict=True)
            done |= {each.options["salt"]: (now, wrong(each, output)) for each, output in outputs if output is not None}
    assert done == {salt: (begins + n - 1, None) for salt, (begins, n, _) in enumerate(wanted)}


def test_step_by_step_who_was_given_up_is_forgotten() -> None:
    """One that is missing from a batch has ended: nothing is kept of it."""
    model = pipeline()
    given_up, other = request(1, steps=2), request(2, steps=4)
    assert model.step([given_up, other]) == [None, None]
    assert model.step([other]) == [None]
    assert model.step([given_up, other]) == [None, None]
    assert [wrong(other, output) for output in model.step([other])] == [None]


@pytest.mark.parametrize("steps", [1, 3])
def test_step_by_step_wrong_inputs_fail_the_first_step(steps: int) -> None:
    """With which they come, and which may be the last one; right ones come to nothing before the last."""
    asked = request(1, steps=steps)
    right = pipeline().forward([asked])[0]["value"]
    spoilt = {"image": right["image"].copy()}
    spoilt["image"][17] ^= 1
    bad, good = (request(1, steps=steps, inputs=inputs) for inputs in (spoilt, right))
    (error,) = pipeline().step([bad])
    assert "inputs['image'], 5,000 bytes: byte 17 is" in str(error)
    assert [output is None for output in pipeline().step([good])] == [steps > 1]
    assert isinstance(pipeline().forward([bad])[0], ValueError)


@pytest.mark.parametrize("step", [False, True])
def test_trouble_is_made_for_who_asks_for_it_alone(step: bool) -> None:
    """An error of its own, or what cannot travel; the others of its batch get theirs."""
    batch = [request(1, steps=1, trouble="raise"), request(2, steps=1), request(3, steps=1, trouble="unfit")]
    outputs = (pipeline().step if step else pipeline().forward)(batch)
    assert str(outputs[0]) == "request 'r1' was to fail"
    assert wrong(batch[1], outputs[1]) is None
    assert type(outputs[2]["image"]) is object


def test_asleep_it_spoils_what_its_outputs_look_into() -> None:
    """One that is still on its way would be seen to be wrong."""
    model, asked = pipeline(), request(1)
    (output,) = model.forward([asked])
    model.sleep(1)
    assert "is 219, and" in str(wrong(asked, output))
    model.wake()
    assert wrong(asked, model.forward([asked])[0]) is None


def test_a_late_output_is_copied_when_it_is_due() -> None:
    """Until then the device may still write to it: an earlier copy, as the plain host makes, has what was there."""
    asked = request(1, late_s=0.01)
    (output,) = pipeline().forward([asked])
    device = LateHost()
    copy = device.to_host(output, after=device.record())
    assert copy["late"] == 0.01
    assert difference(plan_of(asked), copy["value"]) is None
    assert not np.shares_memory(copy["value"]["image"], output["value"]["image"])
    plain = HostDevice()
    assert plain.to_host(output["value"], after=plain.record())["image"] is output["value"]["image"]
