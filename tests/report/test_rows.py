"""What is told of a step: values that it changed, and values that it only looked at."""

from __future__ import annotations

import pytest

from omni_ipc.records import Access, Step
from omni_ipc.report.rows import value_of


@pytest.mark.parametrize(
    ("access", "before", "told"),
    [
        (Access("Table.cached", True, "{'1': 5}"), "{}", "Table.cached := {'1': 5}"),
        (Access("Table.cached", True, "{'1': 5}"), "{'1': 5}", "Table.cached = {'1': 5}"),
        (Access("Table.cached", True, "{'1': …"), "{'1': …", "Table.cached := {'1': …"),
        (Access("Counter.value", True, "1"), "1", "Counter.value := 1"),
        (Access("Counter.value", False, "1"), "0", "Counter.value = 1"),
        (Access("Counter.value", True), None, "Counter.value"),
    ],
)
def test_a_container_that_has_what_it_had_was_looked_at(access: Access, before: str | None, told: str) -> None:
    """Who gets at it may do anything; a value that is written again is written, and one cut short may differ."""
    assert value_of(Step("a", "field.write"), access, before) == told


def test_an_item_that_was_set_to_what_it_was_is_told_as_set_with_the_container_that_the_value_is_of() -> None:
    """As a plain field is: nobody knows that it was the same but who knows the value before."""
    access = Access("Table.cached['1']", True, "{'1': 5}", "Table.cached")
    step = Step("a", "item.write", {"item": "Table.cached['1']"})
    assert value_of(step, access, "{'1': 5}") == "Table.cached := {'1': 5}"
