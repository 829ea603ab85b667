"""What all controlled objects share: identity, name, and a kernel."""

from __future__ import annotations

from omni_ipc.records import Field
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.tasks import Task


class Controlled:
    """An object whose every operation is a step.

    Attributes:
        bit: names it in sets of objects; the same in every schedule.
    """

    kind = "object"
    is_plumbing = False
    """Whether nothing is told to anybody by its state, as by that of a lock."""

    def __init__(self, kernel: Kernel) -> None:
        self.adopt(kernel)
        if kernel.keeps is not None:
            kernel.keeps.append(self)

    def adopt(self, kernel: Kernel) -> None:
        """Belong to a run, as something new."""
        self.kernel = kernel
        self._maker, self._number = kernel.identify()
        self.bit = kernel.identities[self._maker.key, self._number]
        if self.is_plumbing:
            kernel.plumbing |= self.bit

    def __hash__(self) -> int:
        """Give sets of them the same order in each run."""
        return hash(self.identity)

    @property
    def identity(self) -> tuple[int, int]:
        """What names it in every schedule: its maker, and its number."""
        return self._maker.key, self._number

    @property
    def name(self) -> str:
        """Kind and number; with the name of its maker, unless the scenario itself made it: "pump.future2"."""
        maker = f"{self._maker.name}." if self._maker.index > 0 else ""
        return f"{maker}{self.kind}{self._number}"

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def label(self) -> dict[str, Field]:
        return {self.kind: self.name}

    def blocked_on(self) -> str:
        return self.name

    def holder(self) -> Task | None:
        return None
