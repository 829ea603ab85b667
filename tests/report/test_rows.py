"""What is told of a step: values that it changed, and values that it only looked at."""

from __future__ import annotations

import pytest

from omni_ipc.records import Access
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
    assert value_of(access, before) == told
