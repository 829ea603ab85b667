"""Sites: the places in instrumented code at which state is accessed."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from omni_ipc.testbed.standard.announcing import CONTENT, FILLED


class Kind(enum.Enum):
    """What is accessed at a site, and how."""

    ATTRIBUTE = "field"  # obj.name
    ITEM = "item"  # obj[key]
    METHOD = "call"  # obj.name(...): by the method's effect
    ARGUMENT = "argument"  # f(obj): by the function's effect
    BY_NAME = "by name"  # getattr(obj, "name"), next(obj), ...: of the first argument
    VALUE = "value"  # bool(obj), obj + obj, [*obj], f"{obj}": reads all of it, if it is a container
    MEMBER = "member"  # key in obj
    INSIDE = "run"  # of a generator, a coroutine, or a function behind a cache, between its beginning and its end
    STEP = "iteration"  # one step of a loop over obj, or await obj
    CELL = "variable"  # of an enclosing function
    GLOBAL = "global"


class Site(NamedTuple):
    """One place.

    Args:
        module, qualname, line: where it is.
        name: of the attribute, method, function or variable.
        writes: whether it changes what it accesses; of calls, the effect says so.
        outer: a method is looked up behind the object's own class, by ``super()``.
    """

    kind: Kind
    module: str
    qualname: str
    line: int
    name: str
    writes: bool = False
    outer: bool = False


class Sites(list[Site]):
    """All sites of this process; rewritten code knows them by number."""

    def add(self, site: Site) -> int:
        self.append(site)
        return len(self) - 1

    def names(self, numbers: Iterable[int]) -> dict[int, str]:
        """Name sites so that they are found again after an edit elsewhere: not by their lines."""
        seen: Counter[str] = Counter()
        names: dict[int, str] = {}
        for number in numbers:
            site = self[number]
            text = f"{site.module}:{site.qualname} {site.kind.value}{' =' if site.writes else ''} {site.name}"
            seen[text] += 1
            names[number] = text if seen[text] == 1 else f"{text} ({seen[text]})"
        return names


SITES = Sites()
READ_BY_C = SITES.add(Site(Kind.ARGUMENT, "C", "", 0, "deepcopy"))
CHANGED_BY_C = SITES.add(Site(Kind.ARGUMENT, "C", "", 0, ""))
"""Stand for all places at which a function of C looks into what other C code hands to it, or changes it."""
BY_LIBRARY = {
    (name, writes): SITES.add(Site(Kind.ATTRIBUTE, "library", "", 0, name, writes))
    for name in (
        *("stdin", "stdout", "stderr", "filters", "showwarning", "_warnings_showwarning", "_data"),
        *("level", "disabled", "_disable", "handlers", "propagate", "formatter"),
    )
    for writes in (False, True)
}
BY_LIBRARY[CONTENT, False] = SITES.add(Site(Kind.ARGUMENT, "library", "", 0, "deepcopy"))
BY_LIBRARY[CONTENT, True] = BY_LIBRARY[FILLED, False] = SITES.add(Site(Kind.ARGUMENT, "library", "", 0, ""))
"""Stand for all places at which the standard library looks at what it keeps for the whole process, or changes it: by
attribute, and whether it is changed; see `standard.announcing`."""
RUN_BY_LOOP = SITES.add(Site(Kind.INSIDE, "asyncio", "", 0, "coroutine"))
"""Stands for all steps in which event loops let coroutines run."""
