"""The output table: arrival and registration in either order."""

from __future__ import annotations

import pytest

from omni_ipc.errors import PeerFailed, ShutdownError, UsageError
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.outputs import OutputTable, Pending

EMPTY = Pending((), (), (), ())


@pytest.fixture
def table() -> OutputTable:
    return OutputTable(rt=NativeRuntime())


def test_a_waiter_gets_the_output_that_arrives_later(table: OutputTable) -> None:
    """Wait first, deliver second: the future is settled, and the table is empty."""
    future = table.wait("a")
    assert not future.done()
    table.deliver("a", "picture")
    assert future.result(0) == "picture"
    assert table.describe() == EMPTY


def test_an_output_waits_for_a_consumer_that_comes_later(table: OutputTable) -> None:
    """Deliver first, wait second: the future is settled at once, and the table is empty."""
    table.deliver("a", "picture")
    assert table.describe().cached == ("a",)
    assert table.wait("a").result(0) == "picture"
    assert table.describe() == EMPTY


@pytest.mark.parametrize("batch_first", [True, False], ids=["batch first", "map first"])
@pytest.mark.parametrize("waits_first", [True, False], ids=["waits first", "waits last"])
def test_a_batch_is_split_whichever_comes_first(table: OutputTable, batch_first: bool, waits_first: bool) -> None:
    """Batch, split map and waits in any order: each waiter gets its own value, and the table is empty."""
    futures = [table.wait(output) for output in ("b/1", "b/2")] if waits_first else []
    if batch_first:
        table.take_split("b", ["one", "two"])
        assert table.describe().unsplit == ("b",)
    table.expect_batch("b", ["b/1", "b/2"])
    if not batch_first:
        table.take_split("b", ["one", "two"])
    futures = futures or [table.wait(output) for output in ("b/1", "b/2")]
    assert [future.result(0) for future in futures] == ["one", "two"]
    assert table.describe() == EMPTY


def test_an_error_takes_the_place_of_every_output_of_a_batch(table: OutputTable) -> None:
    """A failed batch fails each of its waiters, and nobody else."""
    other = table.wait("a")
    futures = [table.wait(output) for output in ("b/1", "b/2")]
    table.take_split("b", PeerFailed("out of memory"))
    table.expect_batch("b", ["b/1", "b/2"])
    for future in futures:
        with pytest.raises(PeerFailed, match="out of memory"):
            future.result(0)
    assert not other.done()


def test_a_batch_with_too_few_values_fails_each_waiter(table: OutputTable) -> None:
    """One value for two requests: both waiters learn how many came, and what to change."""
    future = table.wait("b/2")
    table.expect_batch("b", ["b/1", "b/2"])
    table.take_split("b", ["one"])
    with pytest.raises(PeerFailed, match="returned 1 outputs for a batch of 2 requests"):
        future.result(0)


def test_a_cancelled_waiter_costs_its_output_and_nothing_else(table: OutputTable) -> None:
    """Delivery to a cancelled future neither raises nor caches; the next output arrives."""
    cancelled, alive = table.wait("a"), table.wait("c")
    assert cancelled.cancel()
    table.deliver("a", "picture")
    table.deliver("c", "another")
    assert alive.result(0) == "another"
    assert table.describe() == EMPTY


def test_a_second_waiter_for_one_output_is_refused(table: OutputTable) -> None:
    """The first waiter keeps its future."""
    first = table.wait("a")
    with pytest.raises(UsageError, match="already has a consumer"):
        table.wait("a")
    table.deliver("a", "picture")
    assert first.result(0) == "picture"


def test_an_answer_is_for_its_own_call(table: OutputTable) -> None:
    """An answer settles its call; an answer that nobody waits for is told apart."""
    one, two = table.expect_rpc(1), table.expect_rpc(2)
    assert table.settle_rpc(2, "two")
    assert two.result(0) == "two"
    assert not one.done()
    table.abandon_rpc(1)
    assert not table.settle_rpc(1, "late")


def test_closing_fails_what_is_awaited_and_keeps_what_has_arrived(table: OutputTable) -> None:
    """Waiters and calls fail with the reason; a cached output can still be taken; later waits fail at once."""
    waiting, call = table.wait("a"), table.expect_rpc(1)
    table.deliver("here", "picture")
    table.take_split("b", ["one"])
    table.close(ShutdownError("closing time"))
    for future in (waiting, call):
        with pytest.raises(ShutdownError, match="closing time"):
            future.result(0)
    assert table.wait("here").result(0) == "picture"
    for late in (lambda: table.wait("a"), lambda: table.expect_rpc(2), lambda: table.expect_batch("b", ["b/1"])):
        with pytest.raises(ShutdownError, match="closing time"):
            late()
    assert table.describe() == EMPTY


def test_pending_names_the_first_ids(table: OutputTable) -> None:
    """Counts for all, ids for the first five."""
    for number in range(7):
        table.wait(f"a{number}")
    table.take_split("b", ["one"])
    assert str(table.describe()) == "waiting 7 [a0, a1, a2, a3, a4, ...], cached 0, unsplit 1 [b], rpcs 0"
