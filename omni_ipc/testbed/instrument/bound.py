"""Functions of C that are kept, to be called later: ``add = items.append``, ``Thread(target=setattr)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Bound:
    """A method of a container that announces its calls, and is the method in all else.

    Args:
        announce: called with the container and the arguments, before each call.
    """

    __slots__ = ("_announce", "_method")

    def __init__(self, method: Any, announce: Callable[[Any, tuple[Any, ...]], None]) -> None:
        self._method = method
        self._announce = announce

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        self._announce(self._method.__self__, (*arguments, *keywords.values()))
        return self._method(*arguments, **keywords)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._method, name)

    def __eq__(self, other: object) -> bool:
        method = other._method if isinstance(other, Bound) else other
        return bool(self._method == method)

    def __hash__(self) -> int:
        return hash(self._method)

    def __repr__(self) -> str:
        return repr(self._method)


class Handed(Bound):
    """A function of C that announces its calls, and is the function in all else.

    Args:
        announce: called with the function and the arguments, before each call.
    """

    __slots__ = ()

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        self._announce(self._method, (*arguments, *keywords.values()))
        return self._method(*arguments, **keywords)
