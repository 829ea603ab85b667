"""What a campaign knows, in a file that is whole at every moment: whoever is interrupted goes on from there."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

import msgspec

from omni_ipc.errors import UsageError
from omni_ipc.records import write_atomically
from omni_ipc.workflows.mutants.attacks import How, Kind
from omni_ipc.workflows.mutants.catalogue import Mutant
from omni_ipc.workflows.mutants.reach import Reach


class Tried(msgspec.Struct, frozen=True):
    """One attack on one mutant."""

    attack: str
    kind: Kind
    how: How
    seconds: float

    @property
    def kills(self) -> bool:
        """Whether the fault was noticed."""
        return self.how in (How.FAILED, How.HANGS)


class Fate(msgspec.Struct, frozen=True):
    """What became of one mutant, so far.

    Args:
        tried: in this order; nothing comes behind an attack that kills.
    """

    mutant: str
    path: str
    digest: str
    tried: tuple[Tried, ...] = ()

    @property
    def killer(self) -> Tried | None:
        """The attack that noticed it; None if it has survived so far."""
        return self.tried[-1] if self.tried and self.tried[-1].kills else None

    @property
    def in_words(self) -> str:
        """What became of it: "noticed by conform Lane, which failed, 2.1 s"."""
        if killer := self.killer:
            return f"noticed by {killer.attack}, which {killer.how}, {killer.seconds:.1f} s"
        undecided = sum(each.how is How.UNDECIDED for each in self.tried)
        of_them = f", of which {undecided} decided nothing: the same command tries these again" if undecided else ""
        return f"noticed by none of {len(self.tried)} that were tried{of_them}"

    @property
    def as_far_as_decided(self) -> Fate:
        """Without attacks that decided nothing: a busy machine may have been in their way."""
        return msgspec.structs.replace(self, tried=tuple(each for each in self.tried if each.how is not How.UNDECIDED))


class _Known(msgspec.Struct):
    """The file."""

    checkout: str  # digest
    reach: dict[str, Reach] = {}
    fates: dict[str, Fate] = {}


class Notes:
    """A campaign's notes in a folder, which may have begun before; for several threads.

    Args:
        checkout: the digest of the checkout that mutants are made of.

    Raises:
        UsageError: the folder holds a campaign against another state of the checkout, or something else.
    """

    def __init__(self, folder: Path, checkout: str) -> None:
        self._path = folder / "mutants.json"
        self._lock = threading.Lock()
        self._known = _read(self._path) or _Known(checkout)
        if self._known.checkout != checkout:
            raise UsageError(
                f"'{self._path}' is about another state of the checkout: it was edited since. "
                "Give another folder, or delete this one to begin anew."
            )
        self._known.fates = {name: fate.as_far_as_decided for name, fate in self._known.fates.items()}

    @property
    def checkout(self) -> str:
        """The digest of the checkout that all of it is about."""
        return self._known.checkout

    @property
    def is_kept(self) -> bool:
        """Whether there is anything to go on with."""
        return bool(self._known.reach)

    @property
    def reach(self) -> Mapping[str, Reach]:
        """What each attack did on the product as it is."""
        return self._known.reach

    def fate(self, mutant: Mutant) -> Fate:
        """What is known of a mutant."""
        with self._lock:
            return self._fate(mutant)

    def fates(self) -> list[Fate]:
        """What is known of all that were attacked."""
        with self._lock:
            return list(self._known.fates.values())

    def add_reach(self, reach: Reach) -> None:
        """Note what an attack did on the product."""
        with self._lock:
            self._known.reach[reach.attack] = reach
            self._save()

    def add_tried(self, mutant: Mutant, tried: Tried) -> None:
        """Note what an attack did on a mutant."""
        with self._lock:
            fate = self._fate(mutant)
            self._known.fates[mutant.name] = msgspec.structs.replace(fate, tried=(*fate.tried, tried))
            self._save()

    def _fate(self, mutant: Mutant) -> Fate:
        return self._known.fates.get(mutant.name) or Fate(mutant.name, mutant.path, mutant.digest)

    def _save(self) -> None:
        write_atomically(self._path, msgspec.json.encode(self._known))


def _read(path: Path) -> _Known | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Known)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"Cannot read '{path}': {error.strerror}. Give another folder.") from None
    except msgspec.DecodeError as error:
        raise UsageError(f"'{path}' is no campaign of this version: {error}. Delete it to begin anew.") from None
