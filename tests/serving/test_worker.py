"""A worker on threads: what a pipeline does wrong reaches the right requests, and the next ones are served."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from omni_ipc.device.api import DeviceEvent
from omni_ipc.device.host import HostDevice
from omni_ipc.errors import FormatError, UsageError
from omni_ipc.serving.messages import CallFailed, ComputeDone, ComputeFailed, OutputFailed, OutputReady, Returned
from omni_ipc.serving.pipeline import Methods
from omni_ipc.serving.requests import Request
from tests.support.workers import EPOCH, PATIENCE_S, Bench, working


class Elsewhere:
    """Says, as a tensor does, that it lies on another device."""

    device = "cuda:7"


class Told:
    """Does what the prompts say: some end the forward, others spoil their own output alone."""

    calls = frozenset({"count", "opaque", "leave"})
    frees = frozenset[str]()

    def forward(self, batch: Sequence[Request]) -> Any:
        prompts = [request.prompt for request in batch]
        if "raise" in prompts:
            raise RuntimeError("out of memory")
        if "exit" in prompts:
            sys.exit(3)
        if "nothing" in prompts:
            return None
        if "dict" in prompts:
            return {"a": 1}
        values = [self._value(request) for request in batch]
        return values[1:] if "few" in prompts else values

    def step(self, batch: Sequence[Request]) -> Any:
        return [None if request.prompt == "later" else self._value(request) for request in batch]

    def stage_durations_s(self) -> dict[str, Any]:
        return {"denoise": np.float32(0.5)}

    def count(self, upto: int) -> list[int]:
        return list(range(upto))

    def opaque(self) -> object:
        return object()

    def leave(self) -> None:
        sys.exit(3)

    def private(self) -> None:
        raise AssertionError("nobody declared this")

    def _value(self, request: Request) -> Any:
        if request.inputs is not None:
            return request.inputs["latents"] * 2
        match request.prompt:
            case "object":
                return {"image": object()}
            case "error":
                return ValueError("no such size")
            case "elsewhere":
                return {"image": [Elsewhere()]}
            case "itself":
                value: list[Any] = []
                value.append(value)
                return value
            case "deep":
                return functools.reduce(lambda inner, _: [inner], range(20_000), [])
        return np.full(3, len(request.prompt))


def ask(bench: Bench, *prompts: str, step: bool = False) -> tuple[Any, Any]:
    """Execute a batch, and return the answer of the main loop, and what came beside it."""
    number = bench.execute(*(Request(f"r{place}", prompt) for place, prompt in enumerate(prompts)), step=step)
    answer, payload = bench.answered()
    assert (answer.rpc, answer.epoch, answer.rank) == (number, EPOCH, 0)  # type: ignore[union-attr]
    return answer, payload


def check_serves(bench: Bench) -> None:
    """Check that the worker is as good as new."""
    done, _ = ask(bench, "abc", "z")
    assert isinstance(done, ComputeDone)
    assert done.stages == {"denoise": 0.5}
    ready, values = bench.output()
    assert ready == OutputReady(str(done.rpc), split=True)
    assert [value.tolist() for value in values] == [[3, 3, 3], [1, 1, 1]]


@pytest.mark.parametrize(
    ("prompts", "told"),
    [
        (["raise", "x"], "out of memory"),
        (["exit"], "3"),
        (["nothing"], "forward() returned nothing. Let it return a list: one output a request."),
        (["dict", "x"], "forward() returned a dict. Let it return a list: one output a request."),
        (["few", "x"], "forward() returned 1 outputs for a batch of 2 requests. Let it return one output a request."),
        (["few"], "forward() returned 0 outputs for one request. Let it return one output a request."),
        (["error"], "no such size"),
    ],
)
def test_what_spoils_a_forward_is_told_at_once_and_no_output_is_announced(prompts: list[str], told: str) -> None:
    """The call fails with what the pipeline did; the worker goes on."""
    with working(Told()) as bench:
        answer, _ = ask(bench, *prompts)
        assert isinstance(answer, ComputeFailed)
        assert answer.error.message == told
        check_serves(bench)


MISFITS = [
    ("object", "the output of request 'r1'.image is a builtins.object, which cannot travel"),
    ("error", "no such size"),
    ("itself", "forward() returned an output for request 'r1' that contains itself"),
    ("deep", "or lies too deep. Give a flatter tree."),
    (
        "elsewhere",
        "forward() returned a tensor on cuda:7 for request 'r1', and the worker computes on cpu. Move it there, or to "
        "the host: tensor.to('cpu').",
    ),
]


@pytest.mark.parametrize(("prompt", "told"), MISFITS)
def test_an_output_that_is_none_fails_alone(prompt: str, told: str) -> None:
    """Its siblings in the batch are delivered."""
    with working(Told()) as bench:
        done, _ = ask(bench, "abc", prompt, "z")
        assert isinstance(done, ComputeDone)
        ready, values = bench.output()
        assert isinstance(ready, OutputReady)
        assert list(ready.errors) == [1]
        assert told in ready.errors[1].message
        assert [None if value is None else value.tolist() for value in values] == [[3, 3, 3], None, [1, 1, 1]]


@pytest.mark.torch
def test_a_tensor_of_another_device_is_told_with_both() -> None:
    """The only request fails at once; a tensor on the host is fine."""
    import torch

    class Straying:
        def forward(self, batch: Sequence[Request]) -> list[Any]:
            return [torch.ones(2, device=request.prompt) for request in batch]

    with working(Straying()) as bench:
        failed, _ = ask(bench, "meta")
        assert isinstance(failed, ComputeFailed)
        assert "a tensor on meta for request 'r0', and the worker computes on cpu" in failed.error.message
        assert isinstance(ask(bench, "cpu")[0], ComputeDone)
        assert bench.output()[1].tolist() == [1, 1]


def test_a_single_output_that_cannot_travel_is_told_in_its_place() -> None:
    """The forward went well, so the failure comes where the output would."""
    with working(Told()) as bench:
        assert isinstance(ask(bench, "object")[0], ComputeDone)
        failed, _ = bench.output()
        assert isinstance(failed, OutputFailed)
        assert "which cannot travel" in failed.error.message
        check_serves(bench)


def test_a_step_answers_with_what_it_finished() -> None:
    """None stands for what is not done yet; what cannot travel, and what is an error, fail alone."""
    with working(Told()) as bench:
        done, values = ask(bench, "abc", "later", "object", "error", step=True)
        assert isinstance(done, ComputeDone)
        assert sorted(done.errors) == [2, 3]
        assert values[0].tolist() == [3, 3, 3]
        assert values[1:] == [None, None, None]


def test_a_step_of_one_that_cannot_travel_fails_the_call() -> None:
    """There is nobody beside it who would be delivered."""
    with working(Told()) as bench:
        failed, _ = ask(bench, "object", step=True)
        assert isinstance(failed, ComputeFailed)
        assert "which cannot travel" in failed.error.message


def test_other_ranks_tell_of_what_failed_alone_on_them() -> None:
    """Their values go nowhere, so their errors come with the answer, step by step or not."""
    for step in (False, True):
        with working(Told(), rank=1) as bench:
            bench.execute(Request("a", "x"), Request("b", "error"), step=step)
            done, payload = bench.answered()
            assert isinstance(done, ComputeDone)
            assert (done.rank, list(done.errors), payload) == (1, [1], None)


def test_inputs_arrive_with_their_requests() -> None:
    """One tree a request, or none, whatever the others have."""
    with working(Told()) as bench:
        bench.execute(Request("a", inputs={"latents": np.arange(3)}), Request("b", "xy"))
        assert isinstance(bench.answer(), ComputeDone)
        _, values = bench.output()
        assert [value.tolist() for value in values] == [[0, 2, 4], [2, 2, 2]]


def test_declared_methods_are_called_and_others_are_not() -> None:
    """A value comes back, whatever ends the method is told, and a name that nobody declared is refused."""
    with working(Told()) as bench:
        assert bench.call("count", upto=3) == Returned(1, EPOCH, 0, [0, 1, 2])
        for method, told in (
            ("opaque", "cannot be encoded"),
            ("leave", "3"),
            ("private", "There is no callable method 'private'"),
            ("forward", "There is no callable method 'forward'"),
            ("sleep", "Told cannot sleep. Give it the methods sleep(level) and wake()."),
        ):
            answer = bench.call(method)
            assert isinstance(answer, CallFailed)
            assert told in answer.error.message
        check_serves(bench)


def test_a_command_that_cannot_be_read_ends_the_worker_loudly() -> None:
    """Nobody could be answered; what was computed before is announced, and no lane is closed as if all was well."""
    bench = Bench(Told(), HostDevice())
    bench.execute(Request("a", "xy"))
    bench.babble()
    with pytest.raises(FormatError, match="A message of 5 bytes is no"):
        bench.ended.result(PATIENCE_S)
    assert [type(error) for error in bench.failing] == [FormatError], "told at once"
    assert isinstance(bench.answer(), ComputeDone)
    assert isinstance(bench.output()[0], OutputReady)
    assert not bench.has_goodbye()


def test_a_worker_whose_engine_has_left_ends_as_if_it_was_stopped() -> None:
    """What was computed is announced, for whoever may still read."""
    bench = Bench(Told(), HostDevice())
    bench.execute(Request("a", "xy"))
    bench.leave()
    bench.ended.result(PATIENCE_S)
    assert [type(said) for said in bench.rest_of_outputs()] == [OutputReady]


class Adopted(HostDevice):
    """Takes down who adopts it, and who has not by then what it is asked for."""

    def __init__(self) -> None:
        self.by: list[str] = []

    def adopt(self) -> None:
        self.by.append(threading.current_thread().name)

    def record(self) -> DeviceEvent:
        assert threading.current_thread().name in self.by
        return super().record()

    def to_host(self, tree: Any, *, after: DeviceEvent) -> Any:
        assert threading.current_thread().name in self.by
        return super().to_host(tree, after=after)


def test_both_threads_of_a_worker_adopt_its_device() -> None:
    """Before they use it, once each: a thread begins with the first device, whichever the worker's is."""
    device = Adopted()
    with working(Told(), device=device) as bench:
        check_serves(bench)
    assert sorted(device.by) == ["worker.main", "worker.output"]


class Mute:
    """Has nothing but a forward."""

    def forward(self, batch: Sequence[Request]) -> list[Any]:
        return [None for _ in batch]


def test_a_pipeline_without_steps_says_so() -> None:
    """The sentence names the class and the method."""
    with working(Mute()) as bench:
        failed, _ = ask(bench, "x", step=True)
        assert isinstance(failed, ComputeFailed)
        assert failed.error.message.startswith("Mute has no method step(batch).")


class Boasting(Mute):
    calls = frozenset({"dance"})


class Careless(Told):
    frees = frozenset({"private"})


class Sly(Mute):
    calls = frozenset({"forward"})


@pytest.mark.parametrize(
    ("pipeline", "told"),
    [
        (Boasting(), "Boasting declares 'dance'"),
        (Careless(), r"Careless has \['private'\] in frees, and not in calls"),
        (Sly(), "Sly declares 'forward'"),
    ],
)
def test_a_pipeline_that_declares_what_it_has_not_is_refused(pipeline: Any, told: str) -> None:
    """Before anything is computed."""
    with pytest.raises(UsageError, match=told):
        Methods(pipeline)
