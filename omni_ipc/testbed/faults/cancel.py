"""Cancellation at any boundary: somebody gives up on a future, or on an asyncio task, at the worst of moments."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable
from typing import Protocol, runtime_checkable

from omni_ipc.testbed.faults.kernel import FaultingKernel, written


@runtime_checkable
class Cancellable(Protocol):
    """What announces itself to the kernel when it is made, and may be cancelled."""

    @property
    def name(self) -> str: ...

    @property
    def bit(self) -> int: ...

    @property
    def identity(self) -> Hashable:
        """A key that is the same in every schedule."""

    def can_be_cancelled(self, *, by_name: bool) -> bool:
        """Tell whether it is unsettled.

        Args:
            by_name: whether this one is meant, or any: some are spared then.
        """

    def cancel_at_once(self) -> Callable[[], object] | None:
        """Cancel it, in the step in progress, and return what is to follow, as a task of its own: its callbacks."""


@dataclasses.dataclass(frozen=True, slots=True)
class Cancel:
    """Cancels what nobody has settled yet.

    Args:
        target: name of a future or an asyncio task as traces tell it, "future2", "Future-1" or "Task-2"; empty for
            any, but for the task that a loop runs for, whose end would be that of nearly every scenario.
        at_most: how many times in a run.
    """

    target: str = ""
    at_most: int = 1

    def __str__(self) -> str:
        return written("cancel", self.target, self.at_most)

    def arm(self, kernel: FaultingKernel) -> None:
        budget = kernel.budget(("cancel", self.target), self.at_most)

        def cancel(made: Cancellable) -> None:
            kernel.writes |= made.bit
            if (follow := made.cancel_at_once()) is not None:
                kernel.launch_beside(f"after cancel({made.name})", follow, key=made.identity)

        def adopt(made: object) -> None:
            if not isinstance(made, Cancellable):
                return
            name = self.target or made.name

            def possible() -> bool:
                if self.target not in ("", made.name) or not made.can_be_cancelled(by_name=bool(self.target)):
                    return False
                kernel.met.add(str(self))
                if not self.target and made.name != name:  # asyncio names some tasks only after it has made them
                    agent.call(f"cancel({made.name})", f"fault.cancel({made.name})")
                return True

            agent = kernel.add_fault(
                f"cancel({name})",
                action=f"fault.cancel({name})",
                possible=possible,
                act=lambda: cancel(made),
                budget=budget,
                key=made.identity,
            )

        kernel.on_made.append(adopt)
