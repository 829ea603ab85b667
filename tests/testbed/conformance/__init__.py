"""What the standard library does, case by case: each is a function that says by its result what it saw.

A case uses the library as anybody would, takes a few hundredths of a second at most, and comes to the same result in
every schedule.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.testbed.conformance import clocks, executors, futures, locks, queues, threads, waits

Case = Callable[[], object]

CASES: dict[str, Case] = {
    f"{module.__name__.rpartition('.')[2]}.{name}": case
    for module in (clocks, executors, futures, locks, queues, threads, waits)
    for name, case in vars(module).items()
    if callable(case) and getattr(case, "__module__", None) == module.__name__ and not name.startswith("_")
    if not isinstance(case, type)
}
"""Name -> case; what begins with an underscore helps, and is none."""
