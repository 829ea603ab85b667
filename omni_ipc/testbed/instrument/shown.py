"""The values behind accesses, for whoever looks on while a failing schedule is run again."""

from __future__ import annotations

import sys
from types import CellType
from typing import Any

from omni_ipc.records import Field
from omni_ipc.testbed.brief import brief
from omni_ipc.testbed.instrument.sites import Kind, Site
from omni_ipc.testbed.operations import Operation, Subject
from omni_ipc.testbed.tasks import Task


class Shown:
    """What an access is about, with the object that holds it.

    Args:
        subject: of the access.
        held: object, container or cell that it is in.
        part: attribute of the object; None for a whole container.
    """

    __slots__ = ("_held", "_part", "_site", "_subject", "bit")

    def __init__(self, operation: Operation, subject: Subject, site: Site, held: Any, part: str | None) -> None:
        self.bit = operation.reads | operation.writes
        self._subject = subject
        self._site = site
        self._held = held
        self._part = part

    def label(self) -> dict[str, Field]:
        return self._subject.label()

    def blocked_on(self) -> str:
        return self._subject.blocked_on()

    def holder(self) -> Task | None:
        return self._subject.holder()

    @property
    def container(self) -> object | None:
        """The container that is accessed, or of which an item is; None if it is something else."""
        return self._held if self._part is None else None

    def shown(self) -> str:
        """Return the value that is there now."""
        try:
            return brief(self._value())
        except Exception:  # not there yet, or any more; or the code under test cannot tell
            return "not there"

    def _value(self) -> object:
        if isinstance(self._held, CellType):
            return self._held.cell_contents
        if self._site.kind is Kind.GLOBAL:
            return vars(sys.modules[self._site.module])[self._site.name]
        return self._held if self._part is None else getattr(self._held, self._part)
