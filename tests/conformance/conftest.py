"""What the tests of conformance share: the manifest, the real TLC, and folders of specs of their own."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from omni_ipc.conformance.models import manifest as manifests
from omni_ipc.conformance.models.manifest import Manifest, Model, Outcome, Role, Spec
from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.tlc.toolchain import Toolchain

RECORDED = Path(__file__).parent / "recorded"


@pytest.fixture(scope="session")
def manifest() -> Manifest:
    return manifests.load()


@pytest.fixture(scope="session")
def toolchain() -> Toolchain:
    return Toolchain.find()


@pytest.fixture
def children() -> Iterator[Children]:
    with Children() as children:
        yield children


@pytest.fixture
def private_temp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that receives all temporary directories of a test, so that what stays behind is seen."""
    folder = tmp_path / "temp"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def sample(tmp_path: Path) -> Callable[..., tuple[Model, Manifest]]:
    """Make a manifest of one model: a recorded module with a cfg."""

    def make(module: str = "Sample", cfg: str = "safety.cfg", **changes: object) -> tuple[Model, Manifest]:
        folder = tmp_path / "spec"
        folder.mkdir(exist_ok=True)
        shutil.copy(RECORDED / f"{module}.tla", folder)
        shutil.copy(RECORDED / cfg, folder)
        model = Model("Sample/design", "Sample", module, cfg, Role.DESIGN, Outcome.SUCCESS)
        model = msgspec.structs.replace(model, **changes)
        spec = Spec("A counter.", {"Up": {}, "Wrap": {}, "Never": {}})
        return model, Manifest(folder, {"Sample": spec}, (model,))

    return make


@pytest.fixture
def fake_java(tmp_path: Path) -> Callable[[str], Toolchain]:
    """Make a toolchain whose Java is a shell script."""

    def make(script: str) -> Toolchain:
        java = tmp_path / "java"
        java.write_text(f"#!/bin/sh\n{script}\n")
        java.chmod(0o755)
        return Toolchain(java, tmp_path / "tla2tools.jar")

    return make


@pytest.fixture(scope="session")
def doors() -> Manifest:
    """A spec whose claims fail in every way, in a manifest that holds each cfg as a model of that name."""
    people = {"person": "People"}
    spec = Spec("People open a door.", {"PersonTake": people, "PersonOpen": people, "PersonGive": people})
    outcomes = {
        "design": Outcome.DEADLOCK,
        "stuck": Outcome.DEADLOCK,
        "shut": Outcome.SAFETY,
        "no_key": Outcome.SAFETY,
        "same_key": Outcome.SAFETY,
        "lasso": Outcome.LIVENESS,
    }
    models = tuple(
        Model(
            name=f"Door/{name}",
            spec="Door",
            module="MCDoor",
            cfg=f"{name}.cfg",
            role=Role.BUG,
            result=outcome,
            defect=name,
            flags=("-deadlock",) if outcome is Outcome.LIVENESS else (),
        )
        for name, outcome in outcomes.items()
    )
    return Manifest(Path(__file__).parent / "doors", {"Door": spec}, models)
