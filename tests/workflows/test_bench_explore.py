"""The comparison of explorers: each answer is judged for what it is, and who cannot take part is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from omni_ipc import testbed
from omni_ipc.cli.app import app
from omni_ipc.errors import EnvironmentMissing
from omni_ipc.workflows.bench import environments, explore, explore_goals, explore_plot, goals
from omni_ipc.workflows.bench.contestants import CONTESTANTS, Contestant
from omni_ipc.workflows.bench.environments import Recipe
from omni_ipc.workflows.bench.explore import Comparison, Plan
from omni_ipc.workflows.bench.explorers import serving, stress
from omni_ipc.workflows.bench.explorers.serving import BOUNDED, VIOLATED, Question
from omni_ipc.workflows.bench.rows import Results
from tests.kernels.asyncio_threads import loops
from tests.kernels.kernel import Kernel
from tests.kernels.sctbench import accounts, locks

pytestmark = pytest.mark.alone  # it measures, and names what it leaves in /dev/shm

ROOT = Path(__file__).parents[2]
BRIEF = Plan(total_s=0, fault_s=5, twin_s=0.05, every=1, quick=False)
FAKES = "tests.workflows.bench_explorers"
ACCOUNT, DEADLOCK = accounts.KERNELS[0], locks.KERNELS[0]


def compared(*entries: Contestant, kernels: tuple[Kernel, ...] = (ACCOUNT,)) -> Comparison:
    """Compare, once and shortly."""
    return explore.compare(BRIEF, kernels=kernels, folder=ROOT, entries=entries, progress=lambda *_: None)


def fake(mode: str, **options: bool) -> Contestant:
    return Contestant(mode, FAKES, mode, **options)  # type: ignore[arg-type]


def found(comparison: Comparison, subject: str, kernel: str, metric: str) -> float | None:
    figure = comparison.results.figure(subject, kernel, 0, metric)
    return figure.median if figure else None


def test_our_explorer_finds_the_faults_and_accuses_no_twin() -> None:
    """As a contestant like any other, in its own process."""
    comparison = compared(Contestant("ours", "ours", "portfolio"), kernels=(ACCOUNT, DEADLOCK))
    assert [found(comparison, "ours", kernel.name, "found") for kernel in (ACCOUNT, DEADLOCK)] == [1, 1]
    assert found(comparison, "ours", "account, twin", "false alarm") == 0
    assert (comparison.false_passes, comparison.false_alarms, comparison.left_out) == ({}, {}, {})


@pytest.mark.parametrize(
    ("mode", "is_found", "passes", "alarms"),
    [("believes", 0, ["account"], []), ("accuses", 1, [], ["account"]), ("shrugs", 0, [], [])],
)
def test_an_answer_is_judged_by_what_is_known(mode: str, is_found: int, passes: list[str], alarms: list[str]) -> None:
    """To pass a fault is false, to accuse a twin is false, and to have found nothing yet is neither."""
    comparison = compared(fake(mode))
    assert found(comparison, mode, "account", "found") == is_found
    assert comparison.false_passes.get(mode, []) == passes
    assert comparison.false_alarms.get(mode, []) == alarms


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("dies", "its process died, or hangs"),
        ("raises", "LookupError: nowhere"),
        ("misleads", "another failure: no such thing"),
    ],
)
def test_who_cannot_tell_is_named_with_the_reason_and_is_not_said_to_have_missed(mode: str, reason: str) -> None:
    """And the others go on."""
    comparison = compared(fake(mode), fake("accuses"))
    assert comparison.left_out == {f"{mode}: account": reason}
    assert found(comparison, mode, "account", "found") is None
    assert found(comparison, "accuses", "account", "found") == 1


def test_kernels_with_a_loop_are_not_carried_to_who_takes_none() -> None:
    """They are not counted as missed."""
    comparison = compared(fake("shrugs", loops=False), kernels=(loops.KERNELS[0],))
    assert comparison.results.rows() == []


def test_a_peer_without_its_python_is_left_out_with_the_reason() -> None:
    """It is missing, not slow, and not silently gone."""
    recipe = Recipe("a-peer", ((3, 99),), ("a-peer",))
    comparison = compared(Contestant("a peer", "ours", recipe=recipe), Contestant("same", "ours", recipe=recipe))
    reason = "a-peer needs Python 3.99, and there is none here. Install python3.99."
    assert comparison.left_out == {"a peer": reason, "same": reason}


def test_an_environment_is_made_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And made anew, if it is to have something else, or was not finished."""
    made: list[str] = []

    def record(command: list[str]) -> None:
        made.append(command[2])
        if command[2] == "venv":
            (tmp_path / "omni_ipc" / "peers" / "it-python3.11").mkdir(parents=True)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(environments, "_run", record)
    monkeypatch.setattr(environments, "_interpreter", lambda _: ((3, 11), "python"))
    for packages in (("a",), ("a",), ("b",)):
        environments.prepare(Recipe("it", ((3, 11),), packages))
    assert made == ["venv", "pip", "venv", "pip"]


def test_what_cannot_be_installed_is_told_by_its_last_line() -> None:
    """With the command that failed."""
    with pytest.raises(EnvironmentMissing, match=r"^'python3 -c .*' failed: no such package\. "):
        environments._run(["python3", "-c", "import sys; sys.exit('no such package')"])


