"""What one search looks at: some families of a session, under names that many searches share.

TLC's cost of a step grows with the number of ids, faster than linearly. So the families of a session are looked at in
groups, in the order of their first steps, and each group begins with the last families of the one before: those that
follow each other are looked at together. All groups share the same few ids, the slots of a pool: family "1203" of one
session and family "7" of another one may both be "2" in the search, if they hold as many ids.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from omni_ipc.conformance.recordings.chains import Ranked, chains
from omni_ipc.conformance.recordings.lens import Lens
from omni_ipc.conformance.recordings.looking import Seen, View
from omni_ipc.records import Field
from omni_ipc.values import FrozenMap, Value

GROUP = 48
"""Ids in a group, about."""

COMMON = GROUP // 4
"""Of these, about so many are in the next group, too."""

Shape = frozenset[tuple[str, str]]
"""What a family consists of: (constant, what stands behind the family's name in an id)."""


class Case(msgspec.Struct, frozen=True):
    """Some families of a session, laid out for the search.

    Args:
        required: of each chain, how many steps must be taken: all, but for one that never ended.
        slots: family -> its name in the search.
    """

    view: View
    steps: tuple[Seen, ...]
    chains: tuple[tuple[Ranked, ...], ...]
    required: tuple[int, ...]
    slots: dict[str, str]

    def first_left(self, at: Sequence[int]) -> tuple[int, Seen]:
        """Give the first step that was not taken when so many of each chain were, and its place among all."""
        left = [chain[taken].seen for chain, taken in zip(self.chains, at, strict=True) if taken < len(chain)]
        first = min(left, key=lambda seen: seen.step.begin_ns)
        return self.steps.index(first) + 1, first

    def named(self, value: Field, lens: Lens) -> Field:
        """Give an id as the search has it."""
        if not lens.families:
            return value
        family = lens.family(value)
        return self.slots[family] + str(value).removeprefix(family)

    def original(self, value: Value, lens: Lens) -> Value:
        """Give a value of the search with the ids that were recorded."""
        families = {slot: family for family, slot in self.slots.items()}
        match value:
            case str() if (family := lens.family(value)) in families and lens.families:
                return families[family] + value.removeprefix(family)
            case tuple():
                return tuple(self.original(item, lens) for item in value)
            case frozenset():
                return frozenset(self.original(item, lens) for item in value)
            case FrozenMap():
                return FrozenMap({self.original(k, lens): self.original(v, lens) for k, v in value.items()})
        return value


class Pool:
    """The ids that all cases of a search share."""

    def __init__(self) -> None:
        self._slots: dict[Shape, list[str]] = defaultdict(list)

    def slots(self, shapes: Sequence[tuple[str, Shape]]) -> dict[str, str]:
        """Give each family a slot of its shape, and make those that are missing."""
        taken: dict[Shape, int] = defaultdict(int)
        found = {}
        for family, shape in shapes:
            of_shape = self._slots[shape]
            if taken[shape] == len(of_shape):
                of_shape.append(str(1 + sum(map(len, self._slots.values()))))
            found[family] = of_shape[taken[shape]]
            taken[shape] += 1
        return found

    def families(self) -> Iterator[tuple[str, Shape]]:
        """Give every slot with its shape."""
        for shape, names in self._slots.items():
            for name in names:
                yield name, shape


def make_cases(view: View, lens: Lens, pool: Pool, *, whole: bool = False) -> list[Case]:
    """Lay out a view, in as many groups as it takes, or as one."""
    if not lens.families:
        return [_case(view, view.steps, {})]
    shapes = _shapes(view, lens)
    if whole:
        return [_group(view, shapes, lens, pool)]
    return [_group(view, dict(members), lens, pool) for members in _groups(list(shapes.items()))]


def _shapes(view: View, lens: Lens) -> dict[str, Shape]:
    """Find the shape of each family, in the order of their first steps.

    Of one that the model cannot follow, and of which no step is looked at, nothing is: what becomes of it at others'
    steps came of what it did later.
    """
    named = {lens.family(value) for seen in view.steps for value in seen.params.values()}
    lost = (view.left_out.keys() | view.leaving.keys()) - named
    parts: dict[str, set[tuple[str, str]]] = {}
    for seen in view.steps:
        for constant, value in _ids(seen, view, lens):
            family = lens.family(value)
            if family in lost:
                continue
            if family not in parts:
                parts[family] = {(lens.whole, "")} if lens.whole else set()
            parts[family].add((constant, str(value).removeprefix(family)))
    return {family: frozenset(shape) for family, shape in parts.items()}


def _ids(seen: Seen, view: View, lens: Lens) -> Iterator[tuple[str, Field]]:
    """Give the ids that a step speaks of, each with the constant that has it."""
    for name, value in seen.params.items():
        yield view.domains[seen.action][name], value
    for variable, change in lens.observed(seen.step):
        if constant := lens.ranges.get(variable):
            yield from ((constant, key) for key in (*change.came, *change.gone))


def _groups(shapes: Sequence[tuple[str, Shape]]) -> Iterator[Sequence[tuple[str, Shape]]]:
    """Cut into runs of about GROUP ids, of which about COMMON stand in the next run, too."""
    begin = 0
    while begin < len(shapes):
        end = _after(shapes, begin, GROUP)
        yield shapes[begin:end]
        if end == len(shapes):
            return
        begin = _after(shapes, begin, GROUP - COMMON)


def _after(shapes: Sequence[tuple[str, Shape]], begin: int, ids: int) -> int:
    """Give the place behind so many ids, and behind one family at least."""
    place = begin
    while place < len(shapes) and (ids > 0 or place == begin):
        ids -= len(shapes[place][1])
        place += 1
    return place


def _group(view: View, shapes: dict[str, Shape], lens: Lens, pool: Pool) -> Case:
    steps = [seen for seen in view.steps if not seen.params or _is_of(seen, shapes, lens)]
    return _case(view, steps, pool.slots(list(shapes.items())))


def _is_of(seen: Seen, shapes: dict[str, Shape], lens: Lens) -> bool:
    return any(lens.family(value) in shapes for value in seen.params.values())


def _case(view: View, steps: Sequence[Seen], slots: dict[str, str]) -> Case:
    laid = tuple(map(tuple, chains(steps)))
    required = tuple(len(chain) - (chain[-1].seen.step.end_ns is None) for chain in laid)
    return Case(view, tuple(steps), laid, required, slots)
