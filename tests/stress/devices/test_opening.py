"""Which of the conducted devices it is: CUDA's own streams, if they do not wait for each other anyway."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import pytest

from omni_ipc.errors import EnvironmentMissing
from omni_ipc.seam.native import NativeRuntime

pytestmark = pytest.mark.torch


class Queue:
    """A stream, by the queue of the device that it lies in, and an event and a gate of it."""

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.held: list[str] = []

    def record(self, stream: Queue) -> None:
        self.name, self.held = stream.name, stream.held

    def query(self) -> bool:
        return self.name not in self.held

    def hold(self, stream: Queue) -> int:
        self.held = stream.held
        self.held.append(stream.name)
        return len(self.held)

    def open(self, number: int) -> None:
        assert number == len(self.held)
        self.held.clear()

    def open_for_ever(self) -> None:
        self.held.clear()


@pytest.mark.parametrize(("queues", "passes"), [(("first", "second"), True), (("first", "first"), False)])
def test_streams_that_share_a_queue_are_told_from_those_that_do_not(
    queues: tuple[str, str], passes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of them is held, and the other one is looked at for a while; afterwards nobody is held."""
    import torch

    from omni_ipc.stress.devices import gates

    monkeypatch.setattr(torch.cuda, "Event", Queue)
    monkeypatch.setattr(gates, "_PROBE_S", 0.01)
    held, other = map(Queue, queues)
    other.held = held.held
    assert gates.lets_pass(NativeRuntime(), Queue(), held, other) is passes
    assert held.held == []


@pytest.mark.parametrize("apart", [1, 3, 99])
def test_streams_that_share_a_queue_are_exchanged_and_after_some_of_them_tasks_take_their_steps(
    apart: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which of them are apart is the device's business: those that are not are closed, and the last resort is told."""
    from omni_ipc.stress.devices import gates, held, opening, threaded

    closed: list[int] = []

    class Held:
        def __init__(self, *_: object) -> None:
            self.close = lambda: closed.append(len(closed) + 1)
            self.are_apart = lambda: len(closed) + 1 == apart

    monkeypatch.setattr(opening, "open_device", lambda _: SimpleNamespace(name="cuda:0"))
    monkeypatch.setattr(gates, "require_gates", lambda *_: None)
    monkeypatch.setattr(held, "HeldCuda", Held)
    monkeypatch.setattr(threaded, "ThreadedStreams", lambda _, name: name)
    shared = pytest.warns(RuntimeWarning, match="they share a queue: they are held back by the host instead")
    with shared if apart == 99 else contextlib.nullcontext():
        opened = opening.open_streams(NativeRuntime(), "cuda")
    assert (opened == "cuda:0", len(closed)) == ((True, 4) if apart == 99 else (False, apart - 1))


def test_a_driver_that_holds_back_no_default_stream_is_told_and_tasks_take_the_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It held back the side stream that was tried first; what was opened by then is closed."""
    from omni_ipc.stress.devices import gates, held, opening, threaded

    closed: list[str] = []

    class Held:
        def __init__(self, *_: object) -> None:
            self.close = lambda: closed.append("closed")

        def are_apart(self) -> bool:
            raise EnvironmentMissing("CUDA's driver answered cuStreamWaitValue32 with 400.", "Nothing is left out.")

    monkeypatch.setattr(opening, "open_device", lambda _: SimpleNamespace(name="cuda:0"))
    monkeypatch.setattr(gates, "require_gates", lambda *_: None)
    monkeypatch.setattr(held, "HeldCuda", Held)
    monkeypatch.setattr(threaded, "ThreadedStreams", lambda _, name: name)
    with pytest.warns(RuntimeWarning, match=r"cuStreamWaitValue32 with 400\. Nothing is left out\."):
        assert opening.open_streams(NativeRuntime(), "cuda") == "cuda:0"
    assert closed == ["closed"]
