"""Accesses as points: which bits an access reads and writes, and what it is called in a trace."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from contextvars import Context
from types import CellType
from typing import Any

from omni_ipc.records import Field
from omni_ipc.testbed.identity import SHARED_CONTEXTS, Identities
from omni_ipc.testbed.instrument.effects import ALL, Effects, Use
from omni_ipc.testbed.instrument.kinds import container
from omni_ipc.testbed.instrument.memory import holder_of
from omni_ipc.testbed.instrument.names import ANY_KEY, PLAIN, Name, Names, bases_of, is_plain, name_of_module
from omni_ipc.testbed.instrument.shown import Shown
from omni_ipc.testbed.instrument.sites import SITES, Kind, Site
from omni_ipc.testbed.instrument.tables import Effect
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.operations import Operation, always, nothing
from omni_ipc.testbed.tasks import Task

_SHAPE, _ANY = "shape", "any item"
_VARIABLES = (Kind.GLOBAL, Kind.CELL)
_KEYED = (Effect.KEY_READ, Effect.KEY_WRITE, Effect.KEY_DELETE)
_LASTING = (Effect.SHAPE_READ, Effect.WRITE)  # their bits do not depend on what there is
_NOUNS = {
    Kind.ATTRIBUTE: "field",
    Kind.BY_NAME: "field",
    Kind.GLOBAL: "global",
    Kind.CELL: "variable",
}


class Location:
    """What an access is about, as an operation's subject."""

    __slots__ = ("_text", "bit", "noun")

    def __init__(self, bit: int, noun: str, text: str) -> None:
        self.bit = bit
        self.noun = noun
        self._text = text

    def label(self) -> dict[str, Field]:
        return {self.noun: self._text}

    def blocked_on(self) -> str:
        return self._text

    def holder(self) -> Task | None:
        return None


class Access(Operation):
    """An access of code under test, which performs it itself; it orders nothing else."""

    __slots__ = ("location",)

    def __init__(self, location: Location, verb: str, reads: int, writes: int) -> None:
        super().__init__(f"{location.noun}.{verb}", location, nothing, always)
        self.location = location
        self.reads, self.writes = reads, writes

    @property
    def fences(self) -> bool:
        return False


