"""Traces as text, against the exact text."""

from __future__ import annotations

import re
from io import StringIO

import pytest
from rich.console import Console

from omni_ipc.records import (
    Access,
    Cause,
    Failure,
    FailureKind,
    MemoryOrder,
    Origin,
    Step,
    Switch,
    Trace,
    Wait,
    Why,
)
from omni_ipc.report.text import heading, render, tell
from omni_ipc.testbed.explain import explain

RACE = Trace(
    version=1,
    scenario="future_orphan",
    origin=Origin.EXPLORED,
    defect="unpack_outside_lock",
    steps=(
        Step("pump", "Pump.Unpack", {"output": "a"}, "pump.py:50 in take_output"),
        Step("consumer", "Consumer.Wait", {"output": "a"}, "outputs.py:88 in wait"),
        Step("pump", "Pump.Deliver", {"output": "a", "holding": False}, "pump.py:52 in take_output"),
        Step("pump", "queue.get", {}, "pump.py:31 in run"),
    ),
    failure=Failure(
        FailureKind.LOST_WAKEUP,
        "it waits, and nobody is left to wake it",
        "consumer",
        "outputs.py:88 in wait",
        ("consumer waits for the future of a",),
    ),
)

LOST_UPDATE = Trace(
    version=1,
    scenario="bank.py:two_deposits",
    origin=Origin.EXPLORED,
    steps=(
        Step(
            "alice",
            "field.read",
            {"field": "till.total"},
            "bank.py:9 in add",
            accesses=(Access("till.total", value="0"),),
        ),
        Step("noise", "sleep", {"ms": 1}),
        Step("noise", "sleep", {"ms": 1}),
        Step(
            "bob",
            "field.write",
            {"field": "till.total"},
            "bank.py:9 in add",
            accesses=(Access("till.total", True, "2"),),
            switch=Switch(Why.PREEMPTED, "'alice' could have gone on with field.write", "alice"),
        ),
        Step(
            "alice",
            "field.write",
            {"field": "till.total"},
            "bank.py:9 in add",
            accesses=(Access("till.total", True, "1"),),
            switch=Switch(Why.ENDED, "'bob' has ended"),
        ),
    ),
    failure=Failure(FailureKind.EXCEPTION, "AssertionError: 1", "alice", "bank.py:20 in two_deposits"),
    causes=(Cause(0, 3, "till.total"),),
)

EXPLAINED = """\
• 'alice' read till.total (0, bank.py:9) before 'bob' set till.total to 2 (bank.py:9).
• The other way round, it does not fail.
• So 'alice' raised AssertionError: 1 (bank.py:20).

    # │ alice                        │ bob                          │ why another task
──────┼──────────────────────────────┼──────────────────────────────┼───────────────────────────────
◆ ▸ 1 │ field.read field=till.total  │                              │
      │ till.total = 0               │                              │
    … │ 2 steps of others            │                              │
◆ ▸ 4 │                              │ field.write field=till.total │ 'alice' could have gone on
      │                              │ till.total := 2              │ with field.write
✗ ▸ 5 │ field.write field=till.total │                              │ 'bob' has ended
      │ till.total := 1              │                              │
◆ the other way round, it did not fail   ✗ here it failed   2 steps of 5 left out: show --all
"""

IN_LANES = """\
  # │ pump                          │ consumer
────┼───────────────────────────────┼───────────────────────
▸ 1 │ Pump.Unpack output=a          │
▸ 2 │                               │ Consumer.Wait output=a
▸ 3 │ Pump.Deliver output=a         │
    │ holding=False                 │
✗ 4 │ queue.get                     │
✗ here it failed

lost wake-up: it waits, and nobody is left to wake it (task
consumer, outputs.py:88 in wait)
  consumer waits for the future of a

the last step of each task
  pump      queue.get      pump.py:31 in run
  consumer  Consumer.Wait  outputs.py:88 in wait
"""

