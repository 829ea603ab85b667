"""Slots handed on: a reader lets another process hold what the writer never sent it, and nothing is copied.

    writer                            reader                              guest
    generation = g ── record ───────► lease
                                      record (slot, g) ─────────────────► hold = g, fence: is the generation still g?
                                      ◄─────────────────────── taken ──── then it is the guest's as well
                                      release = g
    released by its readers?
    generation = 0, fence: hold = g?                                      hold = 0
       yes: generation = g, look again later
       no:  nobody can take hold any more: it is free

Either the writer sees the hold, or the guest sees that the generation is gone: which of the two processes between them
dies, and when, makes no difference. A guest that dies holds nothing from then on.
"""

from __future__ import annotations

from typing import NamedTuple

from omni_ipc.errors import UsageError
from omni_ipc.seam.api import Words
from omni_ipc.transport import liveness
from omni_ipc.transport.geometry import Geometry
from omni_ipc.transport.layout import Signature
from omni_ipc.transport.lease import Lease, SlabReader
from omni_ipc.transport.liveness import this_process


class GuestBook:
    """What guests hold, as the writer sees it; `keep` is called with the slab's lock held."""

    def __init__(self, geometry: Geometry, words: Words) -> None:
        self._geometry = geometry
        self._words = words
        self._places = range(geometry.readers, geometry.readers + geometry.guests)
        self._gone: dict[int, Signature] = {}  # by place; the next guest there signs otherwise, and counts

    def keep(self, slot: int, generation: int) -> bool:
        """Tell whether a guest holds a slot that its readers have released; if none does, none ever will."""
        if not self._places:
            return False
        if self._is_held(slot, generation):
            return True
        word = self._geometry.generation_word(slot)
        self._words.store(word, 0)  # SYNC slab.generation
        self._words.fence()
        if not self._is_held(slot, generation):
            return False
        self._words.store(word, generation)
        return True

    def forget_the_dead(self) -> bool:
        """Take what dead guests hold as released, and tell whether there were any that were not known to be dead."""
        found = False
        for place in self._places:
            signed = signature(self._words, self._geometry, place)
            if signed.pid and self._gone.get(place) != signed and liveness.ending(signed) is not None:
                self._gone[place] = signed
                found = True
        return found

    def _is_held(self, slot: int, generation: int) -> bool:
        for place in self._places:
            if self._words.load(self._geometry.release_word(slot, place)) == generation:  # SYNC slab.hold
                gone = self._gone.get(place)
                if gone is None or gone != signature(self._words, self._geometry, place):
                    return True
        return False


class GuestReader(SlabReader):
    """A guest's end of a slab, of any number of its threads."""

    def _check_reader(self) -> None:
        """Count the guests behind the readers."""
        readers, guests = self.geometry.readers, self.geometry.guests
        if not readers <= self.reader < readers + guests:
            raise UsageError(f"Slab '{self.name}' has places {readers} to {readers + guests - 1} for guests.")

    def _sign(self) -> None:
        """Take the place, which a dead guest may have left as it was."""
        geometry, words = self.geometry, self.words
        signed = signature(words, geometry, self.reader)
        if signed.pid and liveness.ending(signed) is None:
            raise UsageError(
                f"Slab '{self.name}' has its guest {self.reader} already, process {signed.pid}. Take another place."
            )
        for slot in range(self._slots):
            words.store(geometry.release_word(slot, self.reader), 0)
        word, process = geometry.signature_word(self.reader), this_process()
        words.store(word, process.start)
        words.store(word + 1, process.pid)  # SYNC slab.signature
        self._counts: dict[int, int] = {}  # slot → leases; guarded by _telling

    def lease(self, slot: int, generation: int) -> Lease:
        """Take hold of a slot that a record names.

        Raises:
            FormatError: there is no such slot, or it was released before this guest took hold of it.
        """
        with self._telling:
            self._tell()  # else an older lease on this slot that has ended would take the new one's hold with it
            self._hold(slot, generation)
        lease = self._windows.hold(self, slot, generation)
        self._tell_what_ended()
        return lease

    def _hold(self, slot: int, generation: int) -> None:
        count = self._counts.get(slot, 0)
        if not count and slot < self._slots:
            self.words.store(self.geometry.release_word(slot, self.reader), generation)  # SYNC slab.hold
            self.words.fence()
        try:
            self._check_generation(slot, generation)
        except BaseException:
            if not count and slot < self._slots:
                self.words.store(self.geometry.release_word(slot, self.reader), 0)
            raise
        self._counts[slot] = count + 1

    def _give_back(self, slot: int, generation: int) -> None:
        count = self._counts.pop(slot) - 1
        if count:
            self._counts[slot] = count
        else:
            self.words.store(self.geometry.release_word(slot, self.reader), 0)

    def __del__(self) -> None:
        """Leave the place to the next guest: as nobody refers to this end, it holds nothing."""
        word = self.geometry.signature_word(self.reader) + 1
        if hasattr(self, "_counts") and self.words.load(word) == this_process().pid:
            self.words.store(word, 0)


class Outlet(NamedTuple):
    """What a process needs to hand on what it reads: its end of a slab, and the descriptor of the slab's memory."""

    reader: SlabReader
    fd: int


def free_place(reader: SlabReader) -> int:
    """Find a place for a guest: one that nobody has taken, or whose guest has died.

    Raises:
        UsageError: living guests have them all.
    """
    geometry = reader.geometry
    for place in range(geometry.readers, geometry.readers + geometry.guests):
        signed = signature(reader.words, geometry, place)
        if not signed.pid or liveness.ending(signed) is not None:
            return place
    raise UsageError(
        f"Slab '{reader.name}' has {geometry.guests} places for guests, and all are taken. Let one go, or lay the slab "
        "with more."
    )


def signature(words: Words, geometry: Geometry, place: int) -> Signature:
    """Tell which process took a place; of id 0 if none did."""
    word = geometry.signature_word(place)
    pid = words.load(word + 1)  # SYNC slab.signature
    return Signature(pid, words.load(word))
