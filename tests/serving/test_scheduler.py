"""The scheduler: eager admission, batches, aborts at every moment, and the statistics of it all."""

from __future__ import annotations

import pytest

from omni_ipc.errors import Aborted, Full, OmniError, PeerFailed, ShutdownError
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.admission import Admission
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.requests import Request
from omni_ipc.serving.results import Computed, Outcome
from omni_ipc.serving.scheduler import Scheduler
from omni_ipc.testbed import ControlledRuntime
from tests.serving.exhausting import exhaust
from tests.support.table_executor import EXECUTION_S, TableExecutor, assert_settled, engine_over

A, B, C = map(Request, "abc")


class Dropped(list[str]):
    """Outputs that nobody asks for."""

    def drop(self, output: str) -> None:
        self.append(output)

    def wait(self, output: str) -> object:
        raise AssertionError(output)

    def describe(self) -> str:
        return ""


@pytest.fixture
def dropped() -> Dropped:
    return Dropped()


@pytest.fixture
def scheduler(dropped: Dropped) -> Scheduler:
    return Scheduler(rt=NativeRuntime(), outputs=dropped, max_batch=2, max_waiting=3)


def ids(batch: object) -> list[str]:
    assert isinstance(batch, list)
    return [admission.request.id for admission in batch]


def computed(output: str) -> Computed:
    return Computed(output, None, EXECUTION_S, {})


def error_of(admission: Admission) -> BaseException | None:
    return admission.computed.exception(0)


def test_requests_are_taken_in_order_and_so_many_at_once(scheduler: Scheduler) -> None:
    """Up to ``max_batch``; what runs on in steps counts among them, unless it has ended."""
    admissions = [scheduler.admit(request) for request in (A, B, C)]
    assert ids(scheduler.next_batch(look_s=1.0)) == ["a", "b"]
    scheduler.admit(Request("d"))
    assert ids(scheduler.next_batch(admissions[:1], look_s=1.0)) == ["a", "c"]
    scheduler.abort("a")
    assert ids(scheduler.next_batch([*admissions[:1], admissions[2]], look_s=1.0)) == ["c", "d"]


def test_one_request_too_many_is_refused_at_the_call(scheduler: Scheduler) -> None:
    """The error says how many wait and which setting to set; room is there again once some are taken."""
    for request in (A, B, C):
        scheduler.admit(request)
    with pytest.raises(Full, match=r"Request 'a' was not admitted: 3 requests wait already.*set max_waiting"):
        scheduler.admit(A)
    scheduler.next_batch(look_s=1.0)
    scheduler.admit(A)
    assert scheduler.statistics().admitted == 4


def test_an_abort_before_its_turn_keeps_a_request_from_being_computed(scheduler: Scheduler) -> None:
    """It leaves the queue, and makes room in it."""
    first = scheduler.admit(A)
    scheduler.admit(B)
    assert scheduler.abort(["a", "nobody"]) == 1
    assert isinstance(error_of(first), Aborted)
    assert ids(scheduler.next_batch(look_s=1.0)) == ["b"]
    assert scheduler.abort(["a"]) == 0


def test_an_abort_during_execution_drops_the_output_once_it_has_an_id(scheduler: Scheduler, dropped: Dropped) -> None:
    """Of that request alone; its sibling in the batch is left in peace."""
    batch = [scheduler.admit(A), scheduler.admit(B)]
    scheduler.next_batch(look_s=1.0)
    scheduler.abort(["a"])
    assert dropped == []
    scheduler.settle([(batch[0], computed("1/1")), (batch[1], computed("1/2"))], batch_s=EXECUTION_S)
    assert dropped == ["1/1"]
    assert batch[1].computed.result(0).output == "1/2"


def test_an_abort_after_execution_drops_the_output_that_nobody_took(scheduler: Scheduler, dropped: Dropped) -> None:
    """And not the one that was taken: a request has one outcome."""
    batch = [scheduler.admit(A), scheduler.admit(B)]
    scheduler.next_batch(look_s=1.0)
    scheduler.settle([(batch[0], computed("1/1")), (batch[1], computed("1/2"))])
    assert scheduler.deliver(batch[0], 0.5) is None
    assert scheduler.abort("ab") == 1
    assert dropped == ["1/2"]
    assert isinstance(scheduler.deliver(batch[1], 0.5), Aborted)
    assert scheduler.end(batch[0], Aborted("too late")) is None


def test_an_id_that_is_used_again_is_a_request_of_its_own(scheduler: Scheduler, dropped: Dropped) -> None:
    """To close the older stream leaves the newer one alone; to abort the id ends both."""
    old, new = scheduler.admit(A), scheduler.admit(A)
    scheduler.settle([(old, computed("1")), (new, computed("2"))])
    scheduler.end(old, Aborted("closed"))
    assert dropped == ["1"]
    assert new.outcome is None
    newest = scheduler.admit(A)
    assert scheduler.abort("a") == 2
    assert dropped == ["1", "2"]
    assert newest.outcome is Outcome.ABORTED


