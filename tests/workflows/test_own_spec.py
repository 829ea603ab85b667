"""A spec and code of one's own: what is wrong with them is told in a sentence."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from omni_ipc.errors import Inconclusive, UsageError
from omni_ipc.records import Verdict
from omni_ipc.workflows.conforming import conform
from omni_ipc.workflows.exploring import resolve
from omni_ipc.workflows.validating import validate_recordings
from tests.support.commands import ROOT
from tests.support.documents import DOCS

MODULES = ("ring", "walked")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The example of the how-to, in a folder of its own."""
    example = DOCS / "examples" / "own_spec"
    folder = Path(shutil.copytree(example, tmp_path / "own", ignore=shutil.ignore_patterns("__pycache__")))
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("OMNI_IPC_SPEC", "spec")
    yield folder
    for module in MODULES:
        sys.modules.pop(module, None)


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_the_example_agrees_and_can_be_explored(folder: Path) -> None:
    """The graph comes out of TLC, and the explorer runs the same world."""
    [walked] = conform(["walked.py:ring"], seconds=5).models
    assert (walked.verdict, walked.taken, walked.edges) == (Verdict.BOUNDED, 70, 70)
    assert walked.graph.startswith("out of TLC")
    function, transparent = resolve("walked.py:ring", None)
    assert (callable(function), transparent) == (True, ("World.End",))


@pytest.mark.parametrize(
    ("file", "old", "new", "complaint"),
    [
        ("spec/RingBuffer.tla", "/\\ UNCHANGED polled", "/\\ UNCHNGED polled", r"RingBuffer\.tla:\d+: .*UNCHNGED"),
        ("spec/RingBuffer.tla", "Init ==", "Init = =", r"RingBuffer\.tla:\d+: "),
        ("spec/RingBuffer.tla", "ELSE UNCHANGED", "ESLE UNCHANGED", r'RingBuffer\.tla:\d+: Encountered "ESLE" at line'),
        ("spec/RingBuffer.cfg", "SPECIFICATION Spec", "SPECIFICATION Spek", r"RingBuffer\.cfg: .*Spek"),
        ("spec/manifest.json", '"Items"', '"Things"', "ranges over 'Things', to which 'RingBuffer.cfg' assigns no set"),
        ("spec/manifest.json", '"ConsumerPoll": {}', '"ConsumerPol": {}', "actions of RingBuffer are not those"),
        ("spec/manifest.json", '"role": "graph"', '"role": "drawing"', "no manifest"),
        ("spec/RingBuffer.tla", "Len(queue) <= Size", "Len(queue) < Size", "must hold to have a state graph"),
        (
            "walked.py",
            '"polled": self._polled}',
            '"polld": self._polled}',
            "shows polld beyond the model and lacks polled",
        ),
        (
            "walked.py",
            '"queue": self._queue.items()',
            '"queue": self._queue.itms()',
            "projection raised AttributeError",
        ),
        ("walked.py", '"Consumer": "consumer"', '"Eater": "consumer"', "No task plays the actor of ConsumerPoll"),
        (
            "walked.py",
            '("consumer", "Consumer.Poll")',
            '("consumer", "Consumer.Pol")',
            "takes the step Consumer.Poll, which",
        ),
        ("walked.py", 'model="RingBuffer"', 'model="Ring"', "no model with a state graph 'Ring'"),
        ("walked.py", "return Scenario(", "return dict(", "makes {.*, and no scenario to be walked"),
        (
            "walked.py",
            "def ring()",
            "def ring(size)",
            r"raised TypeError: .*Let it take no arguments",
        ),
        ("walked.py", "return Scenario(", "raise SystemExit(", r"'walked\.py:ring' raised .*, and return a Scenario"),
    ],
)
def test_what_is_wrong_is_told(folder: Path, file: str, old: str, new: str, complaint: str) -> None:
    """A broken module with its line, a cfg, a manifest, a projection, a step without an action: each with its place."""
    change(folder / file, old, new)
    with pytest.raises(UsageError, match=complaint):
        conform(["walked.py:ring"], seconds=5)


def test_a_model_without_bounds_is_inconclusive(folder: Path) -> None:
    """TLC is stopped after its budget, and what to change is told."""
    change(folder / "spec/RingBuffer.tla", "accepted' = accepted \\cup {item}", "accepted' = accepted")
    change(
        folder / "spec/RingBuffer.tla",
        "/\\ \\E item \\in Items : item \\notin {polled[",
        "/\\ TRUE \\/ \\E item \\in Items : item \\notin {polled[",
    )
    change(folder / "spec/manifest.json", '"role": "graph",', '"role": "graph", "budgetS": 4,')
    came = r"(, at [\d,]+ distinct states, [\d,]+ on the queue)?"  # on a busy machine Java may not have come so far
    with pytest.raises(Inconclusive, match=rf"of 4 s{came}\. Raise budgetS in the manifest, or lower the bounds"):
        conform(["walked.py:ring"], seconds=5)


@pytest.mark.parametrize("names", [[], ["RingBuffer"], ["SplitMap"]])
def test_to_walk_nothing_is_no_success(folder: Path, names: list[str]) -> None:
    """Own specs have no scenario in the table, so walking all of them is refused, with what to do."""
    with pytest.raises(UsageError, match=r"have no scenario here to walk\. Name yours: omni-ipc conform path/to/file"):
        conform(names)


@pytest.mark.parametrize(
    ("file", "old", "new", "complaint"),
    [
        ("TraceRingBuffer.tla", "== TRUE", "== TRU", r"spec/trace/TraceRingBuffer\.tla:\d+: Unknown operator: `TRU'\."),
        (
            "TraceRingBuffer.tla",
            "Fits(step) ==",
            "Fits(step) = =",
            r"spec/trace/TraceRingBuffer\.tla:\d+: Was expecting",
        ),
        ("lenses.json", "SizeOfRing", "SizeOfRin", r"trace/lenses\.json: RingBuffer: .* SizeOfRin\. Correct the lens"),
        (
            "lenses.json",
            "TraceRingBuffer",
            "TraceRing",
            r"lenses\.json: RingBuffer: Cannot find source file for module TraceRing",
        ),
    ],
)
def test_what_is_wrong_with_the_look_at_recordings_is_told(
    folder: Path, file: str, old: str, new: str, complaint: str
) -> None:
    """File and line, where it is a module's."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(folder)])}
    command = [sys.executable, "-m", "omni_ipc", "record", "--", sys.executable, "produce.py"]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    change(folder / "spec" / "trace" / file, old, new)
    with pytest.raises(UsageError, match=complaint):
        validate_recordings([folder / "recorded"], spec="RingBuffer")
