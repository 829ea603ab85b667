"""Finds accesses that nothing orders: two tasks use the same thing, one of them changes it, and either could be first.

Two accesses, of which one writes, that nothing orders, are a race, and become points. Where there is none in any
schedule of these points, none is hidden: code between them could be interleaved in no other way that makes a
difference.

A race orders what lies around it, as it will when it is a point: so of what follows from one race, nothing is reported.

Source: M. Musuvathi et al., "Finding and reproducing Heisenbugs in concurrent programs", OSDI 2008: points at
synchronization only, plus races.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import product

from omni_ipc.testbed.instrument.effects import ALL, Effects
from omni_ipc.testbed.instrument.inherited import note_inherited
from omni_ipc.testbed.instrument.noting import Notes, Stretch, Unkept
from omni_ipc.testbed.instrument.ordering import Ordering
from omni_ipc.testbed.instrument.sites import SITES, Kind
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.orders import Repeats

Place = tuple[Hashable, Hashable]
"""The object, by its id, and the part of it; or the module, and the variable."""

Key = tuple[int, int]
"""The site, and the object's id, as in `Notes`."""

Found = tuple[Place, int]
"""What an access is about, and the number of its site doubled, and one more if it writes."""

_Done = tuple[str | None, str | None, int]
"""What is done at a site: the module that has the variable, if it is a global; the part; and the access."""


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
        self._done: dict[tuple[int, type], _Done | None] = {}
        self._harmless = Repeats()

    def races(self, kernel: Kernel, stretches: Sequence[Stretch]) -> set[int]:
        """Return the sites of accesses that nothing orders, in a run that is over; where all are points, none is."""
        if self._harmless.meet(kernel.order[: kernel.depth], kernel.read_log, kernel.write_log):
            return set()
        found = self._judge(kernel, stretches)
        if found:
            self._harmless.clear()
        return found

    def _judge(self, kernel: Kernel, stretches: Sequence[Stretch]) -> set[int]:
        used = _used(stretches)
        if len(used) < 2:
            return set()
        if note_inherited(stretches, used, self._inherits):
            used = _used(stretches)
        suspects = self._suspects(used)
        return _find(kernel, stretches, suspects, self._marked) if suspects else set()

    def _suspects(self, used: Sequence[Notes]) -> dict[Key, Found]:
        """Return the accesses that may race, of what each task did in the whole run.

        To most of what tasks use no two of them come, or nobody changes it: nothing more is done about that.
        """
        shared = _shared(used)
        found = [self._sort(notes, shared) for notes in used]
        if self._effects.uses_wholes:
            found = _widen(found)
        users: dict[Place, int] = defaultdict(int)
        changed: set[Place] = set()
        unmarked: set[Place] = set()
        for accesses in found:
            for place in {place for place, _ in accesses.values()}:
                users[place] += 1
            changed |= {place for place, access in accesses.values() if access & 1}
            unmarked |= {place for place, access in accesses.values() if not self._marked[access >> 1]}
        suspect = {place for place in changed & unmarked if users[place] > 1}
        return {key: found for accesses in found for key, found in accesses.items() if found[0] in suspect}

    def _sort(self, notes: Notes, shared: set[int]) -> dict[Key, Found]:
        """Find what is done to what is shared."""
        found: dict[Key, Found] = {}
        for key, value in notes.items():
            site, value_id = key
            if value_id not in shared:
                continue
            done = self._done_at(site, value.kind if isinstance(value, Unkept) else type(value))
            if done is not None:
                owner, part, access = done
                found[key] = (value_id if owner is None else owner, part), access
        return found

    def _done_at(self, site: int, kind: type) -> _Done | None:
        if (site, kind) not in self._done:
            self._done[site, kind] = self._find_done(site, kind)
        return self._done[site, kind]

    def _find_done(self, site: int, kind: type) -> _Done | None:
        where = SITES[site]
        if where.kind in (Kind.GLOBAL, Kind.CELL):
            return where.module if where.kind is Kind.GLOBAL else None, where.name, site * 2 + where.writes
        use = self._effects.use(site, where, kind)
        return None if use is None else (None, use.part, site * 2 + use.writes)


