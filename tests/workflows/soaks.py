"""What is kept of soaks that never ran, for tests of who keeps it, and of who judges what is said."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from omni_ipc.accounts import Account
from omni_ipc.stress.book import Around, Book
from omni_ipc.stress.ledger import Ledger
from omni_ipc.stress.messages import Began
from omni_ipc.stress.settings import SoakConfig
from omni_ipc.workflows.soak_keeping import Keeper
from tests.support.accounts import MACHINE


class Kept:
    """A keeper with all that belongs to it.

    Attributes:
        shown: the accounts that were shown to somebody.
    """

    def __init__(self, folder: Path, ledger: Ledger, **settings: Any) -> None:
        self.ledger = ledger
        self.config = SoakConfig(seconds=60.0, folder=str(folder), **settings)
        self.book = Book(self.config, MACHINE, ledger)
        self.shown: list[Account] = []
        self.keeper = Keeper(self.config, self.book, ledger, self.shown.append)

    def begin(self, number: int, *workers: int) -> None:
        """Have a round begin."""
        self.keeper.begin(Began(number, workers, 10.0, False, f"round {number}"))

    def findings(self) -> list[tuple[str, str]]:
        """Give kind and sentence of what was found."""
        return [(finding.kind, finding.message) for finding in self.book.account().findings]


@contextlib.contextmanager
def kept(folder: Path, *, blows: tuple[float, ...] = (), **settings: Any) -> Iterator[Kept]:
    """Keep a soak in which faults were put in at some times, on the monotonic clock."""
    with contextlib.closing(Ledger.create()) as ledger:
        soak = Kept(folder, ledger, **settings)
        soak.book.around = Around(lambda: blows, tuple, tuple, tuple)
        yield soak
