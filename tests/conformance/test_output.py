"""What TLC said, recorded from real runs, becomes a typed result. ``recorded/record.sh`` records anew."""

from __future__ import annotations

import pytest

from omni_ipc.conformance.tlc.output import messages, parse_output
from omni_ipc.conformance.tlc.result import Coverage, Kind, Place, Result
from tests.conformance.conftest import RECORDED

NAMES = sorted(path.stem for path in RECORDED.glob("*.out"))


def read(name: str) -> str:
    return (RECORDED / f"{name}.out").read_text()


def recorded(name: str) -> Result:
    return parse_output(read(name))


@pytest.mark.parametrize(
    ("name", "kind", "violated"),
    [
        ("success", Kind.SUCCESS, None),
        ("safety", Kind.INVARIANT, "SmallInv"),
        ("initial", Kind.INVARIANT, "PositiveInv"),
        ("action_property", Kind.ACTION_PROPERTY, "RisesProp"),
        ("deadlock", Kind.DEADLOCK, None),
        ("lasso", Kind.TEMPORAL, None),
        ("stuttering", Kind.TEMPORAL, None),
        ("Assuming", Kind.ASSUMPTION, "line 3, col 16 to line 3, col 20 of module Assuming"),
        ("evaluation", Kind.EVALUATION, None),
        ("Broken", Kind.SYNTAX, None),
        ("Garbled", Kind.SYNTAX, None),
        ("Including", Kind.SYNTAX, None),
        ("Importing", Kind.SYNTAX, None),
        ("Misspelt", Kind.SYNTAX, None),
        ("Unfinished", Kind.SYNTAX, None),
        ("Empty", Kind.SYNTAX, None),
        ("Mixed", Kind.EVALUATION, None),
        ("Renamed", Kind.SYNTAX, None),
        ("config", Kind.CONFIGURATION, None),
        ("unassigned", Kind.CONFIGURATION, None),
        ("unreadable", Kind.CONFIGURATION, None),
        ("truncated", Kind.TRUNCATED, None),
        ("night", Kind.TRUNCATED, None),
    ],
)
def test_each_way_to_end_is_told_apart(name: str, kind: Kind, violated: str | None) -> None:
    """Kind, and the name of what is violated where TLC gives one."""
    result = recorded(name)
    assert (result.kind, result.name) == (kind, violated)


def test_every_recording_is_tested() -> None:
    """A new recording without an expectation above would go unnoticed."""
    expected = test_each_way_to_end_is_told_apart.pytestmark[0].args[1]
    assert sorted(name for name, _, _ in expected) == NAMES


def test_totals_depth_and_coverage_are_read() -> None:
    """States with and without repetition, depth, and how often each action was taken: dead ones by name."""
    result = recorded("success")
    assert (result.generated, result.distinct, result.queue, result.depth) == (6, 5, 0, 5)
    assert result.actions == {"Up": Coverage(3, 4), "Wrap": Coverage(1, 1), "Never": Coverage(0, 0)}
    assert result.dead == ("Never",)
    assert result.trace == ()


def test_a_run_that_was_killed_has_come_as_far_as_it_said_last() -> None:
    """States found, and those of them that it had not looked at."""
    result = recorded("night")
    assert (result.generated, result.distinct, result.queue) == (4_847_278, 1_294_052, 327_747)


def test_a_counterexample_has_actions_and_states() -> None:
    """Wide values that TLC wrapped over lines are whole; the first state has no action."""
    result = recorded("safety")
    assert [state.action for state in result.trace] == [None, "Up", "Up"]
    assert [state.variables["count"] for state in result.trace] == [0, 1, 2]
    memory = result.trace[-1].variables["memory"]
    assert memory == {
        "who": "n1",
        "path": ("worker.main", "worker.output", "pump", "dispatcher"),
        "cells": {0: 2, 1: -1},
        "empty": frozenset(),
        "none": (),
        "flags": {(True, "a quite long name"), (False, "another quite long name")},
    }
    assert result.depth == 3


def test_a_violation_by_an_initial_state_has_that_state() -> None:
    """It stands inside of the message, not in one of its own."""
    result = recorded("initial")
    assert [(state.action, state.variables["count"]) for state in result.trace] == [(None, 0)]
    assert result.depth == 1


def test_a_lasso_tells_where_it_returns_and_by_which_step() -> None:
    """Back to state 2 of 5, by Up."""
    result = recorded("lasso")
    assert len(result.trace) == 5
    assert result.loop == 1
    assert result.closing is not None
    assert result.closing.action == "Up"
    assert result.closing.variables == result.trace[1].variables


def test_stuttering_stays_in_the_last_state() -> None:
    """Nothing happens any more: the loop is the last state, and no step closes it."""
    result = recorded("stuttering")
    assert (len(result.trace), result.loop, result.closing) == (4, 3, None)


def test_a_stuck_state_ends_the_counterexample() -> None:
    """The deadlock is the last state."""
    result = recorded("deadlock")
    assert result.trace[-1].variables["count"] == 3
    assert result.loop is None


