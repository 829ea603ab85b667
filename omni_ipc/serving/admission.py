"""An admitted request, from the call that admits it to its one outcome."""

from __future__ import annotations

from collections import deque

from omni_ipc.errors import OmniError
from omni_ipc.seam.api import Future
from omni_ipc.serving.requests import Request
from omni_ipc.serving.results import Computed, Outcome


class Admission:
    """One admitted request, up to its one outcome.

    Attributes:
        computed: settled once its forward is done, or will never be.
        output: the id of its output, once there is one.
        outcome: None while it is open.
        error: what its consumer gets, if the outcome is not a result.
    """

    __slots__ = ("computed", "error", "number", "outcome", "output", "request")

    def __init__(self, request: Request, number: int, computed: Future[Computed]) -> None:
        self.request = request
        self.number = number
        self.computed = computed
        self.output: str | None = None
        self.outcome: Outcome | None = None
        self.error: OmniError | None = None


class Deserted:
    """Requests whose streams were deleted.

    Guarded by nothing: a destructor may run in the middle of any critical section, of the same thread, too. Both ends
    of a deque are safe by themselves.
    """

    def __init__(self) -> None:
        self.admissions: deque[Admission] = deque()
