"""Instrumented code does what it did: the same values, errors, lines and objects."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

from tests.testbed.instrument.cases import classes, expressions, statements
from tests.testbed.instrument.running import run

Case = Callable[[], object]
CASES: dict[str, Case] = {
    f"{module.__name__.rpartition('.')[2]}.{name}": function
    for module in (expressions, statements, classes)
    for name, function in vars(module).items()
    if inspect.isfunction(function)
    and function.__module__ == module.__name__
    and not function.__code__.co_argcount
    and not hasattr(function, "__wrapped__")
}


@pytest.mark.parametrize("points", [False, True], ids=["noted", "points"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_program_returns_what_it_returned(case: Case, points: bool) -> None:
    """Whether accesses are noted only, or are points all of them."""
    expected = repr(case())
    assert repr(run(case, case.__module__, points=points)) == expected
    assert repr(case()) == expected  # and afterwards, too
