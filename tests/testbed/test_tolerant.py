"""Tolerant replay: a trace from before an edit of the code fails in the same way after it, and the repairs are told."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from omni_ipc.errors import UnknownName
from omni_ipc.records import FailureKind, Trace
from omni_ipc.seam.api import Lock
from omni_ipc.testbed import ControlledRuntime, ReplayResult, replay
from tests.testbed.kernels import Counter, and_join, found, philosophers


def transfer(rt: ControlledRuntime) -> None:
    """Lose one of two deposits, beside steps that have nothing to do with it."""
    account, audit = Counter(), rt.queue()
    rt.watch(account, None, "Account")
    lock = rt.lock()

    def deposit() -> None:
        with lock:
            audit.put("deposit")
        balance = account.value
        audit.put("read")
        account.value = balance + 1

    tasks = [rt.spawn(deposit, name=name) for name in ("alice", "bob")]
    for task in tasks:
        task.join()
    assert account.value == 2, "a deposit was lost"


def with_locals_renamed(rt: ControlledRuntime) -> None:
    account, trail = Counter(), rt.queue()
    rt.watch(account, None, "Account")
    mutex = rt.lock()

    def put_in() -> None:
        with mutex:
            trail.put("deposit")
        seen = account.value
        trail.put("read")
        account.value = seen + 1

    workers = [rt.spawn(put_in, name=name) for name in ("alice", "bob")]
    for worker in workers:
        worker.join()
    assert account.value == 2, "a deposit was lost"


def with_another_lock(rt: ControlledRuntime) -> None:
    cache_lock = rt.lock()
    account, audit = Counter(), rt.queue()
    rt.watch(account, None, "Account")
    lock = rt.lock()

    def deposit() -> None:
        with cache_lock:
            pass
        with lock:
            audit.put("deposit")
        balance = account.value
        with cache_lock:
            pass
        audit.put("read")
        account.value = balance + 1

    tasks = [rt.spawn(deposit, name=name) for name in ("alice", "bob")]
    for task in tasks:
        task.join()
    assert account.value == 2, "a deposit was lost"


def with_a_function_split(rt: ControlledRuntime) -> None:
    account, audit = Counter(), rt.queue()
    rt.watch(account, None, "Account")
    lock = rt.lock()

    def announce() -> None:
        with lock:
            audit.put("deposit")

    def look() -> int:
        balance = account.value
        audit.put("read")
        return balance

    def deposit() -> None:
        announce()
        account.value = look() + 1

    tasks = [rt.spawn(deposit, name=name) for name in ("alice", "bob")]
    for task in tasks:
        task.join()
    assert account.value == 2, "a deposit was lost"


def with_steps_reordered(rt: ControlledRuntime) -> None:
    account, audit = Counter(), rt.queue()
    rt.watch(account, None, "Account")
    lock = rt.lock()

    def deposit() -> None:
        balance = account.value
        audit.put("read")
        with lock:
            audit.put("deposit")
        account.value = balance + 1

    tasks = [rt.spawn(deposit, name=name) for name in ("alice", "bob")]
    for task in reversed(tasks):
        task.join()
    assert account.value == 2, "a deposit was lost"


def with_a_task_renamed(rt: ControlledRuntime) -> None:
    account, audit = Counter(), rt.queue()
    rt.watch(account, None, "Account")
    lock = rt.lock()

    def deposit() -> None:
        with lock:
            audit.put("deposit")
        balance = account.value
        audit.put("read")
        account.value = balance + 1

    tasks = [rt.spawn(deposit, name=name) for name in ("alice", "robert")]
    for task in tasks:
        task.join()
    assert account.value == 2, "a deposit was lost"


def mended(rt: ControlledRuntime) -> None:
    account, audit = Counter(), rt.queue()
    rt.watch(account, None, "Account")
    lock = rt.lock()

    def deposit() -> None:
        with lock:
            audit.put("deposit")
            balance = account.value
            audit.put("read")
            account.value = balance + 1

    tasks = [rt.spawn(deposit, name=name) for name in ("alice", "bob")]
    for task in tasks:
        task.join()
    assert account.value == 2, "a deposit was lost"


@pytest.fixture(scope="module")
def trace() -> Trace:
    report = found(transfer)
    assert report.trace is not None
    return report.trace


def tolerant(scenario: Callable[[ControlledRuntime], object], trace: Trace, **options: object) -> ReplayResult:
    return replay(scenario, trace, mode="tolerant", **options)  # type: ignore[arg-type]


def check_found_again(result: ReplayResult) -> None:
    assert result.failure is not None
    assert result.failure.kind is FailureKind.EXCEPTION
    assert result.failure.message.startswith("AssertionError: a deposit was lost")


def test_a_trace_of_the_same_code_needs_no_repair(trace: Trace) -> None:
    """Every step is followed, and nothing is told."""
    result = tolerant(transfer, trace)
    check_found_again(result)
    assert result.repairs == ()
    assert result.followed == len(trace.steps)


@pytest.mark.parametrize("after", [with_locals_renamed, with_a_function_split])
def test_an_edit_that_changes_no_operation_needs_no_repair(
    after: Callable[[ControlledRuntime], None], trace: Trace
) -> None:
    """Names of variables and of functions, and line numbers, are no part of a step."""
    result = tolerant(after, trace)
    check_found_again(result)
    assert result.repairs == ()
    assert replay(after, trace).diverged is None


def test_another_lock_is_let_run(trace: Trace) -> None:
    """Its steps are new; strictly, the trace would end there."""
    assert replay(with_another_lock, trace).diverged is not None
    result = tolerant(with_another_lock, trace)
    check_found_again(result)
    (new,) = [repair for repair in result.repairs if repair.startswith("new: ran ")]
    assert "alice: lock.release(lock=lock1) at test_tolerant.py:" in new


def test_objects_that_are_numbered_otherwise_are_recognised() -> None:
    """Here a lock made before the others moves their numbers, and the locks' numbers are all that tells steps apart."""

    def after(rt: ControlledRuntime) -> None:
        unrelated, left, right = rt.lock(), rt.lock(), rt.lock()

        def dine(first: Lock, second: Lock) -> None:
            with unrelated:
                pass
            with first, second:
                pass

        and_join(rt, lambda: dine(left, right), lambda: dine(right, left))

    before = found(philosophers).trace
    assert before is not None
    result = tolerant(after, before)
    assert result.failure is not None
    assert result.failure.message == "'a' waits for lock3, which 'b' holds; 'b' waits for lock2, which 'a' holds"


def test_steps_in_another_order_are_skipped_where_they_were(trace: Trace) -> None:
    """They run where they are now."""
    result = tolerant(with_steps_reordered, trace)
    check_found_again(result)
    assert any(repair.startswith("gone: skipped ") for repair in result.repairs)


@pytest.mark.parametrize("hints", [{"bob": "robert"}, None])
def test_a_task_that_was_renamed_is_followed(hints: dict[str, str] | None, trace: Trace) -> None:
    """By the caller's hint, or by what it does."""
    result = tolerant(with_a_task_renamed, trace, renamed=hints)
    check_found_again(result)
    assert "task 'bob' is called 'robert' now" in result.repairs


def test_code_that_was_mended_ends_well(trace: Trace) -> None:
    """No repair makes it fail."""
    result = tolerant(mended, trace)
    assert result.failure is None
    assert 0 < result.followed < len(trace.steps)


def test_an_unknown_mode_is_refused(trace: Trace) -> None:
    """The nearest one is told."""
    with pytest.raises(UnknownName, match="Did you mean 'tolerant'"):
        replay(transfer, trace, mode="tolerent")
