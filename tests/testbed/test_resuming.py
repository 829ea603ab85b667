"""An exploration that is interrupted, and goes on."""

from __future__ import annotations

import functools
import importlib
import json
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from omni_ipc.errors import UsageError
from omni_ipc.records import Report, Verdict
from omni_ipc.testbed import STRATEGIES, ControlledRuntime, explore, resuming
from omni_ipc.testbed.plain import from_json, to_json
from omni_ipc.testbed.resuming import Saved
from omni_ipc.testbed.search import Search
from tests.testbed.kernels import and_join, independent, lost_update
from tests.testbed.test_strategies import many_orders

UNGUARDED = (os.kill,)  # a scenario that called it by its name would be told that it must not


def facts(report: Report) -> tuple[object, ...]:
    """What must be the same, however often an exploration was interrupted."""
    return report.verdict, report.reason, report.schedules, report.steps, report.traces, report.outcomes, report.failure


def adding_with(name: str) -> None:
    """Count in a module, by two threads."""
    threads = [threading.Thread(target=importlib.import_module(name).add) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Interrupted:
    """A scenario that gets Ctrl-C in its n-th run."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, rt: ControlledRuntime) -> None:
        self.left -= 1
        if not self.left:
            UNGUARDED[0](os.getpid(), signal.SIGINT)
        many_orders(rt)


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_an_interrupted_exploration_ends_as_one_that_was_not(strategy: str, tmp_path: Path) -> None:
    """Ctrl-C lets the run at hand end; what comes after goes on with the next one, with the same counts at the end."""
    options: dict[str, object] = {"strategy": strategy, "runs": 150, "seed": 5, "name": "many"}
    whole = explore(Interrupted(-1), **options)  # type: ignore[arg-type]
    for at in (1, 3, 20, 10):
        with pytest.raises(KeyboardInterrupt):
            explore(Interrupted(at), resume=tmp_path, **options)  # type: ignore[arg-type]
    resumed = explore(Interrupted(-1), resume=tmp_path, **options)  # type: ignore[arg-type]
    assert facts(resumed) == facts(whole)


@pytest.mark.parametrize("strategy", ["dpor", "depth-first", "brute-force", "preemption-bounded", "surw"])
def test_an_exploration_goes_on_with_more_to_spend(strategy: str, tmp_path: Path) -> None:
    """Runs count from the beginning; one that is through says the same again, and runs nothing."""
    whole = explore(independent(2, 4), strategy=strategy, runs=300)
    for runs in (2, 3, 20, 300, 300):
        report = explore(independent(2, 4), strategy=strategy, runs=runs, resume=tmp_path)
    assert facts(report) == facts(whole)


class Killed(BaseException):
    """Ends an exploration with no chance to save."""


def test_a_killed_process_loses_only_what_came_after_it_last_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state is saved from time to time; what comes after is run again."""
    whole = explore(many_orders, strategy="dpor", runs=60)
    kept = Saved.keep

    def keep(saved: Saved, search: Search, is_last: bool) -> None:
        if search.tally.schedules == 20:
            raise Killed
        if search.tally.schedules < 10:
            kept(saved, search, is_last)

    with monkeypatch.context() as patch:
        patch.setattr(resuming, "_EVERY_S", 0.0)
        patch.setattr(Saved, "keep", keep)
        with pytest.raises(Killed):
            explore(many_orders, strategy="dpor", runs=60, resume=tmp_path)
    assert facts(explore(many_orders, strategy="dpor", runs=60, resume=tmp_path)) == facts(whole)


def test_what_tasks_share_unseen_is_remembered(tmp_path: Path) -> None:
    """The reduction that was given up stays so."""

    def scenario(rt: ControlledRuntime) -> None:
        seen: list[int] = []

        def note() -> None:
            for number in range(3):
                with rt.region("Note"):
                    seen.append(number)

        and_join(rt, note, note)

    whole = explore(scenario, strategy="dpor")
    explore(scenario, strategy="dpor", runs=5, resume=tmp_path)
    resumed = explore(scenario, strategy="dpor", resume=tmp_path)
    assert whole.verdict is Verdict.HOLDS
    assert "none was left out" in whole.reason
    assert facts(resumed) == facts(whole)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"seed": 1}, "its seed is 0, and not 1"),
        ({"strategy": "depth-first"}, "its strategy is 'dpor', and not 'depth-first'"),
        ({"name": "other"}, "its name is 'scenario', and not 'other'"),
        ({"memory": "tso"}, "its memory is 'sc', and not 'tso'"),
    ],
)
def test_another_exploration_is_not_gone_on_with(change: dict[str, str], reason: str, tmp_path: Path) -> None:
    """The message names what differs, and what to do."""
    explore(independent(2, 2), strategy="dpor", resume=tmp_path, runs=1)
    with pytest.raises(UsageError, match=f"{reason}. Give another folder, or delete it"):
        explore(independent(2, 2), resume=tmp_path, **{"strategy": "dpor", **change})  # type: ignore[arg-type]


