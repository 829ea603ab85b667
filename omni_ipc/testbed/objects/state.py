"""Attributes by which others see, or set, the state of a look-alike: ``queue.maxsize``, ``semaphore._value``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from omni_ipc.records import Field
from omni_ipc.testbed.brief import brief
from omni_ipc.testbed.objects.base import Controlled
from omni_ipc.testbed.operations import Operation, Reading
from omni_ipc.testbed.tasks import Task
from omni_ipc.testbed.where import is_foundation


class State:
    """An attribute whose use by code under test is a step.

    The testbed's own code, and the standard library's, uses it within steps of its own.

    Args:
        name: of the attribute.
        kept: the name under which objects have it in their ``__dict__``.
        subject: gives what the step is about; None if the object is not under control.
        is_container: who reads it may change what is in it.
    """

    def __init__(
        self, name: str, kept: str, subject: Callable[[Any], Controlled | None], *, is_container: bool = False
    ) -> None:
        self._name, self._kept = name, kept
        self._subject = subject
        self._look = Operation if is_container else Reading

    def __get__(self, value: Any, kind: type | None = None) -> Any:
        if value is None:
            raise AttributeError(f"type object '{getattr(kind, '__name__', kind)}' has no attribute '{self._name}'")
        subject = self._subject(value) if is_under_test(sys._getframe(1)) else None
        if subject is None:
            return self._get(value)
        field = Part(subject, self._name, lambda: self._get(value))
        return subject.kernel.perform(self._look("field.read", field, field.get))

    def __set__(self, value: Any, new: Any) -> None:
        def put() -> None:
            value.__dict__[self._kept] = new

        subject = self._subject(value) if is_under_test(sys._getframe(1)) else None
        if subject is None:
            put()
        else:
            field = Part(subject, self._name, lambda: self._get(value))
            subject.kernel.perform(Operation("field.write", field, put))

    def __delete__(self, value: Any) -> None:
        self.__get__(value)
        del value.__dict__[self._kept]

    def _get(self, value: Any) -> Any:
        try:
            return value.__dict__[self._kept]
        except KeyError:
            raise AttributeError(f"'{type(value).__name__}' object has no attribute '{self._name}'") from None


class Part:
    """An attribute as the subject of a step."""

    __slots__ = ("_name", "_whole", "bit", "get")

    def __init__(self, whole: Controlled, name: str, get: Callable[[], Any]) -> None:
        self._whole = whole
        self._name = name
        self.bit = whole.bit
        self.get = get

    def label(self) -> dict[str, Field]:
        return {"field": f"{self._whole.name}.{self._name}"}

    def shown(self) -> str:
        return brief(self.get())

    def blocked_on(self) -> str:
        return f"{self._whole.name}.{self._name}"

    def holder(self) -> Task | None:
        return None


def own(name: str, kept: str, *, is_container: bool = False) -> Any:
    """Return an attribute of a look-alike."""
    return State(name, kept, _itself, is_container=is_container)


def _itself(value: Any) -> Controlled:
    assert isinstance(value, Controlled)
    return value


def is_under_test(frame: FrameType) -> bool:
    """Tell whether a line is neither the testbed's nor the standard library's."""
    return not is_foundation(frame.f_code.co_filename)
