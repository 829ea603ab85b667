"""`omni-ipc check` of a model for the night: what is seen of a run of hours. In place of Java prints a script."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.commands import Command
from tests.support.in_process import Omni

NIGHT = Path(__file__).parent / "conformance" / "recorded" / "night.out"
MODEL = "AsyncOutput/design/full"
MINUTES = [
    f"{MODEL}: 612,081 distinct states, 151,896 on the queue, 605 k a minute",
    f"{MODEL}: 1,294,052 distinct states, 327,747 on the queue, 682 k a minute",
]


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put a script in place of Java."""

    def put(script: str) -> None:
        (tmp_path / "home" / "bin").mkdir(parents=True)
        (tmp_path / "jar").touch()
        file = tmp_path / "home" / "bin" / "java"
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("OMNI_IPC_TLA2TOOLS", str(tmp_path / "jar"))
        monkeypatch.delenv("OMNI_IPC_TLC_IMAGE", raising=False)

    return put


def test_where_nobody_sees_the_progress_there_is_a_line_a_minute(omni: Omni, java: Callable[[str], None]) -> None:
    """And a run that does not come to its end says how far it came: neither yes nor no."""
    java(f"cat {NIGHT}; echo 'There is no room' >&2; exit 1")
    ran = omni("check", MODEL, "--json", "checked.json")
    assert (ran.code, ran.err.splitlines()) == (3, MINUTES)
    (model,) = json.loads(Path("checked.json").read_text())["result"]["models"]
    assert (model["verdict"], model["distinct_states"], model["queue"]) == ("inconclusive", 1_294_052, 327_747)
    assert "at 1,294,052 distinct states, 327,747 on the queue, by exit code 1: There is no room" in model["reason"]


def test_the_line_of_progress_says_how_far_it_has_come(
    omni: Omni, java: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the first minute on; before, the name alone. What is found is searched again, to be told in words."""
    seen: list[str] = []
    shown = contextlib.nullcontext(lambda text, done, total: seen.append(text))
    monkeypatch.setattr("omni_ipc.cli.check.working", lambda at: shown)
    java(f"cat {NIGHT}; grep -v ^Progress {NIGHT.with_name('safety.out')}")
    assert omni("check", MODEL).code == 1
    assert seen == [MODEL, *MINUTES, "", *(f"telling {now}" for now in (MODEL, *MINUTES))]


def test_ctrl_c_ends_it_at_once_and_says_how_far_it_came(java: Callable[[str], None], tmp_path: Path) -> None:
    """No process, no states on the disk, and no result stay behind."""
    java(f"mkdir states && cp {NIGHT} states; cat {NIGHT}; exec sleep 600")
    with Command("check", MODEL, "--json", "checked.json", cwd=tmp_path) as command:
        command.interrupt_when(command.has_complained)
        ended = command.end()
    assert (ended.code, ended.out, ended.survivors, ended.litter) == (3, "", [], [])
    assert ended.err.splitlines()[-1] in (
        f"omni-ipc: Interrupted: nothing was concluded. {MODEL} had come to {far} on the queue. Nothing is left behind."
        for far in ("612,081 distinct states, 151,896", "1,294,052 distinct states, 327,747")
    )
    assert not (tmp_path / "checked.json").exists()
