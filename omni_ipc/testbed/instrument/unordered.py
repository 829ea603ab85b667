"""Finds accesses to one place that nothing orders, of those that may race at all.

A race orders what lies around it, as it will when it is a point: so of what follows from one race, nothing is reported.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from itertools import product

from omni_ipc.testbed.instrument.noting import Stretch
from omni_ipc.testbed.instrument.ordering import Clock, Ordering
from omni_ipc.testbed.kernel import Kernel

Place = tuple[Hashable, Hashable]
"""The object, by its id, and the part of it; or the module, and the variable."""

Key = tuple[int, int]
"""The site, and the object's id, as in `Notes`."""

Found = tuple[Place, int]
"""What an access is about, and the number of its site doubled, and one more if it writes."""


class Unordered:
    """Goes through a run in time, and holds what a task does against what others did before.

    Most stretches do what another one did: so what they do is known by kinds, and of two kinds, where they race.

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
        self._suspects = suspects
        self._kinds: dict[tuple[Key, ...], _Kind] = {}
        self._racing: dict[tuple[_Kind, _Kind], dict[Place, set[int]]] = {}  # as far as anybody has asked
        self._done: dict[int, dict[_Kind, int]] = defaultdict(dict)  # by task, which of its steps ended a kind last

    def go_through(self, stretches: Iterable[Stretch]) -> set[int]:
        """Return the sites of races."""
        kinds, ordering = self._kinds, self._ordering
        for task, depth, notes in stretches:
            keys = tuple(notes)
            kind = kinds.get(keys) or self._sort(keys)
            if kind.places:
                ordering.advance(depth)
                self._meet(task.index, kind)
        ordering.close()
        return self.races

    def _sort(self, keys: tuple[Key, ...]) -> _Kind:
        """Sort what stretches of a kind do by place."""
        kind = self._kinds[keys] = _Kind()
        for place, access in (self._suspects[key] for key in keys if key in self._suspects):
            kind.places.setdefault(place, []).append(access)
        return kind

    def _meet(self, task: int, kind: _Kind) -> None:
        clock = self._ordering.clocks[task]
        for other, done in self._done.items():
            if other != task:
                known = clock[other]
                for earlier, closing in done.items():
                    if closing > known and self._races(earlier, kind):
                        self._judge(clock, other, done, kind)
        self._done[task][kind] = clock[task] + 1

    def _judge(self, clock: Clock, other: int, done: Mapping[_Kind, int], kind: _Kind) -> None:
        """Hold what a task does, place by place, against what another one did: all of it that does not come before."""
        for place in kind.places:
            for earlier, closing in done.items():
                if closing > clock[other] and (sites := self._races(earlier, kind).get(place)):
                    self.races |= sites
                    clock[other] = closing

    def _races(self, earlier: _Kind, kind: _Kind) -> Mapping[Place, set[int]]:
        """Return, by place, the sites of what two kinds do there in conflict, if nothing orders them.

        It is all of them: once one is a point, what lies behind it in the stretch still races.
        """
        known = self._racing.get((earlier, kind))
        if known is None:
            known = self._racing[earlier, kind] = {
                place: {access >> 1 for pair in pairs for access in pair}
                for place, here in kind.places.items()
                if (pairs := [pair for pair in product(earlier.places.get(place, ()), here) if self._can_race(*pair)])
            }
        return known

    def _can_race(self, earlier: int, access: int) -> bool:
        """Tell whether two accesses to one place conflict; two points do so as steps, which is seen to elsewhere."""
        return bool((earlier | access) & 1) and not (self._marked[earlier >> 1] and self._marked[access >> 1])


class _Kind:
    """What stretches of a kind do.

    Attributes:
        places: the accesses to each place, in the order in which they are made.
    """

    __slots__ = ("places",)

    def __init__(self) -> None:
        self.places: dict[Place, list[int]] = {}
