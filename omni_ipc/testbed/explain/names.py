"""A trace in the words of its code: "Pump._early[7]" and "Account.lock", where the runtime says "dict4[7]" and "lock2".

A trace is saved and replayed under the runtime's names, which are the same in every schedule. The others are for
reading. Of two objects that the code calls the same, each gets a number: "Account.lock#1".
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from msgspec.structs import replace

from omni_ipc.records import Access, Failure, FailureKind, Field, Step, Trace
from omni_ipc.testbed.explain.conflicts import orders
from omni_ipc.testbed.locations import root

_OURS = (FailureKind.DEADLOCK, FailureKind.LOST_WAKEUP, FailureKind.LIVELOCK, FailureKind.LEAK)
"""Failures that the runtime puts into words; those of others are left as they are."""

_OF_A_FILE = re.compile(r"\bscenario:(?=\w)")  # how a file is loaded is of no interest


class Names:
    """What the code calls the objects of a trace."""

    def __init__(self, trace: Trace) -> None:
        self._names = _unambiguous(trace)
        names = "|".join(map(re.escape, sorted(self._names, key=len, reverse=True)))
        self._known = re.compile(rf"'[^']*'|(?<![\w.])(?:{names})(?!\w)") if names else None
        targets = _targets(trace)
        self._orders = {self.text(target): orders(target) for target in targets}
        waited = [] if trace.failure is None else [wait.target for wait in trace.failure.waits]
        self._waited = {
            self.text(wait): [self.text(name) for name in targets if name in wait.split()] for wait in waited
        }

    @property
    def known(self) -> dict[str, str]:
        """The names of the runtime, by those of the code."""
        return {called: name for name, called in self._names.items() if called != name}

    def orders(self, target: str) -> bool:
        """Tell what is there to order steps, such as a lock, from data."""
        return self._orders.get(target, False)

    def waited_for(self, wait: str) -> Sequence[str]:
        """Return what tasks use of that which one waits for: the condition of "a notification of condition1"."""
        return self._waited.get(wait, ())

    def text(self, text: str) -> str:
        """Put the names into a text of the runtime."""
        text = _OF_A_FILE.sub("", text)
        if self._known is None:
            return text
        return self._known.sub(lambda match: self._names.get(match[0], match[0]), text)  # in quotes are tasks and keys

    def trace(self, trace: Trace) -> Trace:
        """Return a trace to be read, and not to be replayed."""
        return replace(
            trace,
            steps=tuple(map(self._step, trace.steps)),
            pending=tuple(map(self._step, trace.pending)),
            causes=tuple(replace(cause, target=self.text(cause.target)) for cause in trace.causes),
            failure=None if trace.failure is None else self._failure(trace.failure),
        )

    def _step(self, step: Step) -> Step:
        return replace(
            step,
            fields={name: self._field(value) for name, value in step.fields.items()},
            accesses=tuple(map(self._access, step.accesses)),
            switch=None if step.switch is None else replace(step.switch, reason=self.text(step.switch.reason)),
        )

    def _access(self, access: Access) -> Access:
        """Name what is accessed, and, as what it is called, the whole object that it is a part of."""
        return replace(access, target=self.text(access.target), called=self.text(root(access.target)))

    def _field(self, value: Field) -> Field:
        return self.text(value) if isinstance(value, str) else value

    def _failure(self, failure: Failure) -> Failure:
        waits = tuple(replace(wait, target=self.text(wait.target)) for wait in failure.waits)
        if failure.kind not in _OURS:
            return replace(failure, waits=waits)
        details = tuple(map(self.text, failure.details))
        return replace(failure, message=self.text(failure.message), details=details, waits=waits)


def _unambiguous(trace: Trace) -> dict[str, str]:
    """Return what each object is called, by its name in the trace.

    One that is called by several names keeps that of an attribute. Of several called the same, those of an attribute
    get a number each, and variables keep the runtime's names: "first" and "second" are others for each caller.
    """
    names: dict[str, dict[str, None]] = defaultdict(dict)
    for access in _accesses(trace):
        if access.called is not None:
            names[root(access.target)][access.called] = None
    found = {name: called for name, all_called in names.items() if (called := _one_of(list(all_called))) is not None}
    of: dict[str, list[str]] = defaultdict(list)
    for name, called in found.items():
        of[called].append(name)
    numbered = {name: f"{called}#{of[called].index(name) + 1}" for name, called in found.items() if "." in called}
    return {name: called if len(of[called]) == 1 else numbered.get(name, name) for name, called in found.items()}


def _one_of(called: Sequence[str]) -> str | None:
    attribute = next((name for name in called if "." in name), None)
    return attribute or (called[0] if len(called) == 1 else None)


def _accesses(trace: Trace) -> Sequence[Access]:
    return [access for step in (*trace.steps, *trace.pending) for access in step.accesses]


def _targets(trace: Trace) -> Sequence[str]:
    named = [*(access.target for access in _accesses(trace)), *(cause.target for cause in trace.causes)]
    return list(dict.fromkeys(named))
