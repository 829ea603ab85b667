"""The numbers in the manifest, renewed in its own text, which people write and lay out."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from omni_ipc.errors import UsageError

_DECODER = json.JSONDecoder()


class Numbers(NamedTuple):
    """What TLC counted in a model."""

    distinct_states: int | None  # None: the manifest says none of a model that fails
    depth: int | None


def renewed(text: str, model: str, numbers: Numbers) -> str:
    """Put the numbers of one model into the manifest's text; a depth only where there is one already.

    Raises:
        UsageError: the model has no entry of its own in the text.
    """
    start = re.search(rf'\{{\s*"name":\s*{re.escape(json.dumps(model))}', text)
    if start is None:
        raise UsageError(f"The manifest has no entry that begins with the name {model}. Put the name first in it.")
    entry, end = _DECODER.raw_decode(text, start.start())
    old = new = text[start.start() : end]
    if numbers.depth is not None and "depth" in entry.get("expect", {}):
        new = re.sub(r'("depth":\s*)\d+', rf"\g<1>{numbers.depth}", new)
    if numbers.distinct_states is not None:
        if "distinctStates" in entry:
            new = re.sub(r'("distinctStates":\s*)\d+', rf"\g<1>{numbers.distinct_states}", new)
        else:
            new = f'{new[:-1].rstrip()}, "distinctStates": {numbers.distinct_states}}}'
    return text[: start.start()] + new + text[start.start() + len(old) :]