def test_a_failed_batch_fails_its_requests_alone(scheduler: Scheduler) -> None:
    """Each with the worker's error."""
    failed, other = scheduler.admit(A), scheduler.admit(B)
    scheduler.settle([(failed, PeerFailed("The worker raised."))])
    assert isinstance(error_of(failed), PeerFailed)
    assert other.outcome is None


def test_what_is_closed_admits_nothing_and_leaves_what_is_computed(scheduler: Scheduler, dropped: Dropped) -> None:
    """Waiting requests end with the reason, which is told to later ones, too; computed ones stay with their streams."""
    done = scheduler.admit(A)
    scheduler.next_batch(look_s=1.0)
    scheduler.settle([(done, computed("1"))])
    running = scheduler.admit(B)
    scheduler.next_batch(look_s=1.0)
    waiting = scheduler.admit(C)
    scheduler.close(ShutdownError("first"))
    scheduler.close(PeerFailed("second"))
    assert [each.outcome for each in (done, running, waiting)] == [None, None, Outcome.SHUT_DOWN]
    for call in (scheduler.check_open, lambda: scheduler.admit(A)):
        with pytest.raises(ShutdownError, match="first"):
            call()
    assert scheduler.next_batch(look_s=1.0) is None
    scheduler.abandon(ShutdownError("third"))
    assert [each.outcome for each in (done, running)] == [None, Outcome.SHUT_DOWN]
    assert dropped == []


def test_statistics_count_each_outcome_and_keep_the_times_apart(scheduler: Scheduler) -> None:
    """What is admitted has ended or is open; a wait for an output is not execution."""
    batch = [scheduler.admit(A), scheduler.admit(B)]
    scheduler.next_batch(look_s=1.0)
    scheduler.admit(C)
    scheduler.settle([(batch[0], computed("1/1")), (batch[1], PeerFailed("x"))], batch_s=EXECUTION_S)
    scheduler.deliver(batch[0], 0.5)
    counted = scheduler.statistics()
    assert (counted.admitted, counted.open, counted.waiting, counted.batches) == (3, 1, 1, 1)
    assert (counted.execution_s, counted.output_ready_wait_s) == (EXECUTION_S, 0.5)
    assert counted.ended == {**dict.fromkeys(Outcome, 0), Outcome.RESULT: 1, Outcome.ERROR: 1}


@pytest.mark.parametrize(("setting", "value"), [("max_batch", 0), ("max_waiting", -1), ("workers", 0)])
def test_a_configuration_that_lets_nothing_through_is_refused(setting: str, value: object) -> None:
    """It says which value is the wrong one, and what to give."""
    with pytest.raises(OmniError, match=rf"{setting}=.* Give"):
        EngineConfig(**{setting: value})


def test_a_request_that_is_aborted_at_any_moment_has_one_outcome() -> None:
    """Before, during and after its execution, in every order of aborter, dispatcher, pump and consumer."""
    seen = set()

    def scenario(rt: ControlledRuntime) -> None:
        executor = TableExecutor(rt)
        with engine_over(rt, executor) as engine:
            stream = engine.submit(A)
            aborting = rt.spawn(engine.abort, "a", name="aborter")
            try:
                outcome = Outcome.RESULT if stream.result().value == "a" else None
            except Aborted:
                outcome = Outcome.ABORTED
            aborting.join()
        seen.add(outcome)
        assert outcome is not None
        assert engine.statistics().ended[outcome] == 1, "what the client was told is what is counted"
        assert_settled(engine, executor)

    exhaust(scenario)
    assert seen == {Outcome.RESULT, Outcome.ABORTED}


def test_whoever_is_woken_for_a_request_that_was_aborted_meanwhile_waits_on() -> None:
    """A dispatcher that sleeps is woken, and looks anew: it takes what is open by then, and is never given nothing."""
    taken: set[tuple[str, ...]] = set()

    def scenario(rt: ControlledRuntime) -> None:
        scheduler = Scheduler(rt=rt, outputs=Dropped(), max_batch=2, max_waiting=3)
        client = rt.spawn(submit_and_abort, scheduler, name="client")
        taken.add(tuple(ids(scheduler.next_batch(look_s=1.0))))
        client.join()

    exhaust(scenario)
    assert taken == {("a",), ("b",)}


def submit_and_abort(scheduler: Scheduler) -> None:
    scheduler.admit(A)
    scheduler.abort("a")
    scheduler.admit(B)


def test_a_deleted_stream_is_never_computed_and_never_lets_the_dispatcher_out_with_nothing() -> None:
    """It is ended when the dispatcher next looks, be that before it sleeps or when its time to look has come."""
    taken: set[tuple[str, ...]] = set()

    def scenario(rt: ControlledRuntime) -> None:
        scheduler = Scheduler(rt=rt, outputs=Dropped(), max_batch=2, max_waiting=3)
        scheduler.desert(scheduler.admit(A))
        client = rt.spawn(scheduler.admit, B, name="client")
        taken.add(tuple(ids(scheduler.next_batch(look_s=1.0))))
        client.join()
        assert scheduler.statistics().ended[Outcome.ABORTED] == 1

    exhaust(scenario)
    assert taken == {("b",)}
