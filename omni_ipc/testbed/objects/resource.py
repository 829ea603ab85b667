"""What must be released exactly once: slots, leases, descriptors; an oracle, and no object of the product."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from omni_ipc.records import Failure, FailureKind
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.objects.base import Controlled
from omni_ipc.testbed.where import locate_here


class Resource(Controlled):
    """A kind of thing that is taken and released; to do so is no point, but part of the step in progress.

    A run fails as soon as something is released that nobody holds, or taken that somebody holds; and if, when all is
    over, something was never released.
    """

    kind = "resource"

    def __init__(self, kernel: Kernel, name: str) -> None:
        super().__init__(kernel)
        self._name = name
        self._held: dict[Hashable, tuple[str, str | None]] = {}  # by key: the task that took it, and where
        kernel.closers.append(self._check)

    @property
    def name(self) -> str:
        return self._name

    def take(self, key: Hashable = None) -> None:
        """Note that the current task has taken one.

        Args:
            key: tells it from others of its kind: a slot's number.
        """
        kernel = self.kernel
        kernel.writes |= self.bit
        if key in self._held:
            self._fail(f"{self._title(key)} was taken by '{self._held[key][0]}', and is taken again")
        self._held[key] = (kernel.current.name, locate_here() if kernel.observer is not None else None)

    def release(self, key: Hashable = None) -> None:
        """Note that it was released, by whomever."""
        if self.kernel.over:
            return  # what runs is cleaning up, which is no part of the run
        self.kernel.writes |= self.bit
        if self._held.pop(key, None) is None:
            self._fail(f"{self._title(key)} is released, and nobody holds it")

    def is_held(self, key: Hashable = None) -> bool:
        """Tell whether it was taken, and not released; no point."""
        self.kernel.reads |= self.bit
        return key in self._held

    @contextmanager
    def held(self, key: Hashable = None) -> Iterator[None]:
        """Hold one for a while."""
        self.take(key)
        try:
            yield
        finally:
            self.release(key)

    def shown(self) -> str:
        return f"{len(self._held)} held"

    def _title(self, key: Hashable) -> str:
        return self._name if key is None else f"{self._name} {key}"

    def _fail(self, message: str) -> None:
        kernel = self.kernel
        kernel.end(Failure(FailureKind.LEAK, message, kernel.current.name, locate_here()))

    def _check(self) -> None:
        """Fail the run, if nothing else did, for what is held at its end."""
        kernel = self.kernel
        if self._held and kernel.failure is None and kernel.escape is None and not kernel.pruned:
            key, (task, where) = next(iter(self._held.items()))
            more = f" (and {len(self._held) - 1} more)" if len(self._held) > 1 else ""
            message = f"{self._title(key)}, taken by '{task}', was never released{more}"
            kernel.failure = Failure(FailureKind.LEAK, message, task, where)
