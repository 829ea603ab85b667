"""Memory of a simulated device, or of the host: a block holds one value, and each use of it is a step."""

from __future__ import annotations

from typing import Any, Final

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.objects.base import Controlled
from omni_ipc.testbed.operations import Operation, Reading

POISON: Final = b"\xde\xad\xbe\xef"
"""What memory holds that nobody has written yet, or that was given back."""


class Block(Controlled):
    """A piece of memory.

    Attributes:
        value: what it holds now; streams use it in their steps, and tell the kernel.
    """

    kind = "block"

    def __init__(self, kernel: Kernel, value: Any = POISON) -> None:
        super().__init__(kernel)
        self.value = value

    def load(self) -> Any:
        """Read it from a task of the host."""
        return self.kernel.perform(Reading("memory.load", self, lambda: self.value))

    def store(self, value: Any) -> None:
        """Write it from a task of the host."""
        self.kernel.perform(Operation("memory.store", self, lambda: self.put(value)))

    def get(self) -> Any:
        """Read it within a step."""
        self.kernel.reads |= self.bit
        return self.value

    def put(self, value: Any) -> None:
        """Write it within a step."""
        self.kernel.writes |= self.bit
        self.value = value

    @property
    def is_poison(self) -> bool:
        """Whether nobody has written it yet, or it was given back."""
        return self.value is POISON

    def shown(self) -> str:
        return "poison" if self.is_poison else repr(self.value)
