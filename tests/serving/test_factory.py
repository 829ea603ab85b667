"""Import paths: whatever a module does when it is imported, the path that named it is refused in a sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from omni_ipc.device.host import HostDevice
from omni_ipc.errors import UsageError
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.factory import load, make_device
from omni_ipc.serving.forks import staying
from omni_ipc.serving.spec import WorkerSpec
from tests.support.lanes import ROOT, RT


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("def (", r"its module raised SyntaxError: invalid syntax"),
        ("raise RuntimeError('no licence')", r"its module raised RuntimeError: no licence\. Mend the module"),
        ("import sys; sys.exit(3)", r"its module raised SystemExit: 3"),
        ("import no_such_module_at_all", r"No module named 'no_such_module_at_all'"),
        ("Model = 5", r"is a int, which makes nothing\. Name a class or a function"),
    ],
)
def test_a_module_that_cannot_be_imported_is_told(
    body: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its path, with what it raised, and with that as the cause."""
    name = f"broken_{abs(hash(body))}"
    (tmp_path / f"{name}.py").write_text(body)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match=rf"'{name}:Model' .*{told}"):
        load(f"{name}:Model")


@pytest.mark.parametrize("path", [None, 5, Path])
def test_what_is_no_path_is_refused(path: Any) -> None:
    """A class cannot be sent to a worker; its path can."""
    with pytest.raises(UsageError, match=r"cannot be sent to a worker\. Give its import path: 'package\.module:Class'"):
        load(path)


def test_a_worker_can_import_what_its_engine_can(tmp_path: Path) -> None:
    """A script's own folder is on its path alone, wherever it is run."""
    (tmp_path / "beside.py").write_text(
        "class Model:\n    def forward(self, batch):\n        return [7] * len(batch)\n"
    )
    script = tmp_path / "serve.py"
    script.write_text(
        f"import sys; sys.path.insert(1, {str(ROOT)!r})\n"
        "from omni_ipc.serving.engine import Engine\n"
        "from omni_ipc.serving.engine_config import EngineConfig\n"
        "from omni_ipc.serving.requests import Request\n"
        "with Engine(EngineConfig(), 'beside:Model') as engine:\n"
        "    print(engine.generate(Request('a')).value)\n"
    )
    done = subprocess.run([sys.executable, script], cwd="/", capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("7\n", "")


@pytest.mark.parametrize(
    ("end", "status"),
    [("return", 0), ("raise SystemExit", 0), ("raise SystemExit(5)", 5), ("raise ValueError('lost')", 1)],
)
def test_a_child_that_comes_back_from_a_call_ends_as_a_program_would(end: str, status: int) -> None:
    """It goes no further, and the parent gets what the call returns there."""
    program = (
        "import os\n"
        "from omni_ipc.serving.forks import staying\n"
        "def fork():\n"
        "    child = os.fork()\n"
        f"    if child == 0:\n        {end}\n"
        "    return child\n"
        "child = staying(fork)()\n"
        "print('back', os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == f"back {status}\n"
    assert ("ValueError: lost" in done.stderr) == ("lost" in end)


def test_a_call_that_forks_nothing_is_left_as_it_is() -> None:
    """Values and errors go through."""
    assert staying(os.path.basename)("a/b") == "b"
    with pytest.raises(ZeroDivisionError):
        staying(lambda: 1 // 0)()


class Slowed(HostDevice):
    """A device of a user's own."""

    def __init__(self, rt: Runtime, factor: int) -> None:
        self.made_with = rt, factor


def test_a_device_of_a_user_s_own_is_made_with_its_options_and_the_runtime() -> None:
    """As pipelines are; one of ours is opened by its name."""
    path = f"{__name__}:{Slowed.__name__}"
    device = make_device(RT, WorkerSpec(pipeline="any:Pipeline", device=path, device_options={"factor": 3}))
    assert isinstance(device, Slowed)
    assert device.made_with == (RT, 3)
    assert type(make_device(RT, WorkerSpec(pipeline="any:Pipeline"))) is HostDevice
