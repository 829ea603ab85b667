"""What the output table counts, in every order: each output ends once, and is counted as what it ended as."""

from __future__ import annotations

import contextlib

import pytest

from omni_ipc.errors import Aborted, PeerFailed, ShutdownError
from omni_ipc.records import Verdict
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.pending import Pending, Tally
from omni_ipc.testbed import ControlledRuntime, explore
from tests.serving.exhausting import exhaust

INSIDE = ("omni_ipc.serving.outputs", "omni_ipc.serving.ledger")  # what their lock alone keeps together


def test_an_output_that_is_dropped_while_it_comes_is_delivered_or_dropped() -> None:
    """What then still comes is discarded, and counted so."""
    seen = set[str]()

    def scenario(rt: ControlledRuntime) -> None:
        table = OutputTable(rt=rt)
        output = table.mint().output
        future = table.wait(output)
        pump = rt.spawn(lambda: table.deliver(output, "value"), name="pump")
        table.drop(output)
        pump.join()
        error = future.exception(timeout=0)
        seen.add(type(error).__name__)
        ended = Tally(delivered=1) if error is None else Tally(dropped=1, discarded_outputs=1)
        assert (table.tally(), table.describe()) == (ended, Pending())

    exhaust(scenario)
    assert seen == {"NoneType", Aborted.__name__}


def test_an_output_that_fails_while_the_table_is_closed_has_failed_once() -> None:
    """With its own error, or with that of the end."""
    seen = set[str]()

    def scenario(rt: ControlledRuntime) -> None:
        table = OutputTable(rt=rt)
        output = table.mint().output
        future = table.wait(output)
        pump = rt.spawn(lambda: table.deliver(output, PeerFailed("no memory")), name="pump")
        table.close(ShutdownError("It is over."))
        pump.join()
        error = future.exception(timeout=0)
        seen.add(type(error).__name__)
        ended = Tally(failed=1, discarded_outputs=int(isinstance(error, ShutdownError)))
        assert (table.tally(), table.describe()) == (ended, Pending())

    exhaust(scenario)
    assert seen == {PeerFailed.__name__, ShutdownError.__name__}


def test_an_output_that_nobody_may_wait_for_any_more_has_failed_unless_it_was_here() -> None:
    """It is refused; what arrives behind that is discarded."""
    seen = set[bool]()

    def scenario(rt: ControlledRuntime) -> None:
        table = OutputTable(rt=rt)
        output = table.mint().output
        table.refuse(ShutdownError("It is over."))
        pump = rt.spawn(lambda: table.deliver(output, "value"), name="pump")
        try:
            taken = table.wait(output).result(timeout=0) == "value"
        except ShutdownError:
            taken = False
        pump.join()
        seen.add(taken)
        ended = Tally(delivered=1) if taken else Tally(failed=1, discarded_outputs=1)
        assert (table.tally(), table.describe()) == (ended, Pending())

    exhaust(scenario)
    assert seen == {True, False}


@pytest.mark.parametrize("outputs", [1, 2])
def test_a_batch_that_is_dropped_while_it_comes_leaves_nothing(outputs: int) -> None:
    """Before its map is there, and whether it is held by then or is discarded."""
    seen = set[int]()

    def scenario(rt: ControlledRuntime) -> None:
        table = OutputTable(rt=rt)
        minted = table.mint_batch(outputs)
        pump = rt.spawn(lambda: table.take_split(minted.output, ["value"] * outputs), name="pump")
        table.drop(minted.output)
        pump.join()
        tally = table.tally()
        seen.add(tally.discarded_outputs)
        assert (tally.dropped, tally.delivered, tally.failed) == (outputs, 0, 0)
        assert table.describe() == Pending()

    exhaust(scenario)
    assert seen == {0, 1}


