"""Values as short texts, the same in every process."""

from __future__ import annotations

import re
import reprlib

_LONGEST = 120
_ADDRESS = re.compile(r"(<[^<>]*?) at 0x[0-9a-fA-F]+")


class _Brief(reprlib.Repr):
    """Sorts sets and mappings, and leaves out what is long or deep."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxstring = self.maxother = self.maxlong = 60

    def repr_instance(self, x: object, level: int) -> str:
        try:
            text = _ADDRESS.sub(r"\1", repr(x))
        except Exception as error:  # of somebody else's code, which may be in the middle of a change
            return f"<{type(x).__name__}, which cannot be shown: {type(error).__name__}>"
        if len(text) > self.maxother:
            text = f"{text[: self.maxother - 1]}…"
        return text


_BRIEF = _Brief()


def brief(value: object) -> str:
    """Write a value as Python would, in one line that is not endless, and without addresses."""
    text = " ".join(_BRIEF.repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
