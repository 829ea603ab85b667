"""Finds accesses that nothing orders: two tasks use the same thing, one of them changes it, and either could be first.

A run's steps are ordered as far as they conflict. What a task does behind a step comes before another task's step if
its own next step does, and before what that task does then. Two accesses, of which one writes, that are not ordered in
this way, are a race, and become points. Where there is none in any schedule of these points, none is hidden: code
between them could be interleaved in no other way that makes a difference.

A race orders what lies around it, as it will when it is a point: so of what follows from one race, nothing is reported.

Sources: L. Lamport, "Time, clocks, and the ordering of events in a distributed system", 1978. M. Musuvathi et al.,
"Finding and reproducing Heisenbugs in concurrent programs", OSDI 2008: points at synchronization only, plus races.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from itertools import groupby, product
from typing import NamedTuple

from omni_ipc.testbed.instrument.effects import ALL, Effects
from omni_ipc.testbed.instrument.sites import SITES, Kind
from omni_ipc.testbed.instrument.tracker import Stretch, Unkept
from omni_ipc.testbed.kernel import Kernel

Place = tuple[Hashable, Hashable]


class Noted(NamedTuple):
    """An access: in which stretch, at which site."""

    stretch: int
    site: int
    writes: bool


def find_races(kernel: Kernel, stretches: Sequence[Stretch], effects: Effects, marked: bytearray) -> set[int]:
    """Return the sites of accesses that nothing orders, in a run that is over; where all are points, none is left."""
    shared = _shared(stretches)
    if not shared:
        return set()
    noted = {
        place: accesses
        for place, accesses in _noted(stretches, shared, effects).items()
        if not all(marked[access.site] for access in accesses)
    }
    return _Order(kernel, stretches, marked).races(noted) if noted else set()


def _shared(stretches: Sequence[Stretch]) -> set[int]:
    """Return the ids of the objects that more than one task used; 0 for globals, whose object does not matter."""
    used: dict[int, set[int]] = defaultdict(set)
    for stretch in stretches:
        used[stretch.task.index].update([value for _, value in stretch.notes])
    seen: set[int] = set()
    shared: set[int] = set()
    for values in used.values():
        shared |= seen & values
        seen |= values
    return shared


def _noted(stretches: Sequence[Stretch], shared: set[int], effects: Effects) -> dict[Place, list[Noted]]:
    """Sort accesses by what they are about; what only one task uses, or nobody changes, is left out."""
    places: dict[Place, list[Noted]] = defaultdict(list)
    for number, stretch in enumerate(stretches):
        for (site, value_id), value in stretch.notes.items():
            if value_id in shared and (place := _place(site, value, value_id, effects)) is not None:
                places[place[0]].append(Noted(number, site, place[1]))
    for owner in [owner for owner, part in places if part == ALL]:
        _join(places, owner)
    return {
        place: accesses
        for place, accesses in places.items()
        if any(access.writes for access in accesses)
        and len({stretches[access.stretch].task.index for access in accesses}) > 1
    }


def _join(places: dict[Place, list[Noted]], owner: Hashable) -> None:
    """Put all attributes of an object together, because something uses any of them."""
    parts = [place for place in places if place[0] == owner and place[1] is not None]
    places[owner, ALL] = sorted(access for part in parts for access in places.pop(part))


def _place(site: int, value: object, value_id: int, effects: Effects) -> tuple[Place, bool] | None:
    where = SITES[site]
    if where.kind is Kind.GLOBAL:
        return (where.module, where.name), where.writes
    if where.kind is Kind.CELL:
        return (value_id, None), where.writes
    kind = value.kind if isinstance(value, Unkept) else type(value)
    use = effects.use(site, where, kind)
    return None if use is None else ((value_id, use.part), use.writes)


class _Order:
    """What comes before what in a run.

    Args:
        stretches: of all tasks, in time.
        marked: by site, whether accesses there are points.
    """

    def __init__(self, kernel: Kernel, stretches: Sequence[Stretch], marked: bytearray) -> None:
        self._kernel = kernel
        self._marked = marked
        self._stretches = stretches
        self._steps = kernel.order[: kernel.depth]
        self._before: dict[int, int] = {}  # by task: the steps that come before what it does now, as a set of bits
        self._writer: dict[int, int] = {}  # by bit of an object: the steps before its last write, and that one
        self._readers: dict[int, int] = {}
        self._last = {task: step for step, task in enumerate(self._steps)}
        self._born: dict[int, list[int]] = defaultdict(list)
        for task, step in kernel.births.items():
            self._born[step].append(task)
        self._closing = self._find_closing()

    def _find_closing(self) -> list[int]:
        """For each stretch, find the step that ends it: its task's next one, or, if there is none, its end."""
        upcoming: dict[int, int] = {}
        closing = [0] * len(self._stretches)
        step = len(self._steps)
        for number in range(len(self._stretches) - 1, -1, -1):
            stretch = self._stretches[number]
            while step > stretch.depth:
                step -= 1
                upcoming[self._steps[step]] = step
            closing[number] = upcoming.get(stretch.task.index, len(self._steps) + stretch.task.index)
        return closing

    def races(self, places: dict[Place, list[Noted]]) -> set[int]:
        """Return the sites of races, going through the run in time."""
        by_stretch: dict[int, list[Place]] = defaultdict(list)
        for place, accesses in places.items():
            for number in dict.fromkeys(access.stretch for access in accesses):
                by_stretch[number].append(place)
        found: set[int] = set()
        step = 0
        for number in sorted(by_stretch):
            while step < self._stretches[number].depth:
                self._take(step)
                step += 1
            for place in by_stretch[number]:
                found |= self._judge(number, places[place])
        return found

    def _judge(self, number: int, accesses: list[Noted]) -> set[int]:
        """Hold the accesses of a stretch to one place against those before."""
        task = self._stretches[number].task.index
        here = [access for access in accesses if access.stretch == number]
        before = self._before.get(task, 0)
        found: set[int] = set()
        for stretch, earlier in groupby(accesses, lambda access: access.stretch):
            if stretch >= number:
                break
            if self._stretches[stretch].task.index == task or before >> self._closing[stretch] & 1:
                continue
            pairs = [pair for pair in product(earlier, here) if self._can_race(*pair)]
            if pairs:  # all of them: once one is a point, what lies behind it in the stretch still races
                found |= {access.site for pair in pairs for access in pair}
                before |= 1 << self._closing[stretch]
        if found:
            self._before[task] = before
        return found

    def _can_race(self, earlier: Noted, access: Noted) -> bool:
        """Tell whether two accesses to one place conflict; two points do so as steps, which is seen to elsewhere."""
        points = self._marked[earlier.site] and self._marked[access.site]
        return (earlier.writes or access.writes) and not points

    def _take(self, step: int) -> None:
        """Order a step behind those that it conflicts with."""
        kernel = self._kernel
        task = kernel.tasks[self._steps[step]]
        reads, writes = kernel.read_log[step + 1], kernel.write_log[step + 1]
        ended = task.ended and self._last[task.index] == step
        if ended:
            writes &= ~task.bit  # its end is a step of its own here
        before = self._before.get(task.index, 0) | 1 << step
        for bit in _bits(reads | writes):
            before |= self._writer.get(bit, 0)
            if bit & writes:
                before |= self._readers.get(bit, 0)
        for bit in _bits(writes):
            self._writer[bit] = before
            self._readers.pop(bit, None)
        for bit in _bits(reads & ~writes):
            self._readers[bit] = self._readers.get(bit, 0) | before
        self._before[task.index] = before
        for child in self._born[step]:
            self._before[child] = before
        if ended:
            self._writer[task.bit] = before | 1 << len(self._steps) + task.index


def _bits(mask: int) -> Iterator[int]:
    while mask:
        bit = mask & -mask
        yield bit
        mask ^= bit
