"""Values of TLA+: what TLC prints, what code shows, and that they meet."""

from __future__ import annotations

import enum
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omni_ipc.conformance.models.values import parse, parse_printed
from omni_ipc.errors import FormatError, UsageError
from omni_ipc.values import FrozenMap, Value, normal, show

SCALARS = st.one_of(st.booleans(), st.integers(-(2**31), 2**31 - 1), st.text(max_size=8))
VALUES: st.SearchStrategy[Value] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(normal),
        st.frozensets(inner, max_size=4),
        st.dictionaries(inner, inner, max_size=4).map(normal),
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("TRUE", True),
        ("FALSE", False),
        ("-7", -7),
        ('"a b"', "a b"),
        (r'"say \"hi\" \\ \n"', 'say "hi" \\ \n'),
        ("n1", "n1"),
        ("{}", frozenset()),
        ("<<>>", ()),
        ("<<<<>>, <<>>>>", ((), ())),
        ("{1, 2}", frozenset({1, 2})),
        ("1..3", frozenset({1, 2, 3})),
        ('[at |-> "idle", output |-> "none"]', FrozenMap({"at": "idle", "output": "none"})),
        ('("b/1" :> "absent" @@ "b/2" :> "waiting")', FrozenMap({"b/1": "absent", "b/2": "waiting"})),
        ('(0 :> {1} @@ 1 :> <<"a", TRUE>>)', FrozenMap({0: frozenset({1}), 1: ("a", True)})),
    ],
)
def test_each_kind_of_value_is_parsed(text: str, value: Value) -> None:
    """What TLC prints becomes the Python value of the table in `values`."""
    assert parse(text) == value


def test_a_value_wrapped_over_lines_is_the_same_value() -> None:
    """TLC breaks lines at 80 columns inside of values: white space means nothing."""
    text = """\
        [ who |-> n1,
          cells |->
              ( "worker.main" :> <<<<"worker.output", 1>>, <<>>>> @@
                "worker.output" :>
                    <<<<>>, <<>>>> ),
          flags |-> {TRUE} ]"""
    assert parse(textwrap.dedent(text)) == parse(" ".join(text.split()))
    assert parse(text) == normal(
        {"who": "n1", "cells": {"worker.main": [["worker.output", 1], []], "worker.output": [[], []]}, "flags": {True}}
    )


@given(VALUES)
def test_what_is_shown_is_parsed_back(value: Value) -> None:
    """`parse` undoes `show`, for every value, in one line or in many."""
    assert parse(show(value)) == parse(show(value, "\n, ")) == value


@given(VALUES)
def test_normal_form_is_a_fixed_point(value: Value) -> None:
    """A value in normal form is its own normal form, and hashable."""
    assert normal(value) == value
    assert hash(normal(value)) == hash(value)


def test_ordinary_containers_compare_equal_to_the_models() -> None:
    """Lists, sets and dicts of code, nested, equal what TLC prints for the same state."""
    code = {"inbox": {"b"}, "pump": {"at": "idle", "output": "none"}, "taken": {"w": [1, 2]}, "cached": set()}
    model = '[inbox |-> {"b"}, pump |-> [at |-> "idle", output |-> "none"], taken |-> [w |-> <<1, 2>>], cached |-> {}]'
    assert normal(code) == parse(model)


def test_a_function_of_one_to_n_is_a_sequence() -> None:
    """TLA+ does not tell them apart, so neither does the normal form; an empty function is the empty sequence."""
    assert normal({2: "y", 1: "x"}) == ("x", "y")
    assert normal({}) == ()
    assert normal({0: "x", 1: "y"}) == FrozenMap({0: "x", 1: "y"})
    assert normal({True: "x"}) == FrozenMap({True: "x"}), "TRUE is not 1"


def test_subclasses_of_plain_types_become_plain() -> None:
    """An enumeration of strings is the string that it stands for."""

    class At(enum.StrEnum):
        IDLE = "idle"

    assert type(normal(At.IDLE)) is str


@pytest.mark.parametrize("value", [None, 1.5, object(), [None]])
def test_values_without_a_counterpart_are_refused(value: object) -> None:
    """None, floats and objects have no place in a projection, and it says what has."""
    with pytest.raises(UsageError, match=r"no counterpart in TLA\+\. Project it to"):
        normal(value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "expected a value at character 0, found the end"),
        ("<<1, 2", "expected ',' at character 6, found the end"),
        ("[a -> 1]", "found '-> 1]'"),
        ("{1} 2", "expected nothing more at character 3, found '2'"),
        ("(1 :> 2 @ 3 :> 4)", "expected '@@'"),
        ('"open', "found '\"open'"),
        (",", "expected a value at character 0"),
    ],
)
def test_a_text_that_is_no_value_is_refused_with_the_place(text: str, complaint: str) -> None:
    """Nothing is guessed: the error names the place and what stood there."""
    with pytest.raises(FormatError, match="Not a TLA\\+ value") as caught:
        parse(text)
    assert complaint in str(caught.value)


def test_printed_tuples_are_found_among_other_words() -> None:
    """Those with the tag, wrapped or not; whatever else is printed is passed over."""
    text = 'Finished. <<"mine", 1>>\n<< "other", 2 >> << "mine",\n   {<<"mine", 3>>},\n   TRUE >> end'
    assert list(parse_printed(text, "mine")) == [("mine", 1), ("mine", frozenset({("mine", 3)}), True)]