@pytest.mark.parametrize(
    ("function", "answer"),
    [
        ("hang", (VIOLATED, "it hangs")),
        ("raise_in_thread", (VIOLATED, "IndexError: pop from empty list")),
        ("end_well", (BOUNDED, "")),
    ],
)
def test_plain_threads_are_run_until_they_fail_or_hang(function: str, answer: tuple[str, str]) -> None:
    """In a process that can be ended, whatever it does."""
    given = stress.explore(Question(FAKES, function, [], 0.2, 0))
    assert given[:2] == answer
    assert given.schedules >= 1


def test_an_exception_is_described_in_a_line() -> None:
    """Whatever it says."""
    assert serving.describe(ValueError("a\nb")) == "ValueError: a"


def results() -> Results:
    """Make the results of two kernels: ours 100 and 40 times as fast as one peer's."""
    made = Results()
    for work, ours, theirs in (("a, twin", 1000.0, 10.0), ("b, twin", 800.0, 20.0)):
        made.add(explore_goals.FASTEST, work, 0, {"speed": ours, "false alarm": 0})
        made.add("frontrun, DPOR", work, 0, {"speed": theirs, "false alarm": 0})
    made.add(explore_goals.OURS, "a", 0, {"found": 1, "false pass": 0, "schedules": 3, "first": 12})
    made.add(explore_goals.OURS, "b", 0, {"found": 0, "false pass": 1})
    made.add("frontrun, DPOR", "a", 0, {"found": 0, "false pass": 1})
    return made


def test_goals_are_of_ours_and_beside_peers_kernel_by_kernel() -> None:
    """What was not measured is not reached."""
    verdicts = {verdict.goal: verdict for verdict in goals.judge(explore_goals.GOALS, results())}
    found = [(verdict.found, verdict.reached) for verdict in verdicts.values()]
    assert found[:6] == [(1, False), (12, True), (1, False), (0, True), (70, True), (None, False)]


@pytest.mark.parametrize("name", explore_goals.INSTALLED)
def test_a_released_package_is_explored_in_two_hundred_steps(name: str) -> None:
    """In each schedule, within five of a hundred."""
    pytest.importorskip("cachetools")
    scenario = Question(f"{explore._EXPLORERS}.installed", name, [], 0, 0).scenario()
    report = testbed.explore(scenario, instrument=["cachetools"], strategy="random", runs=20)
    assert report.failure is None
    assert 190 <= report.steps / report.schedules <= 210


def test_the_slowest_scenario_of_a_package_counts() -> None:
    """And where one of them was not measured, none is."""
    measured = results()
    one, other = explore_goals.INSTALLED.values()
    measured.add(explore_goals.FASTEST, one, 0, {"schedule": 500.0})
    assert goals.judge(explore_goals.GOALS, measured)[-1].found is None
    measured.add(explore_goals.FASTEST, other, 0, {"schedule": 800.0})
    assert goals.judge(explore_goals.GOALS, measured)[-1].found == 1250


@pytest.fixture
def omni(monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    """Run the command with a comparison that is there already."""
    verdicts = goals.judge(explore_goals.GOALS, results())
    made = Comparison(results(), verdicts, {"gone": "no 'omni-ipc[x]'"}, {"frontrun, DPOR": ["a"]}, {}, 1, 2.0)
    monkeypatch.setattr(explore, "compare", lambda *_, **__: made)
    monkeypatch.setenv("COLUMNS", "160")
    return CliRunner()


def test_a_comparison_is_told_in_tables(omni: CliRunner, tmp_path: Path) -> None:
    """Who found what, who passed falsely, the goals, and what is missing with why; rows are all that JSON has."""
    file = tmp_path / "rows.json"
    told = omni.invoke(app, ["bench", "explore", "--kernels", str(ROOT), "--json", str(file)])
    assert told.exit_code == 0, told.output
    for words in ("passed falsely", "frontrun, DPOR", "kernels missed", "no 'omni-ipc[x]'", "1 repetition in 2 s"):
        assert words in told.stdout, words
    assert file.read_text().count('"subject"') == len(results().rows())


def test_without_kernels_there_is_nothing_to_compare(omni: CliRunner, tmp_path: Path) -> None:
    """The package has none; a checkout has."""
    told = omni.invoke(app, ["bench", "explore", "--kernels", str(tmp_path)])
    assert told.exit_code == 2


def test_a_picture_is_drawn(tmp_path: Path) -> None:
    """In the format that its name says."""
    pytest.importorskip("matplotlib", reason="pip install 'omni-ipc[bench]'")
    file = tmp_path / "new" / "picture.svg"
    explore_plot.draw(results(), file)
    assert file.read_bytes()[:5] == b"<?xml"


def test_a_quick_run_has_ours_and_each_peer() -> None:
    """It compares, and does not only measure."""
    quick = [entry for entry in CONTESTANTS if entry.quick]
    assert {entry.explorer for entry in quick} == {entry.explorer for entry in CONTESTANTS}
    assert {explore_goals.OURS, explore_goals.DPOR, explore_goals.FASTEST} <= {entry.name for entry in quick}
