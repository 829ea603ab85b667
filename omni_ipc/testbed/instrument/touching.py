"""What rewritten code calls where it names what it uses: objects, items, values and variables."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from omni_ipc.testbed.instrument.behind import FLAT, WINDOWS
from omni_ipc.testbed.instrument.exchanging import Exchanging
from omni_ipc.testbed.instrument.kinds import BEHIND, MADE, runs_python
from omni_ipc.testbed.instrument.names import is_plain
from omni_ipc.testbed.instrument.noting import Uses
from omni_ipc.testbed.instrument.sites import SITES, Kind
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.objects.base import Controlled
from omni_ipc.testbed.where import locate_here


class Touching(Exchanging):
    """The hooks for what is named."""

    # Objects

    def touch(self, site: int, value: Any) -> Any:
        """Announce the use of an object."""
        kernel = self._company
        if kernel is None:
            return value
        if self.marked[site]:
            self._pause(kernel, site, value, ())
            return value
        if kernel.depth != self._depth or kernel.current is not self._task:
            self._open(kernel)
        self._notes[site, id(value)] = value
        return value

    def touch_names(self, site: int, value: Any) -> Any:
        """Announce the use of an object, whose attributes may be used as the items of a dictionary from now on."""
        if isinstance(value, Controlled):
            self.hide(f"the dictionary of a {value.kind} under control is not that of a real one; read its attributes")
        if self._points is not None:
            if SITES[site].writes:
                self._exchanged.append((value, locate_here()))
            else:
                self._points.names.bare(value)
        return self.touch(site, value)

    def touch_exchanged(self, site: int, value: Any) -> Any:
        """Announce the use of an attribute that may make another thing of its object."""
        self._exchange(value, SITES[site].name)
        return self.touch(site, value)

    def touch_item(self, site: int, value: Any, key: Any) -> Any:
        """Announce the use of an item, of a container that was evaluated last."""
        kernel = self._company
        if kernel is None:
            return value
        if told := self._items[type(value)]:
            if told is BEHIND:
                self._together(kernel, lambda: self._item_of(site, value))
            elif told is MADE:
                self._make_item(kernel, site, value, key)
            return value
        if self.marked[site]:
            self._pause(kernel, site, value, (key,))
            return value
        if kernel.depth != self._depth or kernel.current is not self._task:
            self._open(kernel)
        self._notes[site, id(value)] = value
        return value

    def _make_item(self, kernel: Kernel, site: int, value: Any, key: Any) -> None:
        """Announce the use of an item, and make one that is missing: meanwhile, others may find it missing, too."""
        self._use(site, value, (key,))
        where = SITES[site]
        reads = where.kind is Kind.ITEM and not where.writes
        if reads and not kernel.over and is_plain(key) and key not in value and runs_python(value.default_factory):
            made = value.default_factory()
            self._use(site, value, (key,))
            value[key] = made

    def _item_of(self, site: int, value: Any) -> Uses:
        if SITES[site].kind is Kind.MEMBER and type(value) in WINDOWS:
            return self._shown(site + 1, value)
        own = [] if type(value) in WINDOWS else [(site, value)]
        return [*self._through(site, value), *own]

    def touch_key(self, site: int, value: Any, key: Any) -> Any:
        """Announce the use of an item, whose key was evaluated last."""
        self.touch_item(site, value, key)
        return key

    def touch_pair(self, site: int, value: Any, key: Any) -> tuple[Any, Any]:
        """Announce the use of an item, for `operator.getitem`."""
        self.touch_item(site, value, key)
        return value, key

    def touch_entry(self, site: int, entry: Any, value: Any, key: Any) -> tuple[Any, Any, Any]:
        """Announce that an item is set, for `operator.setitem`."""
        self.touch_item(site, value, key)
        return value, key, entry

    def touch_outer(self, site: int, outer: Any, *arguments: Any) -> Any:
        """Announce the use of an object by ``super()``."""
        self._use(site, outer.__self__, arguments)
        return outer

    def touch_value(self, site: int, value: Any) -> Any:
        """Announce that all of a value is read."""
        if type(value) not in FLAT and self._company is not None:
            self._together(self._company, lambda: self._read(site, SITES[site].name, value))
        return value

    def touch_both(self, site: int, left: Any, right: Any) -> tuple[Any, Any]:
        """Announce that all of two values is read at once, by a function of `operator`."""
        if self._company is not None and not (type(left) in FLAT and type(right) in FLAT):
            name = SITES[site].name
            self._together(
                self._company, lambda: [use for value in (left, right) for use in self._read(site, name, value)]
            )
        return left, right

    def touch_grown(self, site: int, value: Any, added: Any) -> tuple[Any, Any]:
        """Announce that something is added to a value, in place if it is a container."""
        if not (type(value) in FLAT and type(added) in FLAT):
            self._use(site, value, (added,))
        return value, added

    def touch_added(self, site: int, value: Any, added: Any) -> Any:
        """Announce that to a value something is added that was evaluated last."""
        self.touch_grown(site, value, added)
        return added

    def touch_second(self, site: int, right: Any, left: Any) -> Any:
        """Announce that all of two values is read at once, of which the second was evaluated last."""
        self.touch_both(site, left, right)
        return right

    # Variables

    def touch_global(self, site: int) -> bool:
        """Announce the use of a global."""
        self.touch(site, None)
        return True

    def store_global(self, site: int, value: Any) -> Any:
        """Announce that a value is stored in a global."""
        self.touch(site, None)
        return value

    def touch_cell(self, site: int, holder: FunctionType) -> bool:
        """Announce the use of a variable of an enclosing function."""
        assert holder.__closure__ is not None
        self.touch(site, holder.__closure__[0])
        return True

    def store_cell(self, site: int, holder: FunctionType, value: Any) -> Any:
        """Announce that a value is stored in a variable of an enclosing function."""
        self.touch_cell(site, holder)
        return value

    def new_cell(self, holder: FunctionType) -> None:
        """Name a variable of a function that has just begun."""
        assert holder.__closure__ is not None
        self.new(holder.__closure__[0])

    # Objects that are made

    def new(self, value: Any) -> Any:
        """Name an object that was just made."""
        if self._kernel is not None and self._points is not None:
            self._points.names.make(self._kernel, value)
        return value
