"""One call to every rank, and what each of them answered."""

from __future__ import annotations

from typing import Any

from omni_ipc.errors import PeerFailed
from omni_ipc.seam.api import Future, Runtime
from omni_ipc.seam.futures import fail, resolve


class Wave:
    """The answers to one broadcast; changed under the table's lock, while the table holds it.

    Attributes:
        answers: a rank's value, or its error.
        decided: resolved once all ranks have answered, or one with an error: the others may hang in a collective
            operation with it, and never answer.
        complete: resolved once all ranks have answered.
    """

    def __init__(self, *, rt: Runtime, ranks: int) -> None:
        self.answers: dict[int, Any] = {}
        self._ranks = ranks
        self.decided: Future[None] = rt.future()
        self.complete: Future[None] = rt.future() if ranks > 1 else self.decided

    @property
    def silent(self) -> tuple[int, ...]:
        """Ranks that have not answered."""
        return tuple([rank for rank in range(self._ranks) if rank not in self.answers])

    def who_is_silent(self) -> str:
        """Name the ranks that have not answered."""
        if self._ranks == 1:
            return "The worker"
        return f"Of {self._ranks} workers, rank {', '.join(map(str, self.silent))}"

    def take(self, rank: int, answer: object) -> bool:
        """Note a rank's answer; False if it has answered before, or is none of the ranks asked."""
        if rank in self.answers or not 0 <= rank < self._ranks:
            return False
        self.answers[rank] = answer
        if len(self.answers) == self._ranks:
            resolve(self.complete, None)
            resolve(self.decided, None)
        elif isinstance(answer, BaseException):
            resolve(self.decided, None)
        return True

    def gathered(self) -> list[Any]:
        """Give one value a rank.

        Raises:
            PeerFailed: a rank has failed, or has not answered; tells of all that did.
        """
        wrong = {rank: answer for rank, answer in self.answers.items() if isinstance(answer, BaseException)}
        if not wrong and not self.silent:
            return [self.answers[rank] for rank in range(self._ranks)]
        if len(wrong) == 1 and self._ranks == 1:
            raise wrong[0]
        told = [f"rank {rank}: {wrong[rank]}" for rank in sorted(wrong)]
        told += [f"rank {rank} has not answered" for rank in self.silent]
        raise PeerFailed(f"{len(told)} of {self._ranks} workers failed. " + "\n".join(told))

    def fail(self, reason: BaseException) -> None:
        """Tell whoever waits that nothing more will come."""
        fail(self.complete, reason)
        fail(self.decided, reason)
