"""Values as short texts, the same in every process."""

from __future__ import annotations

import re
import reprlib

_LONGEST = 120
_ADDRESS = re.compile(r"(<[^<>]*?) at 0x[0-9a-fA-F]+")
_IN_MESSAGE = re.compile(r" at 0x[0-9a-f]+")


class _Brief(reprlib.Repr):
    """Sorts sets and mappings, and leaves out what is long or deep."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxstring = self.maxother = self.maxlong = 60

    def repr_instance(self, x: object, level: int) -> str:
        try:
            text = _ADDRESS.sub(r"\1", repr(x))
        except BaseException as error:  # of somebody else's code, which may be in the middle of a change
            return _mute(x, error)
        if len(text) > self.maxother:
            text = f"{text[: self.maxother - 1]}…"
        return text


_BRIEF = _Brief()


def in_full(value: object) -> str:
    """Write a value as it writes itself, but without addresses; say so if it cannot."""
    if value is None:  # as most often
        return "None"
    try:
        return _ADDRESS.sub(r"\1", repr(value))
    except BaseException as error:
        return _mute(value, error)


def say_error(error: BaseException) -> str:
    """Write an exception as Python would: class and message; say so if the message cannot be had."""
    kind = type(error).__name__
    try:
        text = _IN_MESSAGE.sub("", str(error))  # so that the same failure has the same text in every run
    except BaseException as unsaid:
        return f"{kind}, whose message cannot be shown: {_name_of(unsaid)}"
    return f"{kind}: {text}" if text else kind


def _mute(value: object, error: BaseException) -> str:
    return f"<{type(value).__name__}, which cannot be shown: {_name_of(error)}>"


def _name_of(error: BaseException) -> str:
    """Name what came in place of a text, whatever it was: only Ctrl-C is meant for somebody else."""
    if isinstance(error, KeyboardInterrupt):
        raise error
    return type(error).__name__


def brief(value: object) -> str:
    """Write a value as Python would, in one line that is not endless, and without addresses."""
    text = " ".join(_BRIEF.repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
