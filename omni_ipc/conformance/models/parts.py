"""Text that is cut at the beginnings of its parts: sections of a cfg, assignments, variables of a state."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator


def parts(beginning: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], str]]:
    """Give each beginning with what stands behind it, up to the next one; there may be none."""
    for start, after in itertools.pairwise([*beginning.finditer(text), None]):
        assert start is not None, "only the last one is none, and it is no start"
        yield start, text[start.end() : after.start() if after else len(text)]
