"""Attributes of classes that are read through their objects, and through classes derived from them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from omni_ipc.testbed.instrument.effects import ALL
from omni_ipc.testbed.instrument.names import bases_of
from omni_ipc.testbed.instrument.noting import Notes, Stretch
from omni_ipc.testbed.instrument.sites import SITES, Kind
from omni_ipc.testbed.instrument.tables import BY_NAME

_READING = (Kind.ATTRIBUTE, Kind.METHOD, Kind.BY_NAME)


def note_inherited(stretches: Sequence[Stretch], used: Iterable[Notes], inherits: set[int]) -> bool:
    """Note where an attribute is read that some task sets on a class: what is read there may be the class's own.

    Args:
        used: all notes of the run, in fewer pieces.
        inherits: gets the sites of such reads.

    Returns:
        If there are classes on which attributes are set.
    """
    changed = _changed(used)
    for _, _, notes in stretches if changed else ():
        _note(notes, changed, inherits)
    return bool(changed)


def _changed(used: Iterable[Notes]) -> dict[str, set[type]]:
    """Return the classes on which attributes are set, by the attribute's name, or by `ALL`, if it is not known."""
    changed: dict[str, set[type]] = defaultdict(set)
    for notes in used:
        for (number, _), value in notes.items():
            if isinstance(value, type):
                site = SITES[number]
                if site.kind is Kind.BY_NAME and BY_NAME[site.name]:
                    changed[ALL].add(value)
                elif site.kind is Kind.ATTRIBUTE and site.writes:
                    changed[site.name].add(value)
    return changed


def _note(notes: Notes, changed: dict[str, set[type]], inherits: set[int]) -> None:
    more: Notes = {}
    for (number, _), value in notes.items():
        site = SITES[number]
        if site.kind not in _READING or site.writes:
            continue
        names = changed if site.kind is Kind.BY_NAME else changed.keys() & {site.name, ALL}
        for owner in [owner for name in names for owner in changed[name] if owner in bases_of(value)]:
            inherits.add(number)
            more[number, id(owner)] = owner
    notes.update(more)
