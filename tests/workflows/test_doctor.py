"""What doctor finds, and what it says of a machine that lacks something."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from omni_ipc.conformance.tlc.toolchain import Container, Toolchain
from omni_ipc.errors import EnvironmentMissing
from omni_ipc.workflows import doctor
from omni_ipc.workflows.doctor import Finding, Health, examine, works

GIB = 1 << 30


@pytest.mark.torch
def test_the_machine_that_runs_these_tests_is_well() -> None:
    """Everything that a developer's machine needs is found, CUDA left aside."""
    findings = {finding.subject: finding for finding in examine()}
    assert {subject for subject, finding in findings.items() if finding.health is Health.MISSING} <= {"CUDA"}
    assert doctor.TRIED_TLC_SHA256 in findings["TLC"].found
    assert works(findings.values())


def test_whatever_is_not_well_has_a_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine that lacks everything optional: the core works, and each lack comes with what to do."""
    monkeypatch.setattr("omni_ipc.conformance.tlc.toolchain._packaged", lambda package, path: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("JAVA_HOME", "OMNI_IPC_TLA2TOOLS", "OMNI_IPC_TLC_IMAGE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    monkeypatch.setattr("platform.python_implementation", lambda: "PyPy")
    monkeypatch.setattr("resource.getrlimit", lambda limit: (100, 100))
    monkeypatch.setattr(doctor, "memory_limit_bytes", lambda: GIB)
    monkeypatch.setattr(doctor, "native_words", lambda buffer: _Fenced())
    findings = list(examine())
    unwell = {finding.subject: finding.health for finding in findings if finding.health is not Health.OK}
    assert unwell == {
        "Python": Health.DEGRADED,
        "processor": Health.DEGRADED,
        "memory": Health.DEGRADED,
        "limits": Health.DEGRADED,
        "Java": Health.MISSING,
        "TLC": Health.MISSING,
        "torch": Health.MISSING,
    }
    assert all(finding.remedy for finding in findings if finding.health is not Health.OK)
    assert works(findings)


def test_without_its_core_it_does_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing package, spec, processor or memfd each is the end of it; an optional lack is not."""
    missing = EnvironmentMissing("It is not there.", "Bring it.")

    def refuse(*_: Any, **__: Any) -> None:
        raise missing

    for place, subject in (
        ("native_words", "processor"),
        ("Segment.create", "shared memory"),
        ("manifest.load", "specs"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(f"omni_ipc.workflows.doctor.{place}", refuse)
            findings = [finding for finding in _quick(patch) if finding.health is Health.MISSING]
        assert [finding.subject for finding in findings] == [subject]
        assert not works(findings)
        assert (findings[0].found, findings[0].remedy) == ("It is not there.", "Bring it.")
    with monkeypatch.context() as patch:
        patch.setattr(doctor, "_PACKAGES", ("greenlets",))
        findings = [finding for finding in _quick(patch) if finding.health is Health.MISSING]
    assert (findings[0].found, findings[0].remedy) == (
        "No module named 'greenlets'",
        "pip install greenlets",
    )


def test_another_tlc_is_told_to_be_untried(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its results may be fine, but the manifest was not recorded with it."""
    jar = tmp_path / "tla2tools.jar"
    jar.write_bytes(b"another")
    monkeypatch.setenv("OMNI_IPC_TLA2TOOLS", str(jar))
    assert {finding.subject: finding.health for finding in doctor._tlc()}["TLC"] is Health.DEGRADED


def test_a_tlc_in_an_image_of_docker_is_told_to_be_untried(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the third choice, and nobody here has ever run it."""
    container = Container(Path("docker"), "omni-ipc-tlc")
    monkeypatch.setattr(Toolchain, "find", lambda: Toolchain(Path("java"), Container.JAR, container))
    (finding,) = doctor._tlc()
    assert (finding.subject, finding.health) == ("TLC", Health.DEGRADED)
    assert "in docker's image 'omni-ipc-tlc'" in finding.found


@pytest.mark.torch
@pytest.mark.parametrize(
    ("said", "health", "found"),
    [
        ("2.13.0+cpu\nnone\n", Health.MISSING, "this torch was built without it"),
        ("2.13.0+cu130\n13.0\n", Health.MISSING, "torch knows 13.0, and sees no device"),
        ("2.13.0+cu130\n13.0\nA big one\nAnother\n", Health.OK, "13.0: A big one, Another"),
    ],
    ids=["no CUDA", "no device", "two devices"],
)
def test_cuda_is_told_by_torch(said: str, health: Health, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch is asked in a process of its own, for its version, its CUDA and its devices."""

    def answer(command: Sequence[str], **_: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 0, said, "")

    monkeypatch.setattr("subprocess.run", answer)
    torch, cuda = doctor._torch()
    assert torch == Finding("torch", Health.OK, said.splitlines()[0])
    assert (cuda.health, cuda.found) == (health, found)


def test_a_program_that_fails_is_missing_with_its_own_last_words() -> None:
    """What is installed but does not run helps nobody."""
    with pytest.raises(EnvironmentMissing, match=r"torch does not run: ValueError: broken\. Get another\."):
        doctor._ask([sys.executable, "-c", "raise ValueError('broken')"], "torch", "Get another.")
    with pytest.raises(EnvironmentMissing, match=r"Java does not run: .*No such file"):
        doctor._ask(["/nowhere/java"], "Java", "Get another.")
    with pytest.raises(EnvironmentMissing, match="Java runs, and says nothing"):
        doctor._ask([sys.executable, "-c", ""], "Java", "Get another.")


def _quick(patch: pytest.MonkeyPatch) -> list[Finding]:
    """Examine all but what has to be started."""
    for name in ("_tlc", "_torch"):
        patch.setattr(doctor, name, lambda: iter(()))
    return list(examine())


class _Fenced:
    def fence(self) -> None:
        return None
