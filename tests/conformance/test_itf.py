"""Values and counterexamples in ITF."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given

from omni_ipc.conformance.counterexamples.itf import counterexample_to_itf, to_itf
from omni_ipc.conformance.tlc.output import parse_output
from omni_ipc.errors import FormatError
from omni_ipc.values import FrozenMap, Value, from_itf
from tests.conformance.conftest import RECORDED
from tests.conformance.test_values import VALUES


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (True, True),
        (3, 3),
        (2**60, {"#bigint": "1152921504606846976"}),
        (("a", 1), {"#tup": ["a", 1]}),
        (frozenset({"b", "a"}), {"#set": ["a", "b"]}),
        (FrozenMap({"b/1": (), "a": 1}), {"a": 1, "b/1": {"#tup": []}}),
        (FrozenMap({0: "x"}), {"#map": [[0, "x"]]}),
        (FrozenMap({"#set": 1}), {"#map": [["#set", 1]]}),
    ],
)
def test_each_kind_of_value_has_its_encoding(value: Value, data: Any) -> None:
    """As the format has it; a record that looks like an encoding is written as a map."""
    assert to_itf(value) == data
    assert from_itf(data) == value


@given(VALUES)
def test_values_survive_json(value: Value) -> None:
    """Encoded, written, read and decoded, a value is itself."""
    assert from_itf(msgspec.json.decode(msgspec.json.encode(to_itf(value)))) == value


def test_a_list_is_read_as_a_sequence() -> None:
    """Apalache writes sequences as lists."""
    assert from_itf([1, [2]]) == (1, (2,))


@pytest.mark.parametrize("data", [None, 1.5, {"#map": [1]}, {"#bigint": "x"}, {"#what": 1}])
def test_what_is_not_itf_is_refused(data: object) -> None:
    """Nothing is guessed."""
    with pytest.raises(FormatError, match="Not a value in ITF"):
        from_itf(data)


def test_a_lasso_keeps_its_loop() -> None:
    """States in order, each with its action, and the index that the last one returns to."""
    result = parse_output((RECORDED / "lasso.out").read_text())
    document = counterexample_to_itf(result, source="Sample.tla")
    assert document["#meta"]["format"] == "ITF"
    assert document["#meta"]["source"] == "Sample.tla"
    assert document["vars"] == ["count", "memory"]
    assert [state["count"] for state in document["states"]] == [0, 1, 2, 3, 0]
    assert document["states"][1]["#meta"] == {"index": 1, "action": "Up()"}
    assert document["loop"] == 1


def test_a_finite_counterexample_has_no_loop() -> None:
    """A safety violation ends."""
    assert "loop" not in counterexample_to_itf(parse_output((RECORDED / "safety.out").read_text()), source="Sample.tla")
