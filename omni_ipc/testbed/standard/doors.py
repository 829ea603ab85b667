"""What stands in for a class that is not written in Python, and so cannot itself be changed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import GenericAlias
from typing import Any

from omni_ipc.testbed.standard.world import WORLD, asks


class Door:
    """Makes look-alikes for code under test, and originals for anybody else; in all other respects it is the original.

    Args:
        base: what a class of code under test inherits from that names the original as its base.
    """

    def __init__(self, original: type, make: Callable[..., Any], base: type | None = None) -> None:
        self._original = original
        self._make = make
        self._base = base or original
        self.__doc__ = original.__doc__

    def __call__(self, *args: Any, **options: Any) -> Any:
        kernel = WORLD.maker()
        if kernel is None or not asks(sys._getframe(1)):
            return self._original(*args, **options)
        try:
            return self._make(kernel, *args, **options)
        except TypeError:
            self._original(*args, **options)  # tells in its own words what is wrong with its arguments
            raise

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, (self._original, self._base)) or type(instance) is self._make

    def __subclasscheck__(self, kind: type) -> bool:
        return issubclass(kind, (self._original, self._base))

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return (self._base if asks(sys._getframe(1)) else self._original,)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def __getitem__(self, item: Any) -> Any:
        return GenericAlias(self, item)  # type: ignore[arg-type]

    def __or__(self, other: Any) -> Any:
        return self._original | other

    def __ror__(self, other: Any) -> Any:
        return other | self._original

    def __repr__(self) -> str:
        return repr(self._original)
