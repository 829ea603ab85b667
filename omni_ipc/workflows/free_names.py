"""Names beside those that are taken: what was found before is replaced by nothing."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path


def free_name(path: Path, *, same: Callable[[Path], bool] = lambda _: False) -> Path:
    """Give a path at which nothing lies: this one, or it with the first number that is free, as in "a-2.trace.json".

    Args:
        same: tells whether what lies at a path may be replaced.
    """
    ending = "".join(path.suffixes[-2:])
    stem = path.name.removesuffix(ending)
    numbered = (path.with_name(f"{stem}-{number}{ending}") for number in itertools.count(2))
    return next(each for each in itertools.chain([path], numbered) if not os.path.exists(each) or same(each))
