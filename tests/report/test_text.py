"""Traces as text, against the exact text."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from omni_ipc.records import Failure, FailureKind, MemoryOrder, Origin, Step, Trace
from omni_ipc.report.text import heading, render

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

IN_LANES = """\
  # │ pump                          │ consumer
────┼───────────────────────────────┼───────────────────────
▸ 1 │ Pump.Unpack output=a          │
▸ 2 │                               │ Consumer.Wait output=a
▸ 3 │ Pump.Deliver output=a         │
    │ holding=False                 │
  4 │ queue.get                     │

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
  4 │ pump     │ queue.get
"""


def test_a_trace_is_drawn_with_one_column_a_task() -> None:
    """Steps stand in the column of their task; failure, details and last places stand below."""
    assert _drawn(RACE, width=60) == IN_LANES


def test_a_narrow_terminal_gets_one_column_for_all_tasks() -> None:
    """No word is broken for the sake of the lanes."""
    assert _drawn(RACE, width=30).startswith(NARROW)


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
        "────┼──────────────┼────────────────────────\n"
        "▸ 1 │ Pump.Unpack  │ inbox: {a} → {}\n"
        "    │              │ pump.at: idle → holding\n"
        "    │              │ pump.output: none → a\n"
        "  2 │ Pump.Deliver │ pump.at: holding → idle\n"
        "    │              │ pump.output: a → none\n"
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
        "split_map without a defect: TLC's counterexample in SplitMap/bug/late_split_map, 1 step\n"
        "violates NoStrandedOutputInv"
    )
    nameless = Trace(version=1, scenario="mine", origin=Origin.MODEL, steps=())
    assert heading(nameless).plain == "mine without a defect: TLC's counterexample, 0 steps"


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
    console.print(render(trace, width=width, full=full))
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    return "".join(f"{line.rstrip()}\n" for line in lines)
