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
from collections.abc import Hashable, Sequence
from itertools import product
from typing import Any

from omni_ipc.testbed.instrument.effects import ALL, Effects
from omni_ipc.testbed.instrument.inherited import note_inherited
from omni_ipc.testbed.instrument.noting import Notes, Stretch, Unkept
from omni_ipc.testbed.instrument.sites import SITES, Kind
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.orders import Repeats, bits_of

Place = tuple[Hashable, Hashable]
"""The object, by its id, and the part of it; or the module, and the variable."""

Noted = dict[Place, list[int]]
"""What a stretch did to what: for each access its site's number doubled, and one more if it writes."""


_Found = tuple[str | None, str | None, int]
"""The module that has it, if it is a global; the part; and the access."""


class Judge:
    """Finds races in runs.

    Args:
        marked: by site, whether accesses there are points.
        inherits: gets the sites at which attributes of classes are read through what inherits them.
    """

    def __init__(self, effects: Effects, marked: bytearray, inherits: set[int]) -> None:
        self._inherits = inherits
        self._effects = effects
        self._marked = marked
        self._kinds: list[type | None] = [None] * len(marked)  # by site: the type that was seen there last
        self._found: list[_Found | None] = [None] * len(marked)  # and what is done to it there
        self._harmless = Repeats()

    def races(self, kernel: Kernel, schedule: int, stretches: Sequence[Stretch]) -> set[int]:
        """Return the sites of accesses that nothing orders, in a run that is over; where all are points, none is.

        Args:
            schedule: the number of the run's schedule: what comes again is not judged again.
        """
        if self._harmless.meet(schedule):
            return set()
        found = self._judge(kernel, stretches)
        if found:
            self._harmless.clear()
        return found

    def _judge(self, kernel: Kernel, stretches: Sequence[Stretch]) -> set[int]:
        note_inherited(stretches, self._inherits)
        shared = _shared(stretches)
        if not shared:
            return set()
        changed: set[Place] = set()
        noted = [self._sort(stretch.notes, shared, changed, {}) for stretch in stretches]
        unmarked = set().union(*noted)
        beside = {owner for owner, _ in unmarked}
        for stretch, places in zip(stretches, noted, strict=True):
            if stretch.points:
                self._sort(stretch.points, beside, changed, places)
        if self._effects.uses_wholes:
            noted, changed, unmarked = _widen(noted, changed, unmarked)
        changed &= unmarked
        return _Order(kernel, stretches, self._marked).races(noted, changed) if changed else set()

    def _sort(self, notes: Notes, shared: set[Any], changed: set[Place], noted: Noted) -> Noted:
        """Add the accesses to what is shared, by what they are about; take note of what they change."""
        kinds, finds = self._kinds, self._found
        for (site, value_id), value in notes.items():
            if value_id not in shared:
                continue
            found = finds[site] if kinds[site] is type(value) else self._find(site, value)
            if found is None:
                continue
            owner, part, access = found
            place = (value_id if owner is None else owner, part)
            here = noted.get(place)
            if here is None:
                noted[place] = [access]
            else:
                here.append(access)
            if access & 1:
                changed.add(place)
        return noted

    def _find(self, site: int, value: object) -> _Found | None:
        where, kind = SITES[site], value.kind if isinstance(value, Unkept) else type(value)
        found: _Found | None = None
        if where.kind in (Kind.GLOBAL, Kind.CELL):
            found = where.module if where.kind is Kind.GLOBAL else None, where.name, site * 2 + where.writes
        elif (use := self._effects.use(site, where, kind)) is not None:
            found = None, use.part, site * 2 + use.writes
        if not isinstance(value, Unkept):
            self._kinds[site], self._found[site] = kind, found
        return found


def _shared(stretches: Sequence[Stretch]) -> set[int]:
    """Return the ids of the objects that more than one task used; globals are all one."""
    used: dict[int, set[int]] = defaultdict(set)
    for stretch in stretches:
        here = used[stretch.task.index]
        here.update([value for _, value in stretch.notes])
        if stretch.points:
            here.update([value for _, value in stretch.points])
    seen: set[int] = set()
    shared: set[int] = set()
    for values in used.values():
        shared |= seen & values
        seen |= values
    return shared


def _widen(
    noted: Sequence[Noted], changed: set[Place], unmarked: set[Place]
) -> tuple[list[Noted], set[Place], set[Place]]:
    """Take an attribute for all of its object's, if something uses any of them."""
    wholes = {owner for places in noted for owner, part in places if part == ALL}

    def wide(place: Place) -> Place:
        return (place[0], ALL) if place[0] in wholes else place

    widened: list[Noted] = []
    for places in noted:
        together: Noted = {}
        for place, accesses in places.items():
            together.setdefault(wide(place), []).extend(accesses)
        widened.append(together)
    return widened, set(map(wide, changed)), set(map(wide, unmarked))


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
        self._pasts: dict[Place, dict[int, list[tuple[int, list[int]]]]] = {}  # by task: which step ends that, and what

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

    def races(self, noted: Sequence[Noted], changed: set[Place]) -> set[int]:
        """Return the sites of races on what is changed, going through the run in time."""
        found: set[int] = set()
        step = 0
        for number, places in enumerate(noted):
            if not places:
                continue
            stretch = self._stretches[number]
            while step < stretch.depth:
                self._take(step)
                step += 1
            task, closing = stretch.task.index, self._closing[number]
            before = self._before.get(task, 0)
            for place, here in places.items():
                if place not in changed:
                    continue
                pasts = self._pasts.setdefault(place, {})
                for other, past in pasts.items():
                    if other != task and not before >> past[-1][0] & 1:
                        found |= self._judge(task, before, past, here)
                        before = self._before.get(task, 0)
                pasts.setdefault(task, []).append((closing, here))
        return found

    def _judge(self, task: int, before: int, past: list[tuple[int, list[int]]], here: list[int]) -> set[int]:
        """Hold what a task does to a place against what another one did: all of it that does not come before."""
        found: set[int] = set()
        for closing, earlier in reversed(past):
            if before >> closing & 1:
                break  # and so does all that it did earlier
            pairs = [pair for pair in product(earlier, here) if self._can_race(*pair)]
            if pairs:  # all of them: once one is a point, what lies behind it in the stretch still races
                found |= {access >> 1 for pair in pairs for access in pair}
                self._before[task] = self._before.get(task, 0) | 1 << closing
        return found

    def _can_race(self, earlier: int, access: int) -> bool:
        """Tell whether two accesses to one place conflict; two points do so as steps, which is seen to elsewhere."""
        return bool((earlier | access) & 1) and not (self._marked[earlier >> 1] and self._marked[access >> 1])

    def _take(self, step: int) -> None:
        """Order a step behind those that it conflicts with."""
        kernel = self._kernel
        task = kernel.tasks[self._steps[step]]
        reads, writes = kernel.read_log[step + 1], kernel.write_log[step + 1]
        ended = task.ended and self._last[task.index] == step
        if ended:
            writes &= ~task.bit  # its end is a step of its own here
        before = self._before.get(task.index, 0) | 1 << step
        for bit in bits_of(reads | writes):
            before |= self._writer.get(bit, 0)
            if bit & writes:
                before |= self._readers.get(bit, 0)
        for bit in bits_of(writes):
            self._writer[bit] = before
            self._readers.pop(bit, None)
        for bit in bits_of(reads & ~writes):
            self._readers[bit] = self._readers.get(bit, 0) | before
        self._before[task.index] = before
        for child in self._born[step]:
            self._before[child] = before
        if ended:
            self._writer[task.bit] = before | 1 << len(self._steps) + task.index
