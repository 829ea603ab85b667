"""What a counterexample of TLC comes down to: what is violated, by which steps, and which guard let it pass."""

from __future__ import annotations

from typing import Any

import msgspec


class Claim(msgspec.Struct, frozen=True):
    """The property that is violated."""

    name: str
    sentence: str  # in English
    where: str  # "SplitMap.tla:149"
    part: str | None = None  # the conjunct that is false, if there are several
    exceptions: tuple[str, ...] = ()  # of what it is false: 'batch = "1", output = "1/1"'


class Taken(msgspec.Struct, frozen=True):
    """One step of the counterexample."""

    action: str  # 'PumpUnpack(output="1")'
    state: dict[str, Any]  # after it, as in ITF


class Guard(msgspec.Struct, frozen=True):
    """A conjunct of an action, in one state."""

    action: str
    text: str
    where: str
    values: dict[str, str]  # of the variables that it depends on
    holds: bool


class Departure(msgspec.Struct, frozen=True):
    """The first step of a bug model that is none of the design."""

    step: int  # counts from 1
    action: str
    where: str  # of the design's action
    refused_by: Guard | None  # None: the design leads elsewhere
    instead: dict[str, Any] | None = None  # where it leads, as in ITF


class Violation(msgspec.Struct, frozen=True):
    """A counterexample, told."""

    claim: Claim | None  # None: a stuck state
    initial: dict[str, Any]
    steps: tuple[Taken, ...]
    loop: int | None = None  # number of the state to which the last step returns, or in which it stays for ever
    departure: Departure | None = None
    guards: tuple[Guard, ...] = ()  # of the last step; of a stuck state, the first false one of each action
    note: str = ""  # what could not be told, and why
