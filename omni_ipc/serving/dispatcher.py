"""The dispatcher: the one task that sends requests to the workers, a batch at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import msgspec

from omni_ipc.errors import InternalError, OmniError, ShutdownError
from omni_ipc.serving.admission import Admission
from omni_ipc.serving.requests import Request
from omni_ipc.serving.results import Computed
from omni_ipc.serving.scheduler import Scheduler


class Done(Protocol):
    """What both kinds of computation tell of themselves.

    Attributes:
        execution_s: how long it took the workers.
        stages: of the model, with the seconds that each took.
    """

    @property
    def execution_s(self) -> float: ...
    @property
    def stages(self) -> Mapping[str, float]: ...


class Executed(Done, Protocol):
    """A forward that is done.

    Attributes:
        outputs: the id of each request's output, in order of the requests.
    """

    @property
    def outputs(self) -> Sequence[str]: ...


class Stepped(Done, Protocol):
    """A step that is done.

    Attributes:
        values: one a request: its output if that was its last step, an error if it failed, else None.
    """

    @property
    def values(self) -> Sequence[Any]: ...


class Computing(Protocol):
    """Where requests are computed: the executor."""

    def execute(self, requests: Sequence[Request]) -> Executed:
        """Have requests computed in one forward; their outputs come by themselves."""

    def step(self, requests: Sequence[Request]) -> Stepped:
        """Have one step of each request computed."""


class Dispatcher:
    """Computes what the scheduler chooses, until the scheduler is closed; whole requests, each in one forward.

    Args:
        look_s: how often the scheduler looks for deleted streams while there is nothing to compute.
    """

    def __init__(self, *, executor: Computing, scheduler: Scheduler, look_s: float) -> None:
        self._executor = executor
        self._scheduler = scheduler
        self._look_s = look_s

    def run(self) -> None:
        """Dispatch to the end; whatever ends it, no request stays behind uncomputed."""
        reason: OmniError = InternalError("The dispatcher ended unexpectedly. Look at its traceback above.")
        try:
            running: Sequence[Admission] = ()
            while (batch := self._scheduler.next_batch(running, look_s=self._look_s)) is not None:
                running = self._attempt(batch)
                del batch  # or what was computed would be kept until there is more to compute
            reason = ShutdownError("The engine shut down before the request was computed. Start a new one for it.")
        finally:
            self._scheduler.close(reason)
            self._scheduler.abandon(reason)

    def _attempt(self, batch: Sequence[Admission]) -> Sequence[Admission]:
        """Compute a batch; whatever goes wrong with it, goes wrong for it alone."""
        try:
            return self._compute(batch)
        except OmniError as error:
            wrong = error
        except Exception as error:
            wrong = InternalError(
                f"A batch could not be dispatched: {error!r}. Please report it, unless memory is full."
            )
            wrong.__cause__ = error
        self._scheduler.settle([(admission, wrong) for admission in batch])
        return ()

    def _compute(self, batch: Sequence[Admission]) -> Sequence[Admission]:
        """Compute a batch, and give those of its requests that go on in the next one."""
        done = self._executor.execute([admission.request for admission in batch])
        computed = [Computed(output, None, done.execution_s, dict(done.stages)) for output in done.outputs]
        self._scheduler.settle(list(zip(batch, computed, strict=True)), batch_s=done.execution_s)
        return ()


class StepDispatcher(Dispatcher):
    """Computes requests step by step: others join and leave in between, and outputs come with the answers."""

    def __init__(self, *, executor: Computing, scheduler: Scheduler, look_s: float) -> None:
        super().__init__(executor=executor, scheduler=scheduler, look_s=look_s)
        self._spent: dict[int, _Spent] = {}  # by number, of the requests that go on

    def _compute(self, batch: Sequence[Admission]) -> Sequence[Admission]:
        done = self._executor.step([self._request(admission) for admission in batch])
        self._spent = {each.number: self._spent.get(each.number, _Spent()).plus(done) for each in batch}
        ended = [
            (admission, value if isinstance(value, OmniError) else self._spent[admission.number].computed(value))
            for admission, value in zip(batch, done.values, strict=True)
            if value is not None
        ]
        self._scheduler.settle(ended, batch_s=done.execution_s)
        return [admission for admission, value in zip(batch, done.values, strict=True) if value is None]

    def _request(self, admission: Admission) -> Request:
        """Give the request with its number; its inputs only once, as the pipeline keeps what it needs of them."""
        inputs = None if admission.number in self._spent else admission.request.inputs
        return msgspec.structs.replace(admission.request, inputs=inputs, number=admission.number)


class _Spent(NamedTuple):
    """What the steps of a request have taken so far."""

    execution_s: float = 0.0
    stages: Mapping[str, float] = MappingProxyType({})

    def plus(self, step: Stepped) -> _Spent:
        stages = {name: self.stages.get(name, 0.0) + seconds for name, seconds in step.stages.items()}
        return _Spent(self.execution_s + step.execution_s, {**self.stages, **stages})

    def computed(self, value: object) -> Computed:
        return Computed(None, value, self.execution_s, dict(self.stages))
