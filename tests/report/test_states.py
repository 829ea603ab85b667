"""States of a model as text."""

from __future__ import annotations

from omni_ipc.report.states import changes


def test_only_what_differs_is_told() -> None:
    """Records and functions are compared key by key, however deep."""
    before = {"same": 1, "pump": {"at": "idle", "held": {"#map": [[0, "x"], ["b/1", "y"]]}}, "n": 1}
    after = {"same": 1, "pump": {"at": "busy", "held": {"#map": [[0, "x"], ["b/1", "z"]]}}, "n": 2}
    assert changes(before, after) == ('pump.at: "idle" → "busy"', 'pump.held["b/1"]: "y" → "z"', "n: 1 → 2")


def test_sequences_of_one_length_are_compared_item_by_item() -> None:
    """Counted from 1, as in TLA+; one that grew is told whole."""
    before, after = [{"#tup": ["a", 1]}, []], [{"#tup": ["a", 2]}, ["b"]]
    assert changes({"ring": before}, {"ring": after}) == ("ring[1][2]: 1 → 2", 'ring[2]: <<>> → <<"b">>')


def test_a_function_with_another_domain_is_told_whole() -> None:
    """Where keys come or go there is no key by key."""
    assert changes({"f": {"a": 1}}, {"f": {"a": 1, "b": 2}}) == ("f: [a |-> 1] → [a |-> 1, b |-> 2]",)


def test_of_unknown_states_nothing_is_told() -> None:
    """An explored trace has no states, and so no changes."""
    assert changes(None, {"n": 1}) == ()
    assert changes({"n": 1}, None) == ()
    assert changes({}, {"n": 1}) == ("n: unknown → 1",)
