"""`omni-ipc stress replay`, as people and CI read it; what the runs come to is scripted here."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from omni_ipc.errors import UsageError
from omni_ipc.records import Trace, Verdict
from omni_ipc.report import junit
from omni_ipc.workflows import stressing
from omni_ipc.workflows.stressed import Row, Tried
from tests.support.in_process import Omni

BUGS = Path(__file__).parent / "bugs"
NAMES = ("long_render.wait_counted_as_compute", "reuse.reused_request_id", "split_map.late_split_map")
LEFT = Tried(1, 1, 14, 0, 26, 100.0, "leaves the trace at step 15 of 26, main: Engine.Stop(), did not come")
WHOLE = Tried(1, 1, 26, 0, 26, 50.0, "exception: lost")

pytestmark = pytest.mark.torch

Script = Callable[[str, Trace], Row]
Replay = Callable[[Script], tuple[int, str, str]]


@pytest.fixture
def replay(omni: Omni, monkeypatch: pytest.MonkeyPatch) -> Replay:
    """Run the command on three traces, on a terminal of 80 columns, with runs that come to what a script says."""
    monkeypatch.setenv("COLUMNS", "80")
    Path("col").mkdir()
    for name in NAMES:
        shutil.copy(BUGS / f"{name}.trace.json", "col")

    def run(script: Script) -> tuple[int, str, str]:
        monkeypatch.setattr(stressing, "_try", lambda name, trace, *_: script(name, trace))
        return omni("stress", "replay", "col", "--junit", "out.xml", "--json", "out.json")

    return run


def good(name: str, trace: Trace) -> Row:
    """The reference leaves the trace, and the defect shows."""
    return Row(name, trace.scenario, trace.defect, Verdict.ENDED_WELL, LEFT, WHOLE)


def bad(name: str, trace: Trace) -> Row:
    """The last one of three is violated."""
    row = good(name, trace)
    return msgspec.structs.replace(row, verdict=Verdict.VIOLATED, reasons=("no",)) if name == NAMES[-1] else row


def interrupted(name: str, trace: Trace) -> Row:
    """Somebody loses patience with the second one."""
    if name == NAMES[1]:
        raise KeyboardInterrupt
    return good(name, trace)


def outcomes() -> list[tuple[str | None, str | None]]:
    """Give what became of each case in JUnit, and its message."""
    return [(case[0].tag, case[0].get("message")) for case in ET.parse("out.xml").getroot().iter("testcase")]


def test_what_leaves_the_trace_is_told_in_words_and_names_stay_whole(replay: Replay) -> None:
    """A tick beside a part of the steps is told: the reference went another way. No name is broken at 80 columns."""
    code, out, err = replay(good)
    assert code == 0
    for name in NAMES:
        (line,) = (line for line in out.splitlines() if name in line)
        assert line.split(maxsplit=2)[2].split("  ")[0] == "1/1, leaves the trace at"
        assert line.rstrip().endswith("1/1, all 26")
    assert out.count("step 15 of 26") == 3
    assert "3 of 3 traces did as claimed on cpu, each 1 time" in out
    assert err.splitlines() == [f"{number} of 3: ✓ {name}, 0.1 s" for number, name in enumerate(NAMES, 1)]
    assert json.loads(Path("out.json").read_text())["result"]["rows"][0]["reference"]["told"] == LEFT.told


def test_an_interrupted_replay_is_not_green_in_junit(replay: Replay) -> None:
    """The traces that were not run are errors there, and rows of the result."""
    code, out, _ = replay(interrupted)
    assert code == 3
    not_run = ("error", "not run: it was interrupted before its end")
    assert outcomes() == [("system-out", None), not_run, not_run]
    assert "1 of 1 trace did as claimed on cpu, each 1 time; interrupted, 2 more were not tried" in out
    result = json.loads(Path("out.json").read_text())["result"]
    assert ([row["verdict"] for row in result["rows"]], result["left"]) == (["ended well", *["inconclusive"] * 2], 2)


def test_junit_that_cannot_be_written_changes_no_violation(replay: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    """The result is written all the same, and what is in the way is told."""

    def full(path: Path, _: bytes) -> Path:
        raise UsageError(f"Cannot write '{path}': No space left on device.")

    monkeypatch.setattr(junit, "write_atomically", full)
    code, _, err = replay(bad)
    assert (code, json.loads(Path("out.json").read_text())["exit_code"]) == (1, 1)
    assert "omni-ipc: Cannot write 'out.xml': No space left on device." in err


def test_a_trace_of_an_own_function_stops_no_other_one(replay: Replay, omni: Omni) -> None:
    """It has no worker: skipped in JUnit, and the exit code is that of the others; 3, if there are none."""
    own = msgspec.structs.replace(Trace.load(BUGS / f"{NAMES[0]}.trace.json"), scenario="mine.py:race", defect=None)
    own.save(Path("col/mine.race.trace.json"))
    real = stressing._try
    code, out, _ = replay(lambda name, trace: real(name, trace, *[None] * 3) if trace == own else good(name, trace))  # type: ignore[arg-type]
    reason = "not on processes: a function of yours, it has no worker"
    assert (code, f"mine.race: {reason}" in out) == (0, True)
    assert outcomes() == [("system-out", None), ("skipped", reason), *[("system-out", None)] * 2]
    assert "3 of 3 traces did as claimed" in out
    alone, said, _ = omni("stress", "replay", "col/mine.race.trace.json")
    assert (alone, "nothing was run on cpu" in said) == (3, True)
