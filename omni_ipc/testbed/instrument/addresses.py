"""What ``id()`` gives to instrumented code: a number that tells when its size is asked for, and not only who it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_ORDERING = ("__lt__", "__le__", "__gt__", "__ge__")
_SIZING = ("__mod__", "__and__", "__rshift__", "__floordiv__", "__divmod__", "__xor__", "__sub__", "__rsub__")


class Address(int):
    """An address; to tell two objects apart by it is harmless."""

    tell: Callable[[], None]


def _telling(name: str) -> Callable[..., Any]:
    original = getattr(int, name)

    def asked(self: Address, *others: Any) -> Any:
        self.tell()
        return original(self, *others)

    asked.__name__ = name
    return asked


for _name in (*_ORDERING, *_SIZING):
    setattr(Address, _name, _telling(_name))
