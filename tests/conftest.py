"""For every test: what it leaves behind fails it; what needs torch or a device says so where there is none."""

from __future__ import annotations

import functools
import importlib.util
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

from tests.support.in_process import Omni, Ran
from tests.support.leaks import leaked_since, snapshot

_DEVICES = ("cuda", "xpu")

hypothesis.settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def _nothing_is_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail the test that leaks a descriptor, mapping, thread, child process or file in /dev/shm."""
    for kind in _DEVICES:
        if request.node.get_closest_marker(kind):
            _wake(kind)
    before = snapshot()
    yield
    if leaked := leaked_since(before):
        pytest.fail("The test left behind:\n  " + "\n  ".join(leaked), pytrace=False)


@functools.cache
def _wake(kind: str) -> None:
    """Let the libraries of a device open now what they open once, and keep: pipes, and memory of their own."""
    import torch

    of_kind = getattr(torch, kind)
    torch.ones(1, pin_memory=True).to(kind, non_blocking=True).add_(1)
    event = of_kind.Event(blocking=True) if kind == "cuda" else of_kind.Event()
    event.record()
    event.synchronize()


@pytest.fixture
def omni(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Omni:
    """Run commands in this process, in an empty folder, on a terminal 100 columns wide."""
    from omni_ipc.cli.app import app

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def run(*words: object) -> Ran:
        capsys.readouterr()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", sys.stdout)  # the command may redirect it
            with pytest.raises(SystemExit) as ending:
                app([str(word) for word in words], prog_name="omni-ipc")
        captured = capsys.readouterr()
        return Ran(int(ending.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture(scope="session", autouse=True)
def _one_run_of_tlc_for_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let tests share what TLC says of the same model, in this session, and the archive of its classes."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMNI_IPC_TLC_CACHE", str(shared / "tlc"))
        yield


def pytest_configure() -> None:
    """Answer Ctrl-C also in a shell's background, where it is ignored, and would be by every process of the tests."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked `torch`, `cuda` or `xpu`, with the reason, where there is none."""
    lacks = {"torch": _no_torch, **{kind: functools.partial(_no_device, kind) for kind in _DEVICES}}
    for name, lack in lacks.items():
        marked = [item for item in items if item.get_closest_marker(name)]
        if marked and (reason := lack()):
            for item in marked:
                item.add_marker(pytest.mark.skip(reason=reason))


def _no_torch() -> str | None:
    return None if importlib.util.find_spec("torch") else "torch is not installed: pip install 'omni-ipc[torch]'"


def _no_device(kind: str) -> str | None:
    if reason := _no_torch():
        return reason
    import torch

    there = getattr(torch, kind).is_available()
    return None if there else f"torch {torch.__version__} sees no {kind.upper()} device"
