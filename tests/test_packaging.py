"""The wheel works outside the checkout, and the product without the testbed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from omni_ipc.records import Origin, Trace
from tests.support.commands import ROOT, Command

EVERYTHING_ELSE = (
    *("testbed", "scenarios", "stress", "conformance", "report", "workflows", "pytest_plugin", "accounts.py"),
    *(
        "cli",
        "__main__.py",
        "documents.py",
        "explanations.py",
        "histograms.py",
        "interrupts.py",
        "machines",
        "shards.py",
        "values.py",
        "violations.py",
    ),
)
"""What stands on the product."""

SERVE = """
import importlib, importlib.util, pkgutil, sys
import omni_ipc

of_torch = ("device.accelerator", "device.cuda", "pipelines.denoiser", "pipelines.diffusion")
of_torch = {f"omni_ipc.{name}" for name in of_torch}
modules = {m.name for m in pkgutil.walk_packages(omni_ipc.__path__, "omni_ipc.")}
assert of_torch < modules
for name in sorted(modules - of_torch):
    importlib.import_module(name)
    assert "torch" not in sys.modules, name
for name in sorted(of_torch) if importlib.util.find_spec("torch") else ():
    importlib.import_module(name)
print(*modules)

from omni_ipc.errors import ShutdownError
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.outputs import OutputTable

rt = NativeRuntime()
table = OutputTable(rt=rt)
batch, outputs = table.mint_batch(2)
early = rt.spawn(table.take_split, batch, [10, 20], name="pump")  # the batch comes before its split map, or after
table.expect_batch(batch, outputs)
futures = [table.wait(output) for output in outputs]
early.join()
assert [future.result(timeout=5) for future in futures] == [10, 20]
table.close(ShutdownError("It is over."))
assert not any((table.describe().waiting, table.describe().cached, table.describe().unsplit))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT))
    (built,) = folder.iterdir()
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The environment in which Python finds the wheel's package before any other."""
    folder = tmp_path_factory.mktemp("site")
    _pip("install", "--no-deps", "--no-index", "--target", str(folder), str(wheel))
    return {"PYTHONPATH": str(folder)}


def test_the_wheel_holds_the_package_and_its_specs_and_nothing_else(wheel: Path) -> None:
    """Every spec travels; tests, scripts and caches do not; the licence and the type marker do."""
    names = zipfile.ZipFile(wheel).namelist()
    specs = {str(path.relative_to(ROOT)) for path in (ROOT / "spec").rglob("*") if path.is_file()}
    assert {f"omni_ipc/{name}" for name in specs} <= set(names)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"omni_ipc"}
    assert "omni_ipc/py.typed" in names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert not [name for name in names if re.search(r"__pycache__|\.pyc$|tests/", name)]


def test_the_core_asks_for_neither_torch_nor_java(wheel: Path) -> None:
    """Torch and TLC are extras; the command is installed under its name."""
    with zipfile.ZipFile(wheel) as archive:
        files = {name.rpartition("/")[2]: name for name in archive.namelist() if ".dist-info/" in name}
        metadata = archive.read(files["METADATA"]).decode()
        entry_points = archive.read(files["entry_points.txt"]).decode()
    required = re.findall(r"^Requires-Dist: ([\w-]+)[^;\n]*$", metadata, re.MULTILINE)
    assert sorted(required) == ["greenlet", "jinja2", "msgspec", "numpy", "rich", "typer"]
    assert {"torch", "tlc", "dev"} <= set(re.findall(r"^Provides-Extra: (\S+)$", metadata, re.MULTILINE))
    assert "omni-ipc = omni_ipc.cli:main" in entry_points


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("check --help", 0, "Example: omni-ipc check"),
        ("explore future_orphan", 0, "✓ future_orphan: holds"),
        ("explore future_orphan --defect unpack_outside_lock", 1, "✗ future_orphan with unpack_outside_lock: violated"),
        ("show trace.json --html page.html", 0, "wrote page.html"),
        ("check FutureOrphan/reach/cached", 0, "1 of 1 model as expected"),
    ],
)
def test_commands_work_from_the_wheel(
    words: str, code: int, said: str, installed: Mapping[str, str], tmp_path: Path
) -> None:
    """Outside the checkout everything is found inside the wheel, templates, too."""
    Trace(version=1, scenario="s", origin=Origin.EXPLORED, steps=()).save(tmp_path / "trace.json")
    with Command(*words.split(), cwd=tmp_path, env=installed) as command:
        ended = command.end()
    assert (ended.code, ended.err) == (code, "")
    assert said in ended.out


def test_the_manifest_of_the_wheel_is_the_one_that_is_read(installed: Mapping[str, str], tmp_path: Path) -> None:
    """It is not the checkout's by accident, and has all its models."""
    script = (
        "from omni_ipc.conformance.models.manifest import load; found = load(); print(found.folder, len(found.models))"
    )
    folder, count = _python(script, cwd=tmp_path, env=installed).split()
    assert folder == f"{installed['PYTHONPATH']}/omni_ipc/spec"
    assert int(count) == len(json.loads((ROOT / "spec" / "manifest.json").read_text())["models"])


def test_the_product_works_with_everything_else_deleted(tmp_path: Path) -> None:
    """Each of its modules imports, without torch, and an output finds its consumer."""
    shutil.copytree(
        ROOT / "omni_ipc", tmp_path / "omni_ipc", ignore=shutil.ignore_patterns("__pycache__", *EVERYTHING_ELSE)
    )
    modules = _python(SERVE, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}).split()
    rooms = {name.split(".")[1] for name in modules}
    assert rooms == {
        *("errors", "inputs", "records", "recordings", "signals", "trees"),
        *("seam", "transport", "device", "serving", "pipelines"),
    }


def _python(script: str, *, cwd: Path, env: Mapping[str, str]) -> str:
    return _output([sys.executable, "-c", script], cwd=cwd, env=env)


def _pip(*words: str) -> None:
    _output([sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *words])


def _output(command: list[str], *, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> str:
    ended = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
