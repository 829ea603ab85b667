"""Modes of torch belong to threads: each task has its own, as if it had an OS thread to itself."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable

import pytest

from omni_ipc.records import Verdict
from omni_ipc.testbed import explore, torch_modes

torch = pytest.importorskip("torch", reason="torch is not installed")


def gradients() -> tuple[bool, bool]:
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled()


def product() -> str:
    return str((torch.ones(1, 1) @ torch.ones(1, 1)).dtype)


def place() -> str:
    return str(torch.zeros(1).device)


def run(*work: Callable[[], object]) -> None:
    """Run each in a thread of its own."""
    threads = [threading.Thread(target=one) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def beside(mode: Callable[[], object], look: Callable[[], object], inside: object, outside: object) -> None:
    """Let one thread look while it is in a mode, and another one, at any moment, without."""
    lock, seen = threading.Lock(), {}

    def enters() -> None:
        with mode():  # type: ignore[attr-defined]
            with lock:
                pass
            seen["inside"] = look()
            with lock:
                pass
        seen["after"] = look()

    def looks() -> None:
        with lock:
            pass
        seen["beside"] = look()

    run(enters, looks)
    assert seen == {"inside": inside, "after": outside, "beside": outside}


MODES: dict[str, tuple[Callable[[], object], Callable[[], object], object, object]] = {
    "no gradients": (torch.no_grad, gradients, (False, False), (True, False)),
    "gradients set": (lambda: torch.set_grad_enabled(False), gradients, (False, False), (True, False)),
    "inference": (torch.inference_mode, gradients, (False, True), (True, False)),
    "autocast": (lambda: torch.autocast("cpu", dtype=torch.bfloat16), product, "torch.bfloat16", "torch.float32"),
    "a device": (lambda: torch.device("meta"), place, "meta", "cpu"),
}


@pytest.mark.parametrize(("mode", "look", "inside", "outside"), MODES.values(), ids=MODES)
def test_a_mode_is_that_of_the_thread_that_entered_it(
    mode: Callable[[], object], look: Callable[[], object], inside: object, outside: object
) -> None:
    """In no order of steps does another thread see it, and none takes it away."""
    report = explore(lambda: beside(mode, look, inside, outside), strategy="dpor")
    assert report.verdict is Verdict.HOLDS, report.reason
    assert report.traces > 3
    assert look() == outside


def test_modes_within_modes_are_left_in_order() -> None:
    """Each block has around it what it had when it was entered, whoever else ran meanwhile."""

    def scenario() -> None:
        lock, seen = threading.Lock(), []

        def look() -> None:
            with lock:
                pass
            seen.append(gradients())

        def nests() -> None:
            with torch.no_grad():
                with torch.inference_mode():
                    with torch.inference_mode(False):
                        with torch.no_grad():
                            look()
                        look()
                    look()
                look()
            look()

        def also() -> None:
            with lock:
                pass
            with torch.inference_mode(), lock:
                assert gradients() == (False, True)
            assert gradients() == (True, False)

        run(nests, also)
        assert seen == [(False, False), (True, False), (False, True), (False, False), (True, False)]

    report = explore(scenario, strategy="dpor", runs=3_000)
    assert report.verdict in (Verdict.HOLDS, Verdict.BOUNDED), report.reason
    assert report.traces > 10


def test_who_explores_keeps_its_modes_and_the_main_task_has_them() -> None:
    """Other threads begin without any, as real ones do; a failing run leaves nothing behind."""

    def scenario() -> None:
        of_thread: list[tuple[bool, bool]] = []

        def enters() -> None:
            with torch.inference_mode():
                of_thread.append(gradients())

        thread = threading.Thread(target=enters)
        thread.start()
        thread.join()
        assert (gradients(), of_thread) == ((False, False), [(False, True)])
        torch.inference_mode().__enter__()
        raise AssertionError("on purpose")

    with torch.no_grad():
        report = explore(scenario, strategy="dpor", runs=10)
        assert gradients() == (False, False)
    assert report.failure is not None
    assert report.failure.message == "AssertionError: on purpose"
    assert gradients() == (True, False)


def test_a_device_by_default_lasts_until_the_run_has_ended() -> None:
    """The next run begins without it, and so does who explores."""

    def scenario() -> None:
        before = place(), torch.get_default_device().type
        torch.set_default_device("meta")
        assert (before, place()) == (("cpu", "cpu"), "meta")
        run(torch.is_grad_enabled, torch.is_grad_enabled)

    report = explore(scenario, strategy="random", runs=3)
    assert report.verdict is Verdict.BOUNDED, report.reason
    assert (place(), torch.get_default_device().type) == ("cpu", "cpu")


def test_a_weight_that_was_cast_is_cast_anew_when_it_has_changed() -> None:
    """What autocast keeps is kept to the end of a thread's own block, and not to that of another thread's."""

    def scenario() -> None:
        lock, weight = threading.Lock(), torch.ones(1, 1, requires_grad=True)

        def computes() -> object:
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return (torch.ones(1, 1) @ weight).item()

        def holds() -> None:
            with torch.autocast("cpu", dtype=torch.bfloat16), lock:
                pass

        def changes() -> None:
            with lock:
                pass
            assert computes() == 1
            with torch.no_grad():
                weight.add_(1)
            assert computes() == 2

        run(holds, changes)

    report = explore(scenario, strategy="dpor", runs=1_000)
    assert report.verdict is Verdict.HOLDS, report.reason


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("manual_seed", (0,)), ("set_default_dtype", (torch.float32,)), ("set_default_device", ("cpu",))],
)
def test_what_is_set_for_the_whole_process_is_told(name: str, arguments: tuple[object, ...]) -> None:
    """Others may draw from it, or make tensors, at any moment."""

    def scenario() -> None:
        run(*[lambda: getattr(torch, name)(*arguments)] * 2)

    report = explore(scenario)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert f"used torch.{name}()" in report.reason


def test_nothing_of_a_run_is_kept() -> None:
    """A week's search would keep every one of its runs."""
    report = explore(lambda: beside(torch.inference_mode, gradients, (False, True), (True, False)), strategy="dpor")
    assert report.schedules > 1
    gc.collect()
    assert not torch_modes._THREADS
