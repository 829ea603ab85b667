"""A counterexample of TLC as people read it."""

from __future__ import annotations

import io
from typing import Any

import msgspec
from rich.console import Console

from omni_ipc.report.violations import tell_violation
from omni_ipc.violations import Claim, Departure, Guard, Taken, Violation

CLAIM = Claim("ShutInv", "The door is shut.", "Door.tla:9", exceptions=('door = "front"', 'door = "back"'))
SHUT: dict[str, Any] = {"open": False, "keys": {"#set": []}}
OPEN: dict[str, Any] = {"open": True, "keys": {"#set": []}}
STEPS = (Taken("PersonTake()", {"open": False, "keys": {"#set": ["k"]}}), Taken("PersonOpen()", OPEN))
GUARD = Guard("PersonOpen()", "keys # {}", "Door.tla:5", {"keys": "{}"}, holds=False)


def told(violation: Violation) -> str:
    page = Console(file=io.StringIO(), width=100, color_system=None)
    with page.capture() as captured:
        page.print(tell_violation(violation))
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def test_the_claim_comes_in_english_and_the_steps_as_a_table() -> None:
    """What is violated, of what, and of each state what its step has changed."""
    text = told(Violation(CLAIM, SHUT, STEPS, note="It was late."))
    assert text.splitlines() == [
        "  The door is shut.",
        '  ShutInv (Door.tla:9) is false of door = "front" and of door = "back"',
        "",
        "  #   step           state",
        "  ─────────────────────────────────────",
        '  1   PersonTake()   keys: {} → {"k"}',
        "  2   PersonOpen()   open: FALSE → TRUE",
        '                     keys: {"k"} → {}',
        "",
        "  It was late.",
    ]


def test_a_state_that_is_wrong_from_the_beginning_is_told_wholly() -> None:
    """No step has changed anything that could be shown."""
    assert "  0   as it begins   keys = {}\n                     open = FALSE" in told(Violation(CLAIM, SHUT, ()))


def test_the_guard_of_the_design_is_told_with_its_values() -> None:
    """At the step that the design would have refused."""
    text = told(Violation(CLAIM, SHUT, STEPS, departure=Departure(2, "PersonOpen()", "Door.tla:4", GUARD)))
    assert "  →2   PersonOpen()" in text
    assert "Step 2, PersonOpen(), would be refused by the design, whose guard is false there:" in text
    assert "    keys # {}\n    keys = {}  (Door.tla:5)" in text


def test_where_the_design_leads_elsewhere_both_states_are_told() -> None:
    """Only in what differs."""
    departure = Departure(2, "PersonOpen()", "Door.tla:4", None, instead=SHUT)
    text = told(Violation(CLAIM, SHUT, STEPS, departure=departure))
    assert "leads elsewhere in the design (Door.tla:4):\n    open: TRUE; in the design FALSE" in text


def test_a_stuck_state_and_guards_that_were_true_are_told_apart() -> None:
    """The one lists what each action waits for, the other what one of them should have refused."""
    stuck = told(Violation(None, SHUT, STEPS, guards=(GUARD,)))
    assert stuck.startswith("  A state is reached in which nothing can happen any more, and not everybody is done.")
    assert "What each action waits for:" in stuck
    passed = told(Violation(CLAIM, SHUT, STEPS, guards=(msgspec.structs.replace(GUARD, holds=True),)))
    assert "The guards of the last step, PersonOpen(); one of them should have been false:" in passed


def test_a_lasso_and_a_part_of_a_claim_are_told() -> None:
    """Where it goes on for ever, or that nothing changes any more; and because of which conjunct."""
    part = msgspec.structs.replace(CLAIM, part="open \\in BOOLEAN (It is open or shut.)", exceptions=())
    assert "∞   and so it stays for ever" in told(Violation(part, SHUT, STEPS, loop=2))
    again = told(Violation(part, SHUT, STEPS, loop=1))
    assert "∞   then again from step 2 on, for ever" in again
    assert "because this is: open \\in BOOLEAN (It is open or shut.)" in again
