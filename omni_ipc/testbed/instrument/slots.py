"""Attributes that lie in slots, and in no dictionary."""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator
from typing import Any


class Slots:
    """The slots of an object."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.names = [
            (kind, name)
            for kind in type(owner).__mro__
            for name, member in vars(kind).items()
            if isinstance(member, types.MemberDescriptorType)
        ]

    def read(self) -> list[Any]:
        """Return their values; a slot that is empty has its own name."""
        return [self._get(kind, name) for kind, name in self.names]

    def _get(self, kind: type, name: str) -> Any:
        try:
            return vars(kind)[name].__get__(self.owner)
        except AttributeError:
            return vars(kind)[name]

    def write(self, values: Iterable[Any]) -> None:
        for (kind, name), value in zip(self.names, values, strict=True):
            member = vars(kind)[name]
            if value is member:
                member.__delete__(self.owner)
            else:
                member.__set__(self.owner, value)

    def items(self, path: str) -> Iterator[tuple[str, object]]:
        yield from ((f"{path}.{name}", value) for (_, name), value in zip(self.names, self.read(), strict=True))