def _used(stretches: Sequence[Stretch]) -> list[Notes]:
    """Put together what each task used in the whole run."""
    used: dict[int, Notes] = defaultdict(dict)
    for stretch in stretches:
        here = used[stretch.task.index]
        here.update(stretch.notes)
        if stretch.points:
            here.update(stretch.points)
    return list(used.values())


def _shared(used: Iterable[Notes]) -> set[int]:
    """Return the ids of the objects that more than one task used; globals are all one."""
    seen: set[int] = set()
    shared: set[int] = set()
    for notes in used:
        values = {value for _, value in notes}
        shared |= seen & values
        seen |= values
    return shared


def _widen(found: Sequence[Mapping[Key, Found]]) -> list[dict[Key, Found]]:
    """Take an attribute for all of its object's, if something uses any of them."""
    wholes = {owner for accesses in found for (owner, part), _ in accesses.values() if part == ALL}
    return [
        {
            key: ((owner, ALL) if owner in wholes else (owner, part), access)
            for key, ((owner, part), access) in accesses.items()
        }
        for accesses in found
    ]


def _find(kernel: Kernel, stretches: Sequence[Stretch], suspects: Mapping[Key, Found], marked: bytearray) -> set[int]:
    """Go through a run in time, and return the sites of races."""
    ordering = Ordering(kernel)
    pasts = _Pasts(ordering, marked)
    for stretch in stretches:
        done = [suspects[key] for key in stretch.notes if key in suspects]
        if stretch.points:
            done += [suspects[key] for key in stretch.points if key in suspects]
        if done:
            ordering.advance(stretch.depth)
            pasts.meet(stretch, done)
    return pasts.races


class _Pasts:
    """What was done to each place so far, by task: which step ends that, and the accesses.

    Args:
        marked: by site, whether accesses there are points.

    Attributes:
        races: sites of those found so far.
    """

    def __init__(self, ordering: Ordering, marked: bytearray) -> None:
        self.races: set[int] = set()
        self._ordering = ordering
        self._marked = marked
        self._by_place: dict[Place, dict[int, list[tuple[int, list[int]]]]] = defaultdict(dict)

    def meet(self, stretch: Stretch, done: Sequence[Found]) -> None:
        """Hold what a task does in a stretch against what others did before, and take note of it."""
        task = stretch.task.index
        before, closing = self._ordering.before, self._ordering.closing(task, stretch.depth)
        here: dict[Place, list[int]] = {}
        for place, access in done:
            here.setdefault(place, []).append(access)
        for place, accesses in here.items():
            pasts = self._by_place[place]
            for other, past in pasts.items():
                if other != task and not before[task] >> past[-1][0] & 1:
                    self._judge(task, past, accesses)
            pasts.setdefault(task, []).append((closing, accesses))

    def _judge(self, task: int, past: Sequence[tuple[int, list[int]]], here: Sequence[int]) -> None:
        """Hold what a task does to a place against what another one did: all of it that does not come before."""
        before = self._ordering.before[task]
        for closing, earlier in reversed(past):
            if before >> closing & 1:
                break  # and so does all that it did earlier
            pairs = [pair for pair in product(earlier, here) if self._can_race(*pair)]
            if pairs:  # all of them: once one is a point, what lies behind it in the stretch still races
                self.races |= {access >> 1 for pair in pairs for access in pair}
                self._ordering.add(task, closing)

    def _can_race(self, earlier: int, access: int) -> bool:
        """Tell whether two accesses to one place conflict; two points do so as steps, which is seen to elsewhere."""
        return bool((earlier | access) & 1) and not (self._marked[earlier >> 1] and self._marked[access >> 1])
