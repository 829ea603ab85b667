"""The page of a trace: whole in itself, the same as the trace, and alive in a real browser."""

from __future__ import annotations

import json
import re
from pathlib import Path

import msgspec
import pytest

from omni_ipc.explanations import Explanation
from omni_ipc.records import Failure, FailureKind, Origin, Step, Trace, Wait
from omni_ipc.report.graph import wait_for_graph
from omni_ipc.report.html import page, write_page
from omni_ipc.testbed.explain import explain
from tests.report.test_text import LOST_UPDATE
from tests.support.browser import Browser, what_it_loads

COMMAND = "omni-ipc replay 'a file.trace.json'"
DEADLOCK = Trace(
    version=1,
    scenario="philosophers",
    origin=Origin.EXPLORED,
    steps=(Step("left", "lock.acquire", {"lock": "lock1"}), Step("right", "lock.acquire", {"lock": "lock2"})),
    failure=Failure(
        FailureKind.DEADLOCK,
        "they wait",
        "left",
        waits=(Wait("left", "lock2", "right"), Wait("right", "lock1", "left")),
    ),
)
HOSTILE = "</script><script>document.title = 'taken'</script><img src=x onerror=alert(1)>"


def made(trace: Trace) -> str:
    return page(explain(trace), command=COMMAND)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    return Browser(tmp_path_factory.mktemp("profile"))


@pytest.mark.parametrize("trace", [LOST_UPDATE, DEADLOCK], ids=lambda trace: trace.scenario)
def test_a_page_needs_nothing_beside_itself(trace: Trace) -> None:
    """It loads no file and no address: one file may be sent to a colleague."""
    assert what_it_loads(made(trace)) == []


def test_a_page_tells_what_the_trace_does() -> None:
    """Sentences, lanes in the order of what matters, values, reasons, the command, also where no script runs."""
    text = made(LOST_UPDATE)
    assert text.index('<span class="task">alice') < text.index('<span class="task">bob') < text.index(">noise<")
    assert text.count('class="row step cause"') == 2
    assert text.count("row step dull") == 2
    for told in ("till.total := 2", "could have gone on with field.write", "2 steps", "bank.py:9", "AssertionError: 1"):
        assert told in text, told
    assert "The other way round, it does not fail." in text
    assert "omni-ipc replay &#39;a file.trace.json&#39;" in text


def test_whoever_takes_a_step_that_is_shown_has_a_lane() -> None:
    """Also of one that is shown only because it takes no more room than its count; what could go wrong is in words."""
    steps = tuple(Step(task, "lock.acquire", {"lock": "lock1"}) for task in ("left", "time", "right", "noise", "noise"))
    trace = msgspec.structs.replace(DEADLOCK, steps=steps, faults=("timers,2", "kill:right"))
    text = page(Explanation(trace, (0, 2), (), (), ()), command=None)
    lanes = re.findall(r'class="cell lane-\d( idle)?"><span class="task">(\w+)', text)
    assert lanes == [("", "left"), ("", "time"), ("", "right"), (" idle", "noise")]
    assert "possible: explored timers, kill:right" in text


def test_what_others_wrote_is_shown_and_not_run() -> None:
    """A message, a name or a value may hold anything."""
    steps = tuple(msgspec.structs.replace(step, task=HOSTILE, action=HOSTILE) for step in LOST_UPDATE.steps)
    failure = Failure(FailureKind.DEADLOCK, HOSTILE, HOSTILE, waits=(Wait(HOSTILE, HOSTILE, HOSTILE),))
    text = made(msgspec.structs.replace(LOST_UPDATE, scenario=HOSTILE, steps=steps, failure=failure))
    assert "<script>document" not in text
    assert "<img" not in text
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert data is not None
    assert json.loads(data[1])[0]["task"] == HOSTILE


def test_the_wait_for_graph_has_a_node_a_task_and_an_arrow_a_wait() -> None:
    """Also for one that waits for itself, and for nobody in particular."""
    waits = (Wait("a", "lock1", "a"), Wait("b", "event1 to be set"), Wait("c", "lock1", "a"))
    drawn = str(wait_for_graph(waits))
    assert drawn.count("<rect") == 4
    assert drawn.count('marker-end="url(#tip)"') == 3
    assert "nobody" in drawn
    assert "nan" not in drawn
    assert wait_for_graph(()) is None


def test_a_page_is_alive_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    """The script has drawn an arrow a switch, chosen the cause, and told its values; nothing went wrong in it."""
    seen = browser.dump(write_page(explain(LOST_UPDATE), tmp_path / "lost.html", command=COMMAND))
    assert 'data-ready="2"' in seen
    assert seen.count('marker-end="url(#tip-preempted)"') == 1
    assert seen.count('marker-end="url(#tip-ended)"') == 1
    assert re.search(r'class="row step cause[^"]* chosen"[^>]*id="step-4"', seen)
    assert re.search(r'class="row step[^"]* partner"[^>]*id="step-1"', seen)
    pane = seen[seen.index('id="pane"') :]
    assert "'alice' could have gone on with field.write; 'bob' goes on instead." in pane
    assert '<span class="was">0</span>2' in pane


def test_a_link_to_a_step_that_is_left_out_shows_all(browser: Browser, tmp_path: Path) -> None:
    """A colleague who is sent it sees the step."""
    path = write_page(explain(LOST_UPDATE), tmp_path / "lost.html", command=None)
    seen = browser.dump(path, "#step-3")
    assert re.search(r'class="row step dull chosen"[^>]*id="step-3"', seen)
    assert 'class="only-matters"' not in seen
    assert 'id="command"' not in seen


def test_what_others_wrote_does_not_run_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    """Nor once the script has put it into the pane."""
    steps = tuple(msgspec.structs.replace(step, action=HOSTILE) for step in LOST_UPDATE.steps)
    trace = msgspec.structs.replace(LOST_UPDATE, steps=steps)
    seen = browser.dump(write_page(explain(trace), tmp_path / "hostile.html", command=HOSTILE))
    assert "<title>bank.py:two_deposits: exception</title>" in seen
    assert "<img" not in seen


@pytest.mark.parametrize("size", [(1400, 900), (420, 800)], ids=["wide", "narrow"])
def test_a_page_is_drawn(browser: Browser, tmp_path: Path, size: tuple[int, int]) -> None:
    """In a wide window and in a narrow one: a picture of that size, of more than one colour."""
    path = write_page(explain(DEADLOCK), tmp_path / "deadlock.html", command=COMMAND)
    picture = browser.draw(path, tmp_path / "page.png", size).read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert (int.from_bytes(picture[16:20]), int.from_bytes(picture[20:24])) == size
    assert len(picture) > 10_000