class Points:
    """Makes points of accesses.

    An item has a bit of its own, the set of keys has one (shape), and one stands for a change of any items: who reads
    an item reads the latter, too; who reads all reads both, and the items that there are. So accesses to different
    items are independent, whatever changes them.

    Args:
        effects: what is done at a site.
        identities: the bits, for all runs.

    Attributes:
        inherits: sites at which attributes of classes are read through what inherits them.
        followed: names of coroutines that tasks share, so that it is noted whether one runs, waits or has ended.
    """

    def __init__(self, effects: Effects, identities: Identities) -> None:
        self.effects = effects
        self.names = Names()
        self.inherits: set[int] = set()
        self.followed: set[str] = set()
        self._identities = identities
        self._accesses: dict[Hashable, Access] = {}
        self._known: dict[Hashable, Access] = {}  # of this run, by site and object, or item

    def begin(self) -> None:
        """Forget the objects of the run before."""
        self.names.begin()
        self._known.clear()

    def pause(self, kernel: Kernel, number: int, value: Any, arguments: tuple[Any, ...]) -> None:
        """Announce an access, and wait for its turn."""
        access = self._access_to(number, value, arguments)
        if access is None:
            return
        if kernel.observer is not None and access.subject is not None:
            site = SITES[number]
            kernel.observer.meet(Shown(access, access.subject, site, value, self._part(number, site, value)))
        step = kernel.depth
        kernel.perform(access)
        if kernel.depth != step + 1:  # others may have changed what there is
            self.add(kernel, number, value, arguments, known=access)

    def pause_together(self, kernel: Kernel, uses: Callable[[], list[tuple[int, Any]]]) -> None:
        """Announce accesses that one operation makes, and wait for its turn.

        Args:
            uses: gives their sites and objects; others may change what there is until the turn comes.
        """
        accesses = [access for use in uses() if (access := self._access_to(*use, ())) is not None]
        if not accesses:
            return
        step = kernel.depth
        kernel.perform(_joint(accesses))
        if kernel.depth != step + 1:
            for number, value in uses():
                self.add(kernel, number, value)

    def add(
        self, kernel: Kernel, number: int, value: Any, arguments: tuple[Any, ...] = (), *, known: Access | None = None
    ) -> None:
        """Let the step in progress make an access, too, unless it is the one that is known."""
        again = self._access_to(number, value, arguments)
        if again is not None and again is not known:
            kernel.reads |= again.reads
            kernel.writes |= again.writes

    def _access_to(self, number: int, value: Any, arguments: tuple[Any, ...]) -> Access | None:
        """Return what is done at a site to an object, or to an item of it."""
        known = self._known
        found = known.get((number, id(value)))
        if found is not None:
            return found
        item = _item_here(number, value, arguments[0]) if arguments else None
        return known.get(item) or self._find(number, value, arguments, item)

    def _find(self, number: int, value: Any, arguments: tuple[Any, ...], item: Hashable) -> Access | None:
        """Find out what is done at a site, and keep what is the same until the end of the run.

        Args:
            item: stands for the item that the arguments name, if it does so for long.
        """
        site = SITES[number]
        if site.kind in _VARIABLES:
            return self._keep((number, id(value)), self._variable(site, value))
        use = self.effects.use(number, site, type(value))
        if number in self.inherits:
            return self._inherited(site, use, value, arguments)
        if use is None:
            return None
        if use.effect is None:
            access = self._attribute(site, use, value, arguments)
            return self._keep((number, id(value)), access) if site.kind is Kind.ATTRIBUTE else access
        access = self._item(use.effect, value, arguments)
        if use.effect in _LASTING:
            return self._keep((number, id(value)), access)
        return self._keep(item, access) if use.effect in _KEYED else access

    def _keep(self, here: Hashable, access: Access) -> Access:
        if here is not None:
            self._known[here] = access
        return access

    def _part(self, number: int, site: Site, value: Any) -> str | None:
        """Name what is used of an object, if it is no item."""
        use = None if site.kind in _VARIABLES else self.effects.use(number, site, type(value))
        if use is None or number in self.inherits:
            return site.name
        return None if use.effect is not None else use.part or site.name

    def _variable(self, site: Site, cell: CellType | None) -> Access:
        if site.kind is Kind.GLOBAL:
            name = name_of_module(site.module)
            return self._access(name, site.name, f"{name.text}.{site.name}", "global", writes=site.writes)
        return self._access(self.names.of(cell), site.name, site.name, "variable", writes=site.writes)

    def _attribute(self, site: Site, use: Use, value: Any, arguments: tuple[Any, ...]) -> Access:
        name = self.names.of(value)
        part = use.part or ALL
        if isinstance(value, Context):
            self._identities.meet(SHARED_CONTEXTS)
        if site.kind is Kind.BY_NAME and arguments and isinstance(arguments[0], str):
            part = arguments[0]
        text = f"{name.text}.{part}" if part != ALL else name.text
        if part == ALL:  # writes, so that it conflicts with each attribute
            access = self._access(name, part, text, "object", writes=True)
            if container(type(holder_of(value))) is None:
                return access
            content = self._identities[*name.key, _SHAPE] | self._identities[*name.key, _ANY]
            return Access(access.location, "write", access.reads, access.writes | content)
        return self._access(name, part, text, "field", writes=use.writes)

    def _inherited(self, site: Site, use: Use | None, value: Any, arguments: tuple[Any, ...]) -> Access:
        """Return the read of an attribute that may be the object's own, or one of its classes."""
        own = [] if use is None or use.effect is not None else [self._attribute(site, use, value, arguments)]
        part = arguments[0] if site.kind is Kind.BY_NAME and arguments else site.name
        names = [self.names.of(base) for base in bases_of(value)]
        return _joint(own + [self._access(name, part, f"{name.text}.{part}", "field", writes=False) for name in names])

    def _access(self, name: Name, part: str, text: str, noun: str, *, writes: bool) -> Access:
        """Return the access to a variable or an attribute."""
        key = name.key, part, writes
        found = self._accesses.get(key)
        if found is None:
            bit = self._identities[*name.key, part]
            whole = 0 if part == ALL else self._identities[*name.key, ALL]
            location = Location(bit, noun, text)
            found = Access(location, "write", whole, bit) if writes else Access(location, "read", whole | bit, 0)
            self._accesses[key] = found
        return found

    def _namespace(self, effect: Effect, owner: Any, arguments: tuple[Any, ...]) -> Access:
        """Return the access to the dictionary of an object's attributes."""
        name, key = self.names.of(owner), arguments[0] if arguments and effect in _KEYED else None
        if isinstance(key, str):
            return self._access(name, key, f"{name.text}.{key}", "field", writes=effect.writes)
        return self._access(name, ALL, name.text, "object", writes=True)

    def _item(self, effect: Effect, value: Any, arguments: tuple[Any, ...]) -> Access:
        """Return the access to a container."""
        if (owner := self.names.owner(id(value))) is not None:
            return self._namespace(effect, owner, arguments)
        name = self.names.of(value)
        return self._container_access(name, *self._bits(effect, name, value, arguments))

    def _container_access(self, name: Name, reads: int, writes: int, text: str) -> Access:
        key = name.key, reads, writes
        found = self._accesses.get(key)
        if found is None:
            location = Location(writes or reads, "item", text)
            found = self._accesses[key] = Access(location, "write" if writes else "read", reads, writes)
        return found

    def _bits(self, effect: Effect, name: Name, value: Any, arguments: tuple[Any, ...]) -> tuple[int, int, str]:
        shape, anything = self._identities[*name.key, _SHAPE], self._identities[*name.key, _ANY]
        if isinstance(value, (deque, bytearray)):
            return (0, shape, name.text) if effect.writes else (shape, 0, name.text)
        match effect:
            case Effect.SHAPE_READ:
                return shape, 0, name.text
            case Effect.WRITE:
                return 0, shape | anything, name.text
            case Effect.READ:
                items = 0
                for key in range(len(value)) if isinstance(value, list) else value:
                    items |= self._identities[*name.key, "[]", self.names.key_of(key)]
                return shape | anything | items, 0, name.text
        is_any = not arguments or (isinstance(value, list) and not isinstance(arguments[0], int))
        if is_any or self.names.key_of(arguments[0]) is ANY_KEY:
            return self._bits(Effect.WRITE if effect.writes else Effect.READ, name, value, ())
        return self._item_bits(effect, name, value, arguments[0], shape, anything)

    def _item_bits(
        self, effect: Effect, name: Name, value: Any, key: Any, shape: int, anything: int
    ) -> tuple[int, int, str]:
        reads, there = anything, _has(value, key)
        if isinstance(value, list) and key < 0:
            reads, key = reads | shape, key + len(value)
        item = self._identities[*name.key, "[]", self.names.key_of(key)]
        text = name.text if isinstance(value, set) else f"{name.text}[{self._shown(key)}]"
        adds = effect is Effect.KEY_WRITE and not there
        takes = effect is Effect.KEY_DELETE and there is not False
        if adds or takes:
            return reads, item | shape, text
        if effect is Effect.KEY_WRITE and not isinstance(value, set):
            return reads, item, text
        return reads | item, 0, text

    def _shown(self, key: Any) -> str:
        return repr(key) if is_plain(key) else self.names.of(key).text


def _joint(accesses: Sequence[Access]) -> Access:
    """Make one access of several."""
    if len(accesses) == 1:
        return accesses[0]
    reads = writes = 0
    for access in accesses:
        reads |= access.reads
        writes |= access.writes
    main = next((access for access in accesses if access.writes), accesses[0])
    return Access(main.location, "write" if writes else "read", reads, writes)


def _item_here(number: int, value: Any, key: Any) -> Hashable:
    """Return what stands for the use of an item at a site, and for whether it is there; None if only for a moment."""
    if type(value) is dict and type(key) in PLAIN:  # as most, at the cost of no call
        return number, id(value), key, key in value
    if not is_plain(key) or (isinstance(value, list) and isinstance(key, int) and key < 0):  # from the end
        return None
    return number, id(value), key, _has(value, key)


def _has(container: Any, key: Any) -> bool | None:
    """Tell whether a container has an item; None if only code under test could tell."""
    if isinstance(container, dict):
        return dict.__contains__(container, key) if is_plain(key) else None
    if isinstance(container, list):
        if not isinstance(key, int):
            return None
        return bool(-len(container) <= key < len(container))
    return set.__contains__(container, key) if isinstance(container, set) and is_plain(key) else None