NARROW = """\
  # │ task     │ step
────┼──────────┼──────────────
▸ 1 │ pump     │ Pump.Unpack
    │          │ output=a
▸ 2 │ consumer │ Consumer.Wait
    │          │ output=a
▸ 3 │ pump     │ Pump.Deliver
    │          │ output=a
    │          │ holding=False
✗ 4 │ pump     │ queue.get
✗ here it failed
"""


def test_the_lines_of_a_traceback_keep_their_distance_from_the_margin() -> None:
    """A line of code stands further in than the line that says where it is."""
    failure = Failure(FailureKind.EXCEPTION, "boom", details=('  File "a.py", line 1, in f\n    f()',))
    assert tell(failure).plain == 'exception: boom\n    File "a.py", line 1, in f\n      f()'


def test_a_trace_is_drawn_with_one_column_a_task() -> None:
    """Steps stand in the column of their task; failure, details and last places stand below."""
    assert _drawn(RACE, width=60) == IN_LANES


def test_a_narrow_terminal_gets_one_column_for_all_tasks() -> None:
    """No word is broken for the sake of the lanes."""
    assert _drawn(RACE, width=30).startswith(NARROW)


def test_causes_values_and_reasons_are_shown() -> None:
    """What happened comes first, in sentences; tasks that do not matter have no column, and their steps are counted."""
    assert _drawn(LOST_UPDATE, width=100).startswith(EXPLAINED)


def test_a_narrow_terminal_gets_the_reasons_below_the_steps() -> None:
    """Below the lanes, or, where there is no room for them either, in the one column."""
    for width, reason in (
        (50, "why another task\n4  'alice' could have gone on with field.write\n5  'bob' has ended\n"),
        (34, "│       │ ('alice' could"),
    ):
        drawn = _drawn(LOST_UPDATE, width=width)
        assert reason in drawn
        assert max(map(len, drawn.splitlines())) <= width


def test_who_waits_for_whom_is_drawn() -> None:
    """An arrow from each task that waits to who could end it, and what it waits for upon the arrow."""
    waits = (
        Wait("left", "lock2", "right", where="philo.py:3 in dine"),
        Wait("right", "lock1", "left", where="philo.py:4 in dine"),
        Wait("guest", "event1 to be set", until=2.5),
    )
    failure = Failure(FailureKind.DEADLOCK, "they wait", "left", waits=waits)
    drawn = _drawn(Trace(version=1, scenario="s", origin=Origin.EXPLORED, steps=(), failure=failure), width=80)
    assert "'left' holds lock1 and waits for lock2 (philo.py:3); 'right' holds lock2" in drawn
    assert "  left  ── lock2 ──▶                        right\n" in drawn
    assert "  guest ── event1 to be set until 2.5 s ──▶ nobody in particular\n" in drawn


def test_the_graph_has_one_line_for_each_edge_however_long_its_names_are() -> None:
    """On 80 columns, and on the 60 of the narrowest; what is cut ends in dots."""
    waits = (
        Wait(
            "the deliverer of early answers", "a notification of Scheduler._outputs_of_the_current_batch#2", until=30.5
        ),
        Wait("main", "Pump.inbox", state="is full"),
        Wait("b", "Registry._lock_of_everything_that_is_shared", "the deliverer of early answers", held_by_ended=True),
    )
    failure = Failure(FailureKind.LOST_WAKEUP, "they wait", "main", waits=waits)
    trace = Trace(version=1, scenario="s", origin=Origin.EXPLORED, steps=(), failure=failure)
    for width in (60, 80, 120):
        lines = _drawn(trace, width=width).partition("who waits for whom\n")[2].splitlines()
        assert len(lines) == 3
        assert all("──▶" in line and len(line) <= width for line in lines)
        assert "Pump.inbox (is full)" in lines[1] or width == 60
    assert "…" in _drawn(trace, width=80).partition("who waits")[2]


