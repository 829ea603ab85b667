"""The two ends of a link between engine and workers: what serving asks of a transport."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

from omni_ipc.errors import OmniError
from omni_ipc.serving.messages import Command, Reply

M_co = TypeVar("M_co", covariant=True)
M_contra = TypeVar("M_contra", contravariant=True)


class Delivery(Protocol[M_co]):
    """One received message, and the tensors beside it, still packed."""

    @property
    def message(self) -> M_co: ...

    def unpack(self) -> Any:
        """Build the tree of tensors that was sent beside the message, or None.

        Raises:
            FormatError: the bytes disagree with their description.
        """


class Sender(Protocol[M_contra]):
    """The writing end: one writer context, messages in order, once, unaltered."""

    def send(self, message: M_contra, payload: Any = None) -> None:
        """Send a message, and a tree of host tensors beside it, within the sender's timeout.

        Raises:
            Full: no room came free in time; nothing was written.
            UsageError: the payload holds something that cannot travel; nothing was written.
        """

    def close(self) -> None:
        """Say that nothing more will come."""


class Receiver(Protocol[M_co]):
    """The reading end of one or more senders."""

    def receive(self, timeout: float) -> Delivery[M_co]:
        """Take the next message.

        Raises:
            Timeout: nothing came within ``timeout`` seconds; nothing was consumed.
            PeerClosed: every sender has closed and everything was taken, or this end was closed.
            FormatError: what came is no such message; it alone is lost.
            LaneBroken: nothing more will come from one of the senders.
        """

    def close(self) -> None:
        """Stop receiving; a receive that is waiting ends with `PeerClosed`."""


class WorkerLink(Protocol):
    """The engine's ends of the links to all its workers, one a rank."""

    @property
    def requests(self) -> Sender[Command]:
        """Goes to every rank, or to none."""

    @property
    def results(self) -> Receiver[Reply]:
        """Gives whatever any rank says."""

    @property
    def ranks(self) -> int:
        """How many workers there are."""

    def death(self, rank: int, /) -> OmniError | None:
        """Tell how a worker died, if it did: the error of its thread, its exit status, or the name of the signal."""

    def stopped(self, rank: int, /) -> OmniError | None:
        """Tell whether a worker's process lives, and was stopped by a signal, so that it does nothing."""

    def join(self) -> None:
        """Wait until every worker has ended, after Stop.

        Raises:
            OmniError: one ended with an error, or does not end.
        """
