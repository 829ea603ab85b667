"""`omni-ipc record` and `omni-ipc validate`, as people call them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from omni_ipc.conformance.models.manifest import find_folder
from tests.support.lanes import ROOT

TRACE = find_folder() / "trace"


def omni_ipc(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, in the folder where the test is."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "80"}
    command = [sys.executable, "-m", "omni_ipc", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_validate_tells_people_why_and_machines_all_of_it(tmp_path: Path) -> None:
    """Exit code 1 for a rejection, with the step, the guard and the repair; 0 where all is accepted."""
    report = tmp_path / "report.json"
    bad = omni_ipc("validate", str(TRACE / "bad" / "missing_announcement"), "--spec", "SplitMap", "--json", str(report))
    assert bad.returncode == 1
    told = re.sub(r"\s+", " ", bad.stdout)
    assert "/bad/missing_announcement: step 1: PumpUnpack(output=1) of pump" in told
    assert r"it takes output \in inbox, which is false" in told
    assert 'It would pass with WorkerAnnounce("1") before PumpUnpack(output=1)' in told
    assert max(map(len, bad.stdout.splitlines())) <= 80
    (session,) = json.loads(report.read_text())["result"]["sessions"]
    assert (session["answer"], session["rejection"]["index"]) == ("rejected", 1)
    good = omni_ipc("validate", str(TRACE / "ok" / "split_map"), "--spec", "SplitMap")
    assert good.returncode == 0
    assert "1 of 1 session accepted" in good.stdout
    assert "no such field, or empty throughout:" in good.stdout
    assert "OutputTable._waiting" in good.stdout
    assert "under-covered: never NeverLateInv" in good.stdout


def test_record_names_the_specs_that_speak_of_what_it_took_down(tmp_path: Path) -> None:
    """Each as the command that comes next; of what speaks of nothing, none."""
    program = tmp_path / "program.py"
    program.write_text(
        "from omni_ipc.seam.native import NativeRuntime\n"
        "rt = NativeRuntime()\n"
        "with rt.region('Worker.Announce', output='1'):\n    pass\n"
    )
    recorded = omni_ipc("record", "--to", str(tmp_path / "log"), "--", sys.executable, str(program))
    assert recorded.returncode == 0
    hints = [line for line in recorded.stdout.splitlines() if line.startswith("omni-ipc validate")]
    assert f"omni-ipc validate {tmp_path / 'log'} --spec FutureOrphan" in hints
    assert not any(hint.endswith(("StaleReply", "DualWriterRing")) for hint in hints)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["validate", "nowhere", "--spec", "SplitMap"], 2, "Cannot read the recording 'nowhere'"),
        (["validate", str(TRACE / "ok"), "--spec", "SplitMop"], 2, "'SplitMop'. Did you mean"),
        (["validate", str(TRACE / "ok" / "future_orphan"), "--spec", "SplitMap"], 3, "speaks of none of the"),
        (["record", "--", "no-such-command"], 2, "'no-such-command' cannot be started"),
        (["record", "--", sys.executable, "-c", ""], 3, "no process of it recorded anything"),
    ],
)
def test_what_cannot_be_concluded_is_one_sentence(
    arguments: list[str], code: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Usage is 2, and a question without an answer 3; never a traceback."""
    monkeypatch.chdir(tmp_path)
    ended = omni_ipc(*arguments)
    assert ended.returncode == code
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr
