"""Finding Java and TLC, and saying what is missing."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from omni_ipc.conformance import toolchain as toolchains
from omni_ipc.conformance.toolchain import Toolchain, find_jar, find_java
from omni_ipc.errors import EnvironmentMissing, UsageError


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without Java, TLC, or a word about them."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("OMNI_IPC_TLA2TOOLS", raising=False)
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