def test_without_colours_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Marks are signs, and not colours alone."""
    monkeypatch.setenv("NO_COLOR", "1")
    console = Console(file=StringIO(), width=100, force_terminal=True)
    console.print(render(explain(LOST_UPDATE), width=100))
    written = console.file.getvalue()  # type: ignore[attr-defined]
    assert "◆ ▸ 4" in written
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", written)


def test_a_step_shows_what_it_changed_in_the_state() -> None:
    """Of a state only the differences to the one before are told; the first step is compared with the initial state."""
    idle, holding = {"at": "idle", "output": "none"}, {"at": "holding", "output": "a"}
    trace = Trace(
        version=1,
        scenario="future_orphan",
        origin=Origin.MODEL,
        initial={"inbox": {"#set": ["a"]}, "pump": idle},
        steps=(
            Step("pump", "Pump.Unpack", state={"inbox": {"#set": []}, "pump": holding}),
            Step("pump", "Pump.Deliver", state={"inbox": {"#set": []}, "pump": idle}),
        ),
    )
    assert _drawn(trace, width=60) == (
        "  # │ pump         │ state\n"
        "────┼──────────────┼────────────────────────────\n"
        '▸ 1 │ Pump.Unpack  │ inbox: {"a"} → {}\n'
        '    │              │ pump.at: "idle" → "holding"\n'
        '    │              │ pump.output: "none" → "a"\n'
        '  2 │ Pump.Deliver │ pump.at: "holding" → "idle"\n'
        '    │              │ pump.output: "a" → "none"\n'
        "\n"
    )


def test_of_a_long_trace_the_regions_and_last_steps_are_shown() -> None:
    """Runs of primitive steps become a count for each task; asked for, each step is shown."""
    between = [Step(task, "queue.get") for task in ("left", "right", "left") * 10]
    steps = (Step("left", "Left.Begin"), *between, Step("right", "Right.End"), Step("right", "lock.acquire"))
    trace = Trace(version=1, scenario="mine", origin=Origin.EXPLORED, steps=steps)
    assert _drawn(trace, width=60) == (
        "   # │ left       │ right\n"
        "─────┼────────────┼─────────────\n"
        " ▸ 1 │ Left.Begin │\n"
        "   … │ 19 steps   │ 10 steps\n"
        "▸ 31 │ queue.get  │\n"
        "▸ 32 │            │ Right.End\n"
        "  33 │            │ lock.acquire\n"
        "29 steps of 33 left out: show --all\n"
        "\n"
    )
    assert _drawn(trace, width=60, full=True).count("queue.get") == len(between)


def test_a_single_step_is_shown_rather_than_counted() -> None:
    """Its count would take the same room, and tell less."""
    steps = tuple(Step("one", name, {"n": n}) for n in range(20) for name in ("One.Begin", "queue.get"))
    drawn = _drawn(Trace(version=1, scenario="mine", origin=Origin.EXPLORED, steps=steps), width=60)
    assert drawn.count("queue.get") == 20
    assert "…" not in drawn


def test_a_task_that_polls_is_shown_once() -> None:
    """The same few steps again and again, with nobody else's between them, become a count."""
    poll = (Step("reader", "Reader.Look"), Step("reader", "Bell.Park"), Step("reader", "words.wait"))
    steps = (Step("writer", "Writer.Put"), *poll * 20, Step("reader", "Reader.Leave"))
    trace = Trace(version=1, scenario="mine", origin=Origin.EXPLORED, steps=steps)
    assert _drawn(trace, width=60) == (
        "  # │ writer     │ reader\n"
        "────┼────────────┼─────────────\n"
        "▸ 1 │ Writer.Put │\n"
        "▸ 2 │            │ Reader.Look\n"
        "  3 │            │ Bell.Park\n"
        "  … │            │ 58 steps\n"
        " 62 │            │ Reader.Leave\n"
        "58 steps of 62 left out: show --all\n"
        "\n"
    )


