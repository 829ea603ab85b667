"""What stands for generators where they are used later than the code under test says so: it announces that use.

The steps of an asynchronous loop are asked for by the interpreter; one that is handed on (``wait_for(anext(it), 1)``)
is begun by the event loop; and what closes a generator behind a block does so when the block ends.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Generator
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any

Announce = Callable[[Any], object]
"""Called with the generator, right before it is used."""

_STEPS = frozenset({"async_generator_asend", "async_generator_athrow", "anext_awaitable"})
"""Types of what is awaited for a step; they have no names that code could use."""


class AsyncSteps:
    """The steps of an asynchronous loop.

    Args:
        iterable: an asynchronous iterator.
    """

    __slots__ = ("_announce", "_steps")

    def __init__(self, iterable: Any, announce: Announce) -> None:
        self._steps = aiter(iterable)
        self._announce = announce

    def __aiter__(self) -> AsyncSteps:
        return self

    def __anext__(self) -> Any:
        self._announce(self._steps)
        return self._steps.__anext__()


class AsyncStep:
    """One step of an asynchronous generator, to be awaited by anybody, or run as a task."""

    __slots__ = ("_announce", "_generator", "_step")

    def __init__(self, step: Any, generator: Any, announce: Announce) -> None:
        self._step = step
        self._generator = generator
        self._announce = announce

    def __await__(self) -> Generator[Any, Any, Any]:
        self._begin()
        steps: Generator[Any, Any, Any] = self._step.__await__()
        return steps

    def send(self, value: Any) -> Any:
        self._begin()
        return self._step.send(value)

    def throw(self, *error: Any) -> Any:
        self._begin()
        return self._step.throw(*error)

    def close(self) -> None:
        self._step.close()

    def _begin(self) -> None:
        if self._generator is not None:
            generator, self._generator = self._generator, None
            self._announce(generator)


class _Closing(contextlib.closing[Any]):
    thing: Any

    def __init__(self, thing: Any, announce: Announce) -> None:
        super().__init__(thing)
        self._announce = announce

    def __exit__(self, *error: Any) -> None:
        self._announce(self.thing)
        super().__exit__(*error)


class _AsyncClosing(contextlib.aclosing[Any]):
    thing: Any

    def __init__(self, thing: Any, announce: Announce) -> None:
        super().__init__(thing)
        self._announce = announce

    def __aexit__(self, *error: Any) -> Any:
        self._announce(self.thing)
        return super().__aexit__(*error)


def announced(value: Any, announce: Announce) -> Any:
    """Return what stands for a step of an asynchronous generator, or for what closes a generator; else the value."""
    kind = type(value)
    if kind.__name__ in _STEPS:
        generator = _generator_of(value)
        return value if generator is None else AsyncStep(value, generator, announce)
    if kind is contextlib.closing and type(value.thing) in (GeneratorType, CoroutineType):
        return _Closing(value.thing, announce)
    if kind is contextlib.aclosing and type(value.thing) is AsyncGeneratorType:
        return _AsyncClosing(value.thing, announce)
    return value


def _generator_of(step: Any) -> Any:
    """Return the generator that a step is one of; one with a default has another one inside."""
    for part in gc.get_referents(step):
        if type(part) is AsyncGeneratorType:
            return part
        if type(part).__name__ in _STEPS:
            return _generator_of(part)
    return None