def test_an_output_whose_consumer_was_cancelled_is_dropped() -> None:
    """It is not delivered to anybody."""

    def scenario(rt: ControlledRuntime) -> None:
        table = OutputTable(rt=rt)
        output = table.mint().output
        assert table.wait(output).cancel()
        pump = rt.spawn(lambda: table.deliver(output, "value"), name="pump")
        pump.join()
        assert (table.tally(), table.describe()) == (Tally(dropped=1), Pending())

    exhaust(scenario)


def test_counts_are_read_as_a_whole() -> None:
    """Of a batch that is dropped meanwhile, all outputs count, or none."""

    def scenario(rt: ControlledRuntime) -> int:
        table, counted = OutputTable(rt=rt), list[int]()
        batch = table.mint_batch(2).output
        dropping = rt.spawn(table.drop, batch, name="dropping")
        counted.append(table.tally().dropped)
        dropping.join()
        return counted[0]

    report = explore(scenario, instrument=INSIDE, transparent=("Consumer.Drop", "Executor.Tally"))
    assert (report.failure, report.verdict) == (None, Verdict.HOLDS), report.reason
    assert set(report.outcomes) == {"0", "2"}


def test_who_is_overdue_is_read_with_the_lock_held() -> None:
    """While a call is given up: its ranks are overdue by then, or not yet."""

    def scenario(rt: ControlledRuntime) -> int:
        table, seen = OutputTable(rt=rt), list[int]()
        table.expect_rpc(1, ranks=2)
        giving_up = rt.spawn(table.abandon_rpc, 1, name="giving up")
        seen.append(len(table.overdue()))
        giving_up.join()
        return seen[0]

    report = explore(scenario, strategy="dpor", declared=True)
    assert (report.failure, report.verdict) == (None, Verdict.HOLDS), report.reason
    assert set(report.outcomes) == {"0", "2"}


@pytest.mark.parametrize("requests", [None, 2])
def test_what_is_minted_while_the_table_is_closed_is_settled_or_refused(requests: int | None) -> None:
    """Whoever got an id behind the end would wait for ever; and no two get the same."""

    def scenario(rt: ControlledRuntime) -> bool:
        table, minted = OutputTable(rt=rt), list[str]()

        def mint() -> None:
            with contextlib.suppress(ShutdownError):
                minted.append((table.mint() if requests is None else table.mint_batch(requests)).output)

        tasks = [rt.spawn(mint, name=f"dispatcher {number}") for number in range(2)]
        table.close(ShutdownError("It is over."))
        for task in tasks:
            task.join()
        assert len(set(minted)) == len(minted), "two outputs have one id"
        return any(table._ledger.open_of(each) for each in minted)

    report = explore(scenario, instrument=INSIDE, transparent=("Dispatcher.Mint", "Executor.Close"), runs=300)
    assert (report.failure, set(report.outcomes)) == (None, {"False"}), report.reason


def test_no_call_is_kept_behind_the_end() -> None:
    """It fails with the end, or was answered before; what is answered behind that is discarded."""

    def scenario(rt: ControlledRuntime) -> None:
        table = OutputTable(rt=rt)
        table.expect_rpc(1)
        pump = rt.spawn(lambda: table.settle_rpc(1, "answer"), name="pump")
        table.close(ShutdownError("It is over."))
        pump.join()
        assert table.describe() == Pending()

    exhaust(scenario)


@pytest.mark.parametrize("ending", ["drop", "close"])
def test_no_split_map_is_kept_behind_the_end_of_its_batch(ending: str) -> None:
    """Whether the map, the batch or the end comes first."""

    def scenario(rt: ControlledRuntime) -> None:
        table = OutputTable(rt=rt)
        minted = table.mint_batch(2)

        def expect() -> None:
            with contextlib.suppress(ShutdownError):
                table.expect_batch(minted.output, minted.outputs)

        expecting = rt.spawn(expect, name="dispatcher")
        table.drop(minted.output) if ending == "drop" else table.close(ShutdownError("It is over."))
        expecting.join()
        with table._lock:
            kept = dict(table._splits)
        assert (kept, table.describe()) == ({}, Pending())

    exhaust(scenario)