def test_the_arrival_of_a_store_is_shown_beside_regions() -> None:
    """It is why the trace is as it is, however long that is."""
    steps = tuple(Step("one", name) for _ in range(12) for name in ("One.Begin", "words.store", "words.load"))
    trace = Trace(
        version=1,
        scenario="mine",
        origin=Origin.EXPLORED,
        steps=(*steps, Step("one's stores", "words.flush", {"index": 3}), *steps),
        memory=MemoryOrder.WEAK,
    )
    drawn = _drawn(trace, width=60)
    assert drawn.count("words.flush index=3") == 1
    assert drawn.count("words.store") == 0
    assert str(heading(trace)).endswith("explored under weak memory, 73 steps")


def test_a_very_long_trace_shows_its_ends() -> None:
    """The middle of what would fill screens is a count."""
    steps = tuple(Step("spinner", "Spinner.Turn", {"turn": turn}) for turn in range(1000))
    drawn = _drawn(Trace(version=1, scenario="mine", origin=Origin.EXPLORED, steps=steps), width=60)
    assert "turn=9\n" in drawn
    assert "… │ 950 steps" in drawn
    assert "turn=10\n" not in drawn
    assert "turn=960\n" in drawn


def test_a_trace_without_steps_shows_its_failure() -> None:
    """A scenario may fail before anything concurrent happens."""
    failure = Failure(FailureKind.EXCEPTION, "ValueError: mine")
    trace = Trace(version=1, scenario="mine", origin=Origin.EXPLORED, steps=(), failure=failure)
    assert _drawn(trace, width=60) == "exception: ValueError: mine\n"


def test_a_text_without_end_is_cut() -> None:
    """What is left out is counted; place and beginning stay."""
    failure = Failure(FailureKind.EXCEPTION, "m" * 5_000_000, "main", "mine.py:2 in f", ("d\n" * 900,) + ("e",) * 900)
    drawn = _drawn(Trace(version=1, scenario="s", origin=Origin.EXPLORED, steps=(), failure=failure), width=60)
    assert drawn.count("\n") < 150
    for told in ("4,998,000 more", "1,721 more", "861 more lines", "(task main, mine.py:2 in f)"):
        assert told in " ".join(drawn.split()), told


def test_a_long_field_is_cut() -> None:
    """A step takes a few lines, whatever it was given."""
    steps = (Step("main", "Main.Put", {"item": "x" * 100_000}),)
    assert _drawn(Trace(version=1, scenario="s", origin=Origin.EXPLORED, steps=steps), width=60).count("\n") < 20


def test_the_heading_says_what_the_trace_is_of() -> None:
    """Scenario, defect, origin and claim are told."""
    assert heading(RACE).plain == "future_orphan with the defect unpack_outside_lock: explored, 4 steps"
    counterexample = Trace(
        version=1,
        scenario="split_map",
        origin=Origin.MODEL,
        steps=RACE.steps[:1],
        model="SplitMap/bug/late_split_map",
        claim="NoStrandedOutputInv",
    )
    assert heading(counterexample).plain == (
        "split_map: TLC's counterexample in SplitMap/bug/late_split_map, 1 step\nviolates NoStrandedOutputInv"
    )
    nameless = Trace(version=1, scenario="mine", origin=Origin.MODEL, steps=())
    assert heading(nameless).plain == "mine: TLC's counterexample, 0 steps"


def test_words_that_look_like_markup_are_shown_as_they_are() -> None:
    """A user's names and messages are text, not rich's markup."""
    trace = Trace(
        version=1,
        scenario="[red]mine[/red]",
        origin=Origin.EXPLORED,
        steps=(Step("[bold]task", "queue.put", {"item": "[/]"}, "[link]"),),
        failure=Failure(FailureKind.EXCEPTION, "[/nonsense]", details=("[x]",)),
    )
    drawn = _drawn(trace, width=80)
    assert heading(trace).plain.startswith("[red]mine[/red]")
    for text in ("[bold]task", "item=[/]", "[link]", "[/nonsense]", "[x]"):
        assert text in drawn


def _drawn(trace: Trace, *, width: int, full: bool = False) -> str:
    console = Console(file=StringIO(), width=width, color_system=None)
    console.print(render(explain(trace), width=width, full=full))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    return "".join(f"{line.rstrip()}\n" for line in lines)