@pytest.mark.parametrize(
    ("name", "message", "place"),
    [
        ("Broken", "Unknown operator: `undefined'", Place("Broken", 5)),
        (
            "Garbled",
            'Was expecting "==== or more Module body" Encountered "0" at line 3, column 15 and token "="',
            Place("Garbled", 3),
        ),
        (
            "Including",
            'Was expecting "==== or more Module body" Encountered "0" at line 3, column 15 and token "="',
            Place("Garbled", 3),
        ),
        (
            "Importing",
            "Cannot find source file for module Nowhere imported in module Importing",
            Place("Importing", None),
        ),
        (
            "Misspelt",
            'Lexical error at line 3, column 15. Encountered: "\\n" (10), after : "\\"a"',
            Place("Misspelt", 3),
        ),
        ("Unfinished", 'Encountered "ESLE" at line 3, column 28 and token "1"', Place("Unfinished", 3)),
        ("Empty", "Fatal errors while parsing", Place("Empty", None)),
        (
            "Renamed",
            "File name 'Renamed' does not match the name 'Called' of the top level module it contains",
            Place("Renamed", None),
        ),
        (
            "Mixed",
            "Attempted to apply the operator overridden by the Java method public static tlc2.value.impl.IntValue "
            "tlc2.module.Naturals.Minus(tlc2.value.impl.IntValue,tlc2.value.impl.IntValue), but it produced the "
            "following error: Cannot cast tlc2.value.impl.SetEnumValue to tlc2.value.impl.IntValue",
            Place("Mixed", 5),
        ),
        ("evaluation", "Attempted to apply Head to the empty sequence.", Place("Sample", 19)),
        ("config", "The name Missing specified in the configuration file is not defined in the specification.", None),
        (
            "unreadable",
            "TLC found an error in the configuration file at line 2 It was expecting }, but did not find it.",
            None,
        ),
    ],
)
def test_errors_keep_the_first_complaint_and_its_place(name: str, message: str, place: Place | None) -> None:
    """TLC's own words, on one line, and the line of the module."""
    result = recorded(name)
    assert (result.message, result.place) == (message, place)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("truncated", "night")])
def test_output_cut_anywhere_is_truncated(name: str) -> None:
    """Whatever TLC has claimed so far, without its end there is no verdict: least of all success."""
    text = read(name)
    end = text.index("@!@!@ENDMSG 2186")
    for cut in range(0, end, 97):
        assert parse_output(text[:cut]).kind is Kind.TRUNCATED
    assert parse_output(text[:end]).kind is Kind.TRUNCATED
    assert parse_output(text).kind is not Kind.TRUNCATED


def test_messages_may_be_nested() -> None:
    """The inner one comes first, and is no part of the outer one's text; what stands outside comes last."""
    inner = "@!@!@STARTMSG 2184:0 @!@!@\nb\n@!@!@ENDMSG 2184 @!@!@"
    text = f"out\n@!@!@STARTMSG 1000:1 @!@!@\na {inner}\nc\n@!@!@ENDMSG 1000 @!@!@\nside"
    assert [(code, " ".join(said.split())) for code, _, said in messages(text)] == [
        (2184, "b"),
        (1000, "a c"),
        (0, "out side"),
    ]


def test_an_exception_that_tlc_did_not_expect_is_told_by_itself() -> None:
    """Nobody has the console that TLC speaks of."""
    text = (
        "@!@!@STARTMSG 1000:1 @!@!@\nTLC threw an unexpected exception.\nThis was probably caused by an error in the "
        "spec or model.\nSee the User Output or TLC Console for clues to what happened.\nThe exception was a "
        "java.lang.StackOverflowError\n@!@!@ENDMSG 1000 @!@!@\n"
        "@!@!@STARTMSG 2186:0 @!@!@\nFinished\n@!@!@ENDMSG 2186 @!@!@\n"
    )
    assert parse_output(text).message == "java.lang.StackOverflowError"


def test_the_last_coverage_report_counts() -> None:
    """Long runs report once a minute; several disjuncts of one action are summed within a report."""

    def report(first: str, second: str) -> str:
        lines = [
            ("2201", "The coverage statistics"),
            ("2772", f"<Up of module X>: {first}"),
            ("2772", f"<Up of module X>: {second}"),
        ]
        return "".join(f"@!@!@STARTMSG {code}:0 @!@!@\n{text}\n@!@!@ENDMSG {code} @!@!@\n" for code, text in lines)

    assert parse_output(report("1:1", "1:1") + report("1,000:2,000", "1:3")).actions == {"Up": Coverage(1001, 2003)}


@pytest.mark.parametrize(
    ("name", "kind", "counts", "loop"),
    [
        ("success", Kind.SUCCESS, [], None),
        ("safety", Kind.INVARIANT, [0, 1, 2], None),
        ("deadlock", Kind.DEADLOCK, [0, 1], None),
        ("lasso", Kind.TEMPORAL, [0, 1, 2], 1),
        ("stuttering", Kind.TEMPORAL, [0, 1], 1),
    ],
)
def test_what_a_newer_tlc_says_is_read(name: str, kind: Kind, counts: list[int], loop: int | None) -> None:
    """Written after the documented form of its messages, and from no run: none was at hand.

    A newer one may name the initial predicate, give an action its arguments, and add places to the coverage.
    """
    result = parse_output((RECORDED / "newer" / f"{name}.out").read_text())
    assert result.kind is kind
    assert [state.variables["count"] for state in result.trace] == counts
    assert [state.action for state in result.trace] == [None, "Up", "Up"][: len(counts)]
    assert result.loop == loop
    assert result.actions == {"Up": Coverage(2, 2), "Never": Coverage(0, 0)}
    assert result.closing is None or result.closing.action == "Up"
