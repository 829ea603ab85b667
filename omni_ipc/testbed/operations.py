"""Operations: what a task announces at a point, and then is resumed to perform."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from omni_ipc.records import Field

if TYPE_CHECKING:
    from omni_ipc.testbed.tasks import Task


class Subject(Protocol):
    """What an operation is about: a lock, a queue, the end of a task, ..."""

    @property
    def bit(self) -> int: ...

    def label(self) -> dict[str, Field]:
        """Name the subject in a trace: {"lock": "lock1"}."""

    def blocked_on(self) -> str:
        """Tell what a task that cannot go on waits for: "lock1, which 'pump' holds"."""

    def holder(self) -> Task | None:
        """Return the one task that can end the wait, if there is only one."""


def always() -> bool:
    """Tell that an operation can go on at any time."""
    return True


def never() -> bool:
    """Tell that an operation can never go on."""
    return False


def nothing() -> Any:
    """Do nothing: the turn itself was all that the operation is about."""
    return None


def unlimited() -> Any:
    """Stand for what an operation without a time limit does when that has passed."""
    raise AssertionError("an operation without a time limit has timed out")


class Operation:
    """A pending operation.

    Args:
        action: as it stands in a trace: "queue.get".
        subject: what it is about; by default the operation conflicts with every other one on the same subject.
        execute: performs it; called only while ``enabled()``.
        enabled: tells, without side effects, whether it can be performed now.
        expire: called in place of ``execute`` if the time limit has passed before it was enabled.
        extra: more fields for the trace.
    """

    __slots__ = ("action", "enabled", "execute", "expire", "extra", "reads", "subject", "writes")

    exclusive = False
    """Whether one task alone can end the wait; a cycle of such waits is a deadlock."""

    def __init__(
        self,
        action: str,
        subject: Subject | None,
        execute: Callable[[], Any],
        enabled: Callable[[], bool] = always,
        expire: Callable[[], Any] = unlimited,
        extra: Mapping[str, Field] | None = None,
    ) -> None:
        self.action = action
        self.subject = subject
        self.execute = execute
        self.enabled = enabled
        self.expire = expire
        self.extra = extra
        self.reads = 0
        self.writes = subject.bit if subject is not None else 0

    @property
    def fences(self) -> bool:
        """Whether all that its task has stored in shared words must have been seen before it."""
        return True

    def fields(self) -> dict[str, Field]:
        """Return its fields in a trace."""
        fields = self.subject.label() if self.subject is not None else {}
        return {**fields, **self.extra} if self.extra else fields

    def where(self) -> str | None:
        """Name the line that it comes from, if that is not the line at which its task is."""
        return None

    def label(self) -> str:
        """Name its subject."""
        return " ".join(map(str, self.fields().values())) or "nothing"

    def blocked_on(self) -> str:
        return self.subject.blocked_on() if self.subject is not None else "time"

    def holder(self) -> Task | None:
        return self.subject.holder() if self.subject is not None else None


class Reading(Operation):
    """An operation that looks at its subject and leaves it as it is: two of them commute."""

    __slots__ = ()

    def __init__(
        self,
        action: str,
        subject: Subject,
        execute: Callable[[], Any],
        enabled: Callable[[], bool] = always,
        expire: Callable[[], Any] = unlimited,
        extra: Mapping[str, Field] | None = None,
    ) -> None:
        super().__init__(action, subject, execute, enabled, expire, extra)
        self.reads = self.writes
        self.writes = 0


class Owning(Operation):
    """An operation on what one task holds: a lock, or the end of a task."""

    __slots__ = ()
    exclusive = True
