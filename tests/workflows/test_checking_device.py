"""The check of a device, whose steps are processes: what each comes to, whatever becomes of it."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from omni_ipc.records import Verdict
from omni_ipc.workflows.checking_device import _WARNINGS, _do, _folders_with, _shares
from tests.support.lanes import ROOT

REPORT = '<testsuites><testsuite tests="{}" failures="{}" errors="0" skipped="{}"/></testsuites>'


@pytest.mark.parametrize(
    ("code", "verdict", "told"),
    [
        ("print('all\\nright')", Verdict.ENDED_WELL, "right"),
        ("import sys; sys.exit('torch sees no device')", Verdict.VIOLATED, "torch sees no device"),
        ("import os; os._exit(3)", Verdict.INCONCLUSIVE, "it said nothing"),
        ("import os; os.kill(os.getpid(), 9)", Verdict.INCONCLUSIVE, "it said nothing"),
    ],
)
def test_a_step_is_as_its_exit_code_says(code: str, verdict: Verdict, told: str, tmp_path: Path) -> None:
    """With the last line of what it said, which is kept."""
    done = _do(tmp_path, os.environ, "device", time.monotonic() + 60, (sys.executable, "-c", code))
    assert (done.verdict, done.told) == (verdict, told)
    assert Path(done.log).exists()


def test_a_step_that_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    """It is told after how long, and nothing of it is left behind."""
    code = "import subprocess, time; subprocess.Popen(['sleep', '600']); time.sleep(600)"
    done = _do(tmp_path, os.environ, "device", time.monotonic() + 2, (sys.executable, "-c", code))
    assert done.verdict is Verdict.INCONCLUSIVE
    assert done.told == "it did not end within 2 s, and was ended: see --limit; the last line: it said nothing"


def test_a_step_that_tried_nothing_shows_nothing(tmp_path: Path) -> None:
    """All tests are skipped where there is no device: that is no success."""

    def tell() -> tuple[int, str]:
        return 0, "0 passed, 0 failed, 9 skipped"

    done = _do(tmp_path, os.environ, "tests", time.monotonic() + 60, (sys.executable, "-c", ""), tell)
    assert (done.verdict, done.told) == (Verdict.INCONCLUSIVE, "0 passed, 0 failed, 9 skipped")


def test_folders_with_tests_of_a_device_are_found() -> None:
    """Those whose files need no more than a node has; the contract's, which name the devices in one place, too."""
    found = {str(path.relative_to(ROOT)) for path in _folders_with("cuda", ROOT / "tests")}
    assert found >= {"tests/device", "tests/pipelines", "tests/serving/contract", "tests/stress/devices"}
    assert "tests/serving" not in found


SAID = """
import threading, warnings
def test_of_pynvml():
    warnings.warn("pynvml is deprecated", FutureWarning)
def test_of_torch():
    warnings.warn("no NVML", UserWarning)
def test_of_ours():
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join()
"""


def test_what_a_node_s_packages_warn_of_is_no_error_of_ours(tmp_path: Path) -> None:
    """Here every warning is one; there torch's own, as it is imported, would be. What fails in a thread still does."""
    (tmp_path / "test_it.py").write_text(SAID)
    strict = ["-W", "error", "-p", "no:cacheprovider", *_WARNINGS]
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(tmp_path), *strict]
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, timeout=100, check=False)
    assert "1 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    assert "ZeroDivisionError" in done.stdout


def imported(path: Path) -> Iterator[str]:
    """Name the packages that a file imports as it is loaded."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module).partition(".")[0]


@pytest.mark.parametrize("marker", ["cuda", "xpu"])
def test_a_bare_node_can_load_the_tests_of_its_device(marker: str) -> None:
    """They import what it is said to have, and what wheels.sh brings; what else they use they look for, and skip."""
    there = {*sys.stdlib_module_names, "omni_ipc", "tests"} | {"torch", "numpy", "pytest", "hypothesis"}
    there |= {"greenlet", "jinja2", "msgspec", "rich", "typer"}  # what omni_ipc depends on
    folders = _folders_with(marker, ROOT / "tests")
    files = [path for folder in folders for path in folder.rglob("*.py")]
    assert [(path.name, name) for path in files for name in imported(path) if name not in there] == []


def test_a_step_that_ends_early_leaves_its_time_to_the_next() -> None:
    """Each has to end by a moment that was set before the first began, the last one when all time is over."""
    assert _shares(100.0, 320.0) == {"device": 160.0, "tests": 280.0, "replay": 370.0, "soak": 420.0}


def test_a_step_whose_time_is_over_before_it_begins_is_told_so(tmp_path: Path) -> None:
    """It does not wait for ever, nor fail with an error of its own."""
    done = _do(tmp_path, os.environ, "soak", time.monotonic() - 5, (sys.executable, "-c", "input()"))
    assert (done.verdict, done.told[:28]) == (Verdict.INCONCLUSIVE, "it did not end within 0 s, a")


@pytest.mark.torch
@pytest.mark.alone
@pytest.mark.soak
@pytest.mark.timeout(400)
def test_the_script_checks_a_machine_and_says_so_last(tmp_path: Path) -> None:
    """On the host, with little of each: a table, the same as JSON, and a log of each step."""
    script = ["sh", str(ROOT / "stress" / "gpu_check.sh"), "--device", "cpu", "--python", sys.executable]
    little = ["--tests", "tests/stress/devices/test_streams.py", "--repeat", "1", "--soak-minutes", "0.1"]
    done = subprocess.run(
        [*script, "--out", str(tmp_path), "--", *little], capture_output=True, text=True, timeout=380, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    written = json.loads((tmp_path / "check.json").read_text())
    assert [step["step"] for step in written["result"]["steps"]] == ["device", "tests", "replay", "soak"]
    assert all(Path(step["log"]).exists() for step in written["result"]["steps"])
    assert "21 of 21 traces did as claimed" in done.stdout


@pytest.mark.torch
def test_a_machine_without_the_device_is_told_in_a_sentence(tmp_path: Path) -> None:
    """Before anything is tried, with exit code 2."""
    script = ["sh", str(ROOT / "stress" / "gpu_check.sh"), "--device", "cuda:99", "--python", sys.executable]
    done = subprocess.run([*script, "--out", str(tmp_path)], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 2, done.stderr
    assert "Device 'cuda:99' is not here" in done.stderr
