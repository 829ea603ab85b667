"""Finds accesses to one place that nothing orders, of those that may race at all.

A race orders what lies around it, as it will when it is a point: so of what follows from one race, nothing is reported.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import product

from omni_ipc.testbed.instrument.noting import Stretch
from omni_ipc.testbed.instrument.ordering import Ordering
from omni_ipc.testbed.kernel import Kernel

Place = tuple[Hashable, Hashable]
"""The object, by its id, and the part of it; or the module, and the variable."""

Key = tuple[int, int]
"""The site, and the object's id, as in `Notes`."""

Found = tuple[Place, int]
"""What an access is about, and the number of its site doubled, and one more if it writes."""


class _Past:
    """What one task did to one place so far.

    Attributes:
        last: step that ends the latest of it.
        closing: by group of accesses, the steps that end the stretches in which they were made.
    """

    __slots__ = ("closing", "last")

    def __init__(self) -> None:
        self.last = 0
        self.closing: dict[int, list[int]] = defaultdict(list)


class Unordered:
    """Goes through a run in time, and holds what a task does against what others did before.

    Most stretches do what another one did: so what a stretch does to one place is known as a group, by number.

    Args:
        suspects: accesses that may race.
        marked: by site, whether accesses there are points.

    Attributes:
        races: sites of those found so far.
    """

    def __init__(self, kernel: Kernel, suspects: Mapping[Key, Found], marked: bytearray) -> None:
        self.races: set[int] = set()
        self._ordering = Ordering(kernel)
        self._marked = marked
        self._found = list(suspects.values())
        self._numbers = {key: number for number, key in enumerate(suspects)}
        self._pasts: dict[Place, dict[int, _Past]] = defaultdict(lambda: defaultdict(_Past))
        self._groups: list[list[int]] = []
        self._sorted: dict[tuple[int | None, ...], list[tuple[dict[int, _Past], int]]] = {}

    def go_through(self, stretches: Iterable[Stretch]) -> set[int]:
        """Return the sites of races."""
        number, known = self._numbers.get, self._sorted
        for task, depth, notes in stretches:
            done = tuple(map(number, notes))
            groups = known[done] if done in known else self._sort(done)
            if groups:
                self._meet(task.index, depth, groups)
        return self.races

    def _sort(self, done: tuple[int | None, ...]) -> list[tuple[dict[int, _Past], int]]:
        """Sort what a stretch does by place."""
        by_place: dict[Place, list[int]] = {}
        for place, access in (self._found[number] for number in done if number is not None):
            by_place.setdefault(place, []).append(access)
        first = len(self._groups)
        self._groups += by_place.values()
        groups = self._sorted[done] = [(self._pasts[place], first + more) for more, place in enumerate(by_place)]
        return groups

    def _meet(self, task: int, depth: int, groups: Sequence[tuple[dict[int, _Past], int]]) -> None:
        ordering = self._ordering
        ordering.advance(depth)
        closing, before = ordering.closing(task, depth), ordering.before
        for pasts, group in groups:
            for other, past in pasts.items():
                if other != task and not before[task] >> past.last & 1:
                    self._judge(task, past, self._groups[group])
            past = pasts[task]
            past.last = closing
            past.closing[group].append(closing)

    def _judge(self, task: int, past: _Past, here: Sequence[int]) -> None:
        """Hold what a task does to a place against what another one did: all of it that does not come before."""
        before = self._ordering.before
        for group, closing in past.closing.items():
            if before[task] >> closing[-1] & 1:
                continue  # and so does all that it did earlier
            pairs = [pair for pair in product(self._groups[group], here) if self._can_race(*pair)]
            if pairs:  # all of them: once one is a point, what lies behind it in the stretch still races
                self.races |= {access >> 1 for pair in pairs for access in pair}
                before[task] |= sum(1 << step for step in set(closing))

    def _can_race(self, earlier: int, access: int) -> bool:
        """Tell whether two accesses to one place conflict; two points do so as steps, which is seen to elsewhere."""
        return bool((earlier | access) & 1) and not (self._marked[earlier >> 1] and self._marked[access >> 1])