def test_an_edited_scenario_is_not_gone_on_with(tmp_path: Path) -> None:
    """What was seen of the old code says nothing of the new one."""
    explore(lost_update, strategy="dpor", resume=tmp_path, runs=2)
    (file,) = tmp_path.iterdir()
    document = json.loads(file.read_bytes())
    document["of"]["code"] += 1
    file.write_text(json.dumps(document))
    with pytest.raises(UsageError, match="the scenario's file has been changed since"):
        explore(lost_update, strategy="dpor", resume=tmp_path)


def test_an_edited_module_is_not_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the edit leaves all steps as they were, and the scenario is no plain function."""
    vendor = tmp_path / "vendored_pump.py"
    vendor.write_text("count = 0\ndef add():\n    global count\n    count += 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "vendored_pump", raising=False)
    folder = tmp_path / "saved"
    scenario = functools.partial(adding_with, "vendored_pump")
    explore(scenario, strategy="dpor", instrument=["vendored_pump"], resume=folder, runs=1)
    explore(scenario, strategy="dpor", instrument=["vendored_pump"], resume=folder, runs=2)
    vendor.write_text(vendor.read_text().replace("+= 1", "+= 2"))
    with pytest.raises(UsageError, match=r"'.*vendored_pump\.py' has been changed since\. Give another folder"):
        explore(scenario, strategy="dpor", instrument=["vendored_pump"], resume=folder)


@pytest.mark.parametrize("damage", ["", "{", "[]", "{}", '{"format": "omni-ipc-exploration", "version": 0, "of": {}}'])
def test_a_damaged_state_is_refused(damage: str, tmp_path: Path) -> None:
    """The message names the file, and what to do."""
    explore(lost_update, strategy="dpor", resume=tmp_path, runs=2)
    (file,) = tmp_path.iterdir()
    file.write_text(damage)
    with pytest.raises(UsageError, match=r"exploration.1-of-1.json' is damaged.*Delete it to begin anew"):
        explore(lost_update, strategy="dpor", resume=tmp_path)


@pytest.mark.parametrize("part", ["strategy", "tally", "identities"])
def test_a_state_that_lacks_something_is_refused(part: str, tmp_path: Path) -> None:
    """However it came about, it ends in a sentence."""
    explore(lost_update, strategy="dpor", resume=tmp_path, runs=2)
    (file,) = tmp_path.iterdir()
    document = json.loads(file.read_bytes())
    document["state"]["dict"] = [[key, value] for key, value in document["state"]["dict"] if key != part]
    file.write_text(json.dumps(document))
    with pytest.raises(UsageError, match="is damaged"):
        explore(lost_update, strategy="dpor", resume=tmp_path)


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """A file in its place is told."""
    taken = tmp_path / "taken"
    taken.write_text("")
    with pytest.raises(UsageError, match="Cannot"):
        explore(lost_update, resume=taken)


@pytest.mark.parametrize(
    "value",
    [None, True, 1.5, "text", 1 << 70, -(1 << 70), (1, (2, "a")), {1: {2}, (3, None): [b"\0\xff"]}, [], (), {}, set()],
)
def test_plain_values_come_back_as_they_were(value: object) -> None:
    """Through JSON, types included."""
    back = from_json(json.loads(json.dumps(to_json(value))))
    assert back == value
    assert type(back) is type(value)


def test_what_is_no_plain_value_is_not_saved() -> None:
    """An object would come back as something else."""
    with pytest.raises(TypeError, match="object is no plain value"):
        to_json([object()])


def evaluated_in_one_order(rt: ControlledRuntime) -> None:
    """Run code that has no points, if the first task comes first, as it does in the default order."""
    box: list[int] = []

    def look() -> None:
        if not box:
            eval("len(box)", {"box": box})

    and_join(rt, look, lambda: box.append(2))


def test_what_was_not_seen_before_is_not_forgotten(tmp_path: Path) -> None:
    """It comes to no better verdict than what has run at once."""
    whole = explore(evaluated_in_one_order, strategy="dpor", instrument=[__name__])
    assert whole.verdict is Verdict.INCONCLUSIVE
    runs = whole.schedules - 1
    explore(evaluated_in_one_order, strategy="dpor", instrument=[__name__], runs=runs, resume=tmp_path)
    later = explore(evaluated_in_one_order, strategy="dpor", instrument=[__name__], resume=tmp_path)
    assert (later.verdict, later.reason) == (whole.verdict, whole.reason)
