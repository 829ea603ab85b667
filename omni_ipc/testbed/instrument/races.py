"""Finds accesses that nothing orders: two tasks use the same thing, one of them changes it, and either could be first.

Two accesses, of which one writes, that nothing orders, are a race, and become points. Where there is none in any
schedule of these points, none is hidden: code between them could be interleaved in no other way that makes a
difference.

Source: M. Musuvathi et al., "Finding and reproducing Heisenbugs in concurrent programs", OSDI 2008: points at
synchronization only, plus races.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from types import ModuleType

from omni_ipc.testbed.instrument.effects import ALL, Effects
from omni_ipc.testbed.instrument.inherited import note_inherited
from omni_ipc.testbed.instrument.memory import place_of
from omni_ipc.testbed.instrument.names import Names
from omni_ipc.testbed.instrument.noting import Notes, Stretch, Unkept
from omni_ipc.testbed.instrument.sites import SITES, Kind
from omni_ipc.testbed.instrument.unordered import Found, Key, Place, Unordered
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.orders import Repeats

_GLOBALS = id(None)  # what stands for all modules, as in `Tracker.touch_global`

_Done = tuple[str | None, str | None, int]
"""What is done at a site: the module that has the variable, if it is a global; the part; and the access."""


class Judge:
    """Finds races in runs.

    Args:
        marked: by site, whether accesses there are points.
        inherits: gets the sites at which attributes of classes are read through what inherits them.
    """

    def __init__(self, effects: Effects, names: Names, marked: bytearray, inherits: set[int]) -> None:
        self._inherits = inherits
        self._names = names
        self._effects = effects
        self._marked = marked
        self._done: dict[tuple[int, type], _Done | None] = {}
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
        used = _used(stretches)
        if len(used) < 2:
            return set()
        if note_inherited(stretches, used, self._inherits):
            used = _used(stretches)
        suspects = self._suspects(used)
        return Unordered(kernel, suspects, self._marked).go_through(stretches) if suspects else set()

    def _suspects(self, used: Sequence[Notes]) -> dict[Key, Found]:
        """Return the accesses that may race, of what each task did in the whole run.

        To most of what tasks use no two of them come, or nobody changes it: nothing more is done about that.
        """
        owners = [self._owners(notes) for notes in used]
        shared = _common(whose.values() for whose in owners)
        found = [self._sort(notes, whose, shared) for notes, whose in zip(used, owners, strict=True)]
        if wholes := {owner for accesses in found for (owner, part), _ in accesses.values() if part == ALL}:
            found = [_widen(accesses, wholes) for accesses in found]
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

    def _owners(self, notes: Notes) -> dict[int, Hashable]:
        """Return whose state a task used, by ids of what it used."""
        values = {value_id: value for (_, value_id), value in notes.items()}
        return {value_id: self._whose(value_id, value) for value_id, value in values.items()}

    def _whose(self, value_id: int, value: object) -> Hashable:
        """Return the id of the object whose state is used; globals are all one."""
        if (owner := self._names.owner(value_id)) is not None:
            value_id, value = id(owner), owner
        return _GLOBALS if isinstance(value, ModuleType) else place_of(value_id, value)[0]

    def _sort(self, notes: Notes, owners: Mapping[int, Hashable], shared: set[Hashable]) -> dict[Key, Found]:
        """Find what is done to what is shared."""
        found: dict[Key, Found] = {}
        for key, value in notes.items():
            site, value_id = key
            if owners[value_id] not in shared:
                continue
            done = self._done_at(site, value.kind if isinstance(value, Unkept) else type(value))
            if done is not None:
                found[key] = self._place(value_id, value, done), done[2]
        return found

    def _place(self, value_id: int, value: object, done: _Done) -> Place:
        variable_of, part, _ = done
        if variable_of is not None:
            return variable_of, part
        if (owner := self._names.owner(value_id)) is not None:
            value_id, value, part = id(owner), owner, ALL
        return (value.__name__ if isinstance(value, ModuleType) else place_of(value_id, value)[0]), part

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
    for task, _, notes in stretches:
        used[task.index].update(notes)
    return list(used.values())


def _common(owners: Iterable[Iterable[Hashable]]) -> set[Hashable]:
    """Return whose state more than one task used."""
    seen: set[Hashable] = set()
    shared: set[Hashable] = set()
    for own in map(set, owners):
        shared |= seen & own
        seen |= own
    return shared


def _widen(accesses: Mapping[Key, Found], wholes: Collection[Hashable]) -> dict[Key, Found]:
    """Take an attribute for all of its object's, if something uses any of them."""
    return {
        key: ((owner, ALL) if owner in wholes else (owner, part), access)
        for key, ((owner, part), access) in accesses.items()
    }
