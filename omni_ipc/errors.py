"""Every error of the project, split by who must act.

    OmniError
    ├── UsageError        (ValueError)    you called it wrong: change the call
    │   ├── UnknownName                   no such model, scenario, defect, ...: the nearest name is told
    │   └── EnvironmentMissing            Java, TLC, torch, CUDA, ...: the command that brings it is told
    ├── PeerError                         the other side: look there
    │   ├── PeerDied                      it ended; with its last sequence number and how it ended
    │   ├── PeerClosed                    it said goodbye
    │   ├── PeerFailed                    it answered with an error of its own
    │   └── DeviceLost                    a device answers this process no more, whatever it is asked
    ├── Full                              expected under load: retry, or wait longer
    ├── Timeout           (TimeoutError)  expected under load: retry, or wait longer
    ├── FormatError       (ValueError)    bytes disagree with the format: names the path inside them
    │   └── LaneBroken                    those of a lane: nothing more will come of it
    ├── ShutdownError                     the engine is going away: do not retry
    ├── Aborted                           you, or another caller, no longer wanted it
    ├── Inconclusive                      the question could not be answered: neither yes nor no
    └── InternalError                     our bug: please report it

A message says what happened with its values, where, and the literal next thing to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TypeVar

E = TypeVar("E", bound=BaseException)

_MOST_TOLD = 50


class OmniError(Exception):
    """Root of the tree; catch it to catch everything that omni_ipc raises on purpose."""


class UsageError(OmniError, ValueError):
    """The call, a file or an option is wrong."""


class UnknownName(UsageError):
    """A name is not in the table that it was looked up in; of a long one, the front parts of its names are told."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        known = sorted(known)
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        told = known if len(known) <= _MOST_TOLD else [front for front in known if "/" not in front] or known
        hint = f"Did you mean '{near[0]}'?" if near else f"Known: {', '.join(told) or 'none'}."
        super().__init__(f"There is no {kind} '{name}'. {hint}")


class EnvironmentMissing(UsageError):
    """This machine lacks something that the command needs."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what} {remedy}")
        self.what = what
        self.remedy = remedy


class PeerError(OmniError):
    """The other side of a lane did something, or ceased to."""


class PeerDied(PeerError):
    """The other side ended without saying goodbye.

    Args:
        peer: who.
        how: exit status or signal, as far as this process may know it.
        last_sequence: of a writer, the last record that it published; None if it published none.
        first_unread: of a reader, the first record that it did not take.
    """

    def __init__(
        self, peer: str, how: str, last_sequence: int | None = None, *, first_unread: int | None = None
    ) -> None:
        self.last_sequence = last_sequence
        self.first_unread = first_unread
        after = "" if last_sequence is None else f" after record {last_sequence}"
        kept = "what it had published before was delivered"
        if first_unread is not None:
            after, kept = f" before it took record {first_unread}", "that record and those behind it are lost"
        super().__init__(f"{peer} died{after}: {how}. Look at what it printed; {kept}.")


class PeerClosed(PeerError):
    """The other side closed the lane in good order; nothing more will come."""


class PeerFailed(PeerError):
    """The other side could not do what it was asked, and sent its error instead."""


class DeviceLost(PeerError):
    """A device answers this process no more; another process may find it well.

    Args:
        device: torch's name of it.
        answer: what it said to a question that it always answers.
    """

    def __init__(self, device: str, answer: str) -> None:
        super().__init__(
            f"{device} answers this process no more: {answer}. Look at the first error that was told of it: its kernel "
            "is named if the worker runs with CUDA_LAUNCH_BLOCKING=1. Start the engine anew."
        )


class Full(OmniError):
    """No room came free within the caller's timeout; nothing was written."""


class Timeout(OmniError, TimeoutError):
    """Nothing arrived within the caller's timeout; nothing was consumed."""


class FormatError(OmniError, ValueError):
    """Received bytes disagree with the format; they were neither executed nor delivered."""


class LaneBroken(FormatError):
    """The bytes of a lane disagree with the format, so that nothing behind them can be trusted either."""


class ShutdownError(OmniError):
    """The engine is shutting down, or has shut down; the work was not done."""


class Aborted(OmniError):
    """The request was aborted, or its stream was closed; its output is gone."""


class Inconclusive(OmniError):
    """A check could not be carried out as meant, so it says neither yes nor no."""


class InternalError(OmniError):
    """An invariant of omni_ipc itself is broken."""


def anew(error: E) -> E:
    """Give a kept error once more, to be raised.

    One that is raised itself, again and again, gathers the frames of everybody who raised it, and keeps what they hold:
    arrays of requests and outputs.
    """
    copy = error.__class__.__new__(error.__class__, *error.args)
    copy.__dict__.update(error.__dict__)
    copy.__cause__ = error.__cause__
    return copy
