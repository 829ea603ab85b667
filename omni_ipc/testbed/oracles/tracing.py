"""Whether somebody counts lines in a way that goes wrong where tasks are switched within one thread."""

from __future__ import annotations

import sys

_TOLD = (
    "coverage.py traces this process as if each thread had one stack, and tasks under control are greenlets: what it "
    'says of their lines is not true. Tell it so: concurrency = ["thread", "greenlet"] under [tool.coverage.run].'
)


def told() -> tuple[str, ...]:
    """Say, in a sentence, what coverage.py must know to count lines truly, unless it does."""
    coverage = sys.modules.get("coverage")
    measuring = None if coverage is None or sys.gettrace() is None else coverage.Coverage.current()
    if measuring is None or "greenlet" in (measuring.get_option("run:concurrency") or ()):
        return ()
    return (_TOLD,)
