"""The denoiser: pictures that depend on prompt, seed and source alone, however they are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from omni_ipc.device.api import open_device
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.messages import CallFailed, ComputeDone, ComputeFailed, OutputReady, Returned
from omni_ipc.serving.requests import Request
from tests.support.table_executor import Stepped, TableExecutor, engine_over
from tests.support.workers import working

if TYPE_CHECKING:
    from omni_ipc.pipelines.denoiser import Denoiser

pytestmark = pytest.mark.torch

SMALL: dict[str, Any] = {"steps": 3, "height": 8, "width": 12}
DEVICES = pytest.mark.parametrize("device", ["cpu", pytest.param("cuda:0", marks=pytest.mark.cuda)])


def denoiser(device: str = "cpu") -> Denoiser:
    """Make one; torch is imported here, and not where tests are collected."""
    from omni_ipc.pipelines.denoiser import Denoiser

    return Denoiser(rt=NativeRuntime(), device=device)


def request(name: str, prompt: str = "a red house", inputs: Any = None, **options: Any) -> Request:
    return Request(name, prompt, {**SMALL, **options}, inputs)


def pictures(outputs: list[Any]) -> list[np.ndarray[Any, Any]]:
    return [output["image"].cpu().numpy() for output in outputs]


@DEVICES
def test_a_picture_depends_on_what_was_asked_for_alone(device: str) -> None:
    """Not on its batch, nor on what came before; another prompt or seed gives another picture."""
    pipeline = denoiser(device)
    (alone,) = pictures(pipeline.forward([request("a")]))
    again, seeded, other = pictures(pipeline.forward([request("x"), request("y", seed=1), request("z", "a tree")]))
    assert (alone.shape, alone.dtype) == ((8, 12, 3), np.uint8)
    assert np.array_equal(alone, again)
    assert not np.array_equal(alone, seeded)
    assert not np.array_equal(alone, other)
    assert list(pipeline.stage_durations_s()) == ["encode", "denoise", "decode"]


@DEVICES
def test_step_by_step_it_renders_the_same(device: str) -> None:
    """Requests join and leave between steps; one that leaves for good is forgotten."""
    pipeline = denoiser(device)
    whole = pictures(pipeline.forward([request("a"), request("b", steps=1)]))
    first, aborted = request("a"), request("c")
    assert pipeline.step([first, aborted]) == [None, None]
    nothing, short = pipeline.step([first, request("b", steps=1)])
    assert nothing is None
    (done,) = pipeline.step([first])
    assert [picture.tolist() for picture in pictures([done, short])] == [picture.tolist() for picture in whole]
    assert pipeline._renderings == {}


def test_step_by_step_each_gets_its_own_picture_whatever_it_is_called() -> None:
    """An id is free again once its request was given up, between two steps, and may be used twice at a time."""
    rt = NativeRuntime()
    pipeline, reached, go_on = denoiser(), rt.event(), rt.event()

    class Rendering(TableExecutor):
        def step(self, requests: Sequence[Request]) -> Stepped:
            values = pipeline.step(requests)
            reached.set()
            go_on.wait(30)
            return Stepped(values)

    asked = [request("x", prompt) for prompt in ("a green tree", "a blue sky")]
    with engine_over(rt, Rendering(rt), EngineConfig(step_execution=True)) as engine:
        given_up = engine.submit(request("x"))
        assert reached.wait(30)
        given_up.close()
        streams = [engine.submit(each) for each in asked]
        go_on.set()
        rendered = pictures([stream.result().value for stream in streams])
    assert [picture.tolist() for picture in rendered] == [
        picture.tolist() for picture in pictures(pipeline.forward(asked))
    ]
    assert pipeline._renderings == {}


def test_more_steps_find_more_of_the_picture() -> None:
    """One step must guess it from noise alone; the guesses after it build on each other."""
    pipeline = denoiser()
    few, many = pictures(pipeline.forward([request("a", steps=1), request("b", steps=30)]))
    assert not np.array_equal(few, many)


def test_a_source_is_kept_as_far_as_the_strength_lets_it() -> None:
    """At 0 the rendering is near it, at 1 it is as without."""
    pipeline = denoiser()
    source = np.full((8, 12, 3), 200, np.uint8)
    kept, turned = pictures(
        pipeline.forward([request(str(at), inputs={"image": source}, strength=at) for at in (0.0, 1.0)])
    )
    (without,) = pictures(pipeline.forward([request("a")]))
    assert np.array_equal(turned, without)
    assert np.abs(kept.astype(int) - source).mean() < 20


@pytest.mark.parametrize(
    ("options", "inputs", "told"),
    [
        ({"steps": 0}, None, "steps=0, and it must be from 1 to 1000"),
        ({"width": 5000}, None, "width=5000"),
        ({"steps": "many"}, None, "Expected `int`, got `str`"),
        ({"size": 3}, None, "unknown field `size`"),
        ({"strength": 2.0}, None, "strength=2.0, and it must be from 0 to 1"),
        ({}, {"image": np.zeros((2, 2, 3))}, r"inputs['image'] has the shape (2, 2, 3), and height and width say"),
        ({}, [1], "inputs['image'] has the shape ()"),
    ],
)
def test_what_cannot_be_rendered_fails_alone(options: dict[str, Any], inputs: Any, told: str) -> None:
    """The sentence names the request, the value, and what may be asked for."""
    failed, fine = denoiser().forward([request("a", inputs=inputs, **options), request("b")])
    assert isinstance(failed, ValueError)
    assert str(failed).startswith("Request 'a': ")
    assert told in str(failed)
    assert "A denoiser takes steps, seed, height, width, strength." in str(failed)
    assert fine["image"].shape == (8, 12, 3)


@DEVICES
@pytest.mark.parametrize("level", [1, 2])
def test_a_worker_sleeps_and_wakes_without_losing_a_picture(device: str, level: int) -> None:
    """What was rendered before is delivered, what is asked for meanwhile refused; afterwards all is as before."""
    with working(denoiser(device), device=open_device(device)) as bench:
        for _ in range(2):
            bench.execute(request("a"), request("b", "a tree"))
            assert isinstance(bench.answer(), ComputeDone)
            assert isinstance(bench.call("sleep", level=level), Returned)
            ready, values = bench.output()
            assert isinstance(ready, OutputReady)
            assert [picture.tolist() for picture in pictures(values)] == [
                picture.tolist()
                for picture in pictures(denoiser(device).forward([request("a"), request("b", "a tree")]))
            ]
            bench.execute(request("c"))
            assert isinstance(bench.answer(), ComputeFailed)
            assert isinstance(bench.call("wake"), Returned)
        cleared = bench.call("clear_cache")
        assert isinstance(cleared, Returned)
        assert cleared.value == 0, "a sleep has forgotten them"
        assert isinstance(bench.call("clear"), CallFailed)
