"""Runs of Java that are kept, and the archive of its classes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from omni_ipc.conformance.models.manifest import Manifest, Model
from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.tlc.cache import Cache, Kept, key_of
from omni_ipc.conformance.tlc.java import run_java
from omni_ipc.conformance.tlc.result import Kind
from omni_ipc.conformance.tlc.running import run_model
from omni_ipc.conformance.tlc.toolchain import Container, Toolchain
from omni_ipc.errors import UsageError
from tests.conformance.conftest import RECORDED

Sample = Callable[..., tuple[Model, Manifest]]
KEPT = Kept("out", "err", 12, {"graph.dot": "digraph"}, 1.5)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OMNI_IPC_TLC_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def counting(tmp_path: Path, fake_java: Callable[[str], Toolchain]) -> Toolchain:
    """A Java that counts its runs, and a jar."""
    (tmp_path / "tla2tools.jar").write_bytes(b"jar")
    return fake_java(f"echo run >> {tmp_path}/runs; cat {RECORDED}/success.out")


def runs(tmp_path: Path) -> int:
    """How often it ran, but for what makes the archive."""
    return max(0, len((tmp_path / "runs").read_text().splitlines()) - 2)


def test_the_same_run_is_made_once(
    sample: Sample, counting: Toolchain, children: Children, folder: Path, tmp_path: Path
) -> None:
    """It says that it was kept; another module, and a change of one that is extended, is another run."""
    model, manifest = sample(cfg="success.cfg")
    first, again = (run_model(model, manifest, toolchain=counting, children=children) for _ in range(2))
    assert (first.is_kept, again.is_kept, runs(tmp_path)) == (False, True, 1)
    assert again.actions == first.actions
    (manifest.folder / "Extended.tla").write_text("---- MODULE Extended ----\n====\n")
    assert not run_model(model, manifest, toolchain=counting, children=children).is_kept
    assert runs(tmp_path) == 2


def test_without_a_folder_nothing_is_kept(
    sample: Sample, counting: Toolchain, children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever checks on the command line has TLC run."""
    monkeypatch.delenv("OMNI_IPC_TLC_CACHE")
    model, manifest = sample(cfg="success.cfg")
    results = [run_model(model, manifest, toolchain=counting, children=children) for _ in range(2)]
    assert not any(result.is_kept for result in results)


@pytest.mark.parametrize("end", ["kill -KILL $$", "echo 'No space left on device' >&2; exit 255", "exit 1"])
def test_a_run_that_came_to_no_answer_is_not_kept(
    end: str, sample: Sample, fake_java: Callable[[str], Toolchain], children: Children, folder: Path, tmp_path: Path
) -> None:
    """It was killed, or the disk was full, or the memory too small: the next one may come to an end."""
    (tmp_path / "tla2tools.jar").write_bytes(b"jar")
    model, manifest = sample(cfg="success.cfg")
    for _ in range(2):
        result = run_model(model, manifest, toolchain=fake_java(end), children=children)
        assert (result.kind, result.is_kept) == (Kind.TRUNCATED, False)


def test_whatever_a_run_depends_on_is_in_its_key(tmp_path: Path) -> None:
    """The jar, Java, the program, its arguments, its files and their names, the modules, what it is to leave."""
    jar = tmp_path / "jar"
    jar.write_bytes(b"one")
    given = (Toolchain(Path("java"), jar), "tlc2.TLC", ("-tool",), {"A.tla": "a"}, (tmp_path,), ("graph.dot",))
    keys = {key_of(*given)}
    assert key_of(*given) in keys
    other = tmp_path / "other"
    other.write_bytes(b"two")
    changed = (Toolchain(Path("java"), other), "SANY", ("-config",), {"B.tla": "a"}, (), ())
    for place, value in enumerate(changed):
        keys.add(key_of(*given[:place], value, *given[place + 1 :]))
    keys.add(key_of(Toolchain(Path("java8"), jar), *given[1:]))
    (tmp_path / "B.tla").write_text("b")
    keys.add(key_of(*given))
    assert len(keys) == len(changed) + 2  # of no library there is nothing that could change


def test_what_is_damaged_is_run_again(folder: Path, tmp_path: Path) -> None:
    """Cut off, or of another version: it is as if it were not there; the least used goes first."""
    jar = tmp_path / "jar"
    jar.write_bytes(b"jar")
    cache = Cache.find(Toolchain(Path("java"), jar))
    assert cache is not None
    cache.save("a", KEPT)
    assert cache.load("a") == KEPT
    path = folder / "a.run.gz"
    path.write_bytes(path.read_bytes()[:-9])
    assert cache.load("a") is None
    assert cache.load("b") is None
    cache.save("c", Kept("x" * (9 << 20), "", 0, {}, 1.0))
    assert cache.load("c") is None, "too large"


def test_a_run_for_the_night_is_kept_and_needs_no_archive(
    sample: Sample, counting: Toolchain, children: Children, folder: Path, tmp_path: Path
) -> None:
    """An archive is made for the options of short runs, and saves part of a second."""
    model, manifest = sample(cfg="success.cfg", nightly=True)
    results = [run_model(model, manifest, toolchain=counting, children=children) for _ in range(2)]
    assert [result.is_kept for result in results] == [False, True]
    assert (tmp_path / "runs").read_text() == "run\n"
    assert list(folder.glob("*.jsa")) == []


def test_only_the_latest_runs_are_kept(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were not used for longest make room."""
    monkeypatch.setattr("omni_ipc.conformance.tlc.cache._MOST_RUNS", 2)
    folder.mkdir()
    cache = Cache(folder)
    for age, key in enumerate("abc"):
        cache.save(key, KEPT)
        os.utime(folder / f"{key}.run.gz", (age, age))
    cache.save("d", KEPT)
    assert sorted(path.name for path in folder.glob("*.gz")) == ["c.run.gz", "d.run.gz"]


def test_where_there_is_nothing_to_know_a_run_by_nothing_is_kept(folder: Path, tmp_path: Path) -> None:
    """A TLC in a container, or a jar that is not there."""
    jar = tmp_path / "jar"
    assert Cache.find(Toolchain(Path("java"), jar)) is None
    jar.touch()
    assert Cache.find(Toolchain(Path("java"), jar, Container(Path("docker"), "image"))) is None
    folder.write_text("a file")
    with pytest.raises(UsageError, match=r"OMNI_IPC_TLC_CACHE is '.*', which cannot be made"):
        Cache.find(Toolchain(Path("java"), jar))


def test_java_is_given_an_archive_of_its_classes(
    toolchain: Toolchain, children: Children, folder: Path, fake_java: Callable[[str], Toolchain], tmp_path: Path
) -> None:
    """The real one makes it; one that cannot runs without, and is not asked again."""
    module = "---- MODULE One ----\nA == 1\n====\n"
    run = run_java(
        "tla2sany.SANY",
        ("One.tla",),
        {"One.tla": module},
        library=(),
        toolchain=toolchain,
        children=children,
        budget_s=60,
    )
    assert run.ended.exit_code == 0
    (archive,) = folder.glob("*.jsa")
    assert archive.stat().st_size > 1 << 20
    (tmp_path / "tla2tools.jar").write_bytes(b"jar")
    said = fake_java('echo "$@"; test "$1" != -Xshare:dump')
    run = run_java("P", (), {}, library=(), toolchain=said, children=children, budget_s=60)
    assert "SharedArchiveFile" not in run.ended.output
    assert sorted(path.stat().st_size for path in folder.glob("*.jsa"))[0] == 0
