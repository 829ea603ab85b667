"""The output table: arrival, registration and giving up, in every order; and what it keeps of what is over."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from omni_ipc.errors import Aborted, OmniError, PeerFailed, ShutdownError, Timeout, UsageError
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.pending import Pending

RT = NativeRuntime()
EMPTY = Pending()


@pytest.fixture
def table() -> OutputTable:
    return OutputTable(rt=RT)


def held(table: OutputTable) -> dict[str, object]:
    """Give whatever the table still keeps of outputs and calls."""
    kept = {name: value for name, value in vars(table).items() if isinstance(value, dict) and value}
    return kept | ({"open": table._ledger._open} if table._ledger._open else {})


# Arrival and registration


def test_a_waiter_gets_the_output_that_arrives_later(table: OutputTable) -> None:
    """Wait first, deliver second: the future is settled, and the table is empty."""
    output = table.mint().output
    future = table.wait(output)
    assert not future.done()
    table.deliver(output, "picture")
    assert future.result(0) == "picture"
    assert table.describe() == EMPTY


def test_an_output_waits_for_a_consumer_that_comes_later(table: OutputTable) -> None:
    """Deliver first, wait second: the future is settled at once, and the table is empty."""
    output = table.mint().output
    table.deliver(output, "picture")
    assert table.describe().cached == (output,)
    assert table.wait(output).result(0) == "picture"
    assert table.describe() == EMPTY


@pytest.mark.parametrize("batch_first", [True, False], ids=["batch first", "map first"])
@pytest.mark.parametrize("waits_first", [True, False], ids=["waits first", "waits last"])
def test_a_batch_is_split_whichever_comes_first(table: OutputTable, batch_first: bool, waits_first: bool) -> None:
    """Batch, split map and waits in any order: each waiter gets its own value, and the table is empty."""
    batch, outputs = table.mint_batch(2)
    futures = [table.wait(output) for output in outputs] if waits_first else []
    if batch_first:
        table.take_split(batch, ["one", "two"])
        assert table.describe().unsplit == (batch,)
    table.expect_batch(batch, outputs)
    if not batch_first:
        table.take_split(batch, ["one", "two"])
    futures = futures or [table.wait(output) for output in outputs]
    assert [future.result(0) for future in futures] == ["one", "two"]
    assert table.describe() == EMPTY


def test_an_error_takes_the_place_of_every_output_of_a_batch(table: OutputTable) -> None:
    """A failed batch fails each of its waiters, and nobody else."""
    other = table.wait(table.mint().output)
    batch, outputs = table.mint_batch(2)
    futures = [table.wait(output) for output in outputs]
    table.take_split(batch, PeerFailed("out of memory"))
    table.expect_batch(batch, outputs)
    for future in futures:
        with pytest.raises(PeerFailed, match="out of memory"):
            future.result(0)
    assert not other.done()


def test_an_error_among_the_values_of_a_batch_fails_its_own_waiter(table: OutputTable) -> None:
    """Its sibling is delivered."""
    batch, outputs = table.mint_batch(2)
    table.expect_batch(batch, outputs)
    table.take_split(batch, [PeerFailed("cannot travel"), "two"])
    with pytest.raises(PeerFailed, match="cannot travel"):
        table.wait(outputs[0]).result(0)
    assert table.wait(outputs[1]).result(0) == "two"


def test_a_batch_with_too_few_values_fails_each_waiter(table: OutputTable) -> None:
    """One value for two requests: both waiters learn how many came, and what to change."""
    batch, outputs = table.mint_batch(2)
    future = table.wait(outputs[1])
    table.expect_batch(batch, outputs)
    table.take_split(batch, ["one"])
    with pytest.raises(PeerFailed, match="returned 1 outputs for a batch of 2 requests"):
        future.result(0)


def test_a_cancelled_waiter_costs_its_output_and_nothing_else(table: OutputTable) -> None:
    """Delivery to a cancelled future neither raises nor caches; the next output arrives."""
    first, second = table.mint_batch(2).outputs
    cancelled, alive = table.wait(first), table.wait(second)
    assert cancelled.cancel()
    table.deliver(first, "picture")
    table.deliver(second, "another")
    assert alive.result(0) == "another"
    assert table.describe() == EMPTY
    assert (table.tally().delivered, table.tally().dropped) == (1, 1)


def test_a_second_waiter_for_one_output_is_refused(table: OutputTable) -> None:
    """The first waiter keeps its future."""
    output = table.mint().output
    first = table.wait(output)
    with pytest.raises(UsageError, match="already has a consumer"):
        table.wait(output)
    table.deliver(output, "picture")
    assert first.result(0) == "picture"


# Giving up, and what is settled


def deliver_single(table: OutputTable) -> None:
    table.deliver("1", "picture")


def drop_single(table: OutputTable) -> None:
    table.drop("1")


@pytest.mark.parametrize("steps", list(itertools.permutations([deliver_single, drop_single])))
def test_a_dropped_output_leaves_nothing_in_either_order_with_its_arrival(
    table: OutputTable, steps: tuple[Callable[[OutputTable], None], ...]
) -> None:
    """Dropped before or after it came: it is not kept, and every later wait fails at once, each time."""
    table.mint()
    for step in steps:
        step(table)
    assert table.describe() == EMPTY
    for _ in range(3):
        with pytest.raises(UsageError, match="Output '1' is settled"):
            table.wait("1")
    assert table.describe() == EMPTY
    assert not table.drop("1"), "it was settled before"


@pytest.mark.parametrize("order", list(itertools.permutations(["expect", "take", "drop"])), ids="-".join)
def test_a_dropped_request_of_a_batch_leaves_its_sibling_alone(table: OutputTable, order: tuple[str, ...]) -> None:
    """Split map, arrival and drop in every order: the sibling is delivered, the dropped one goes nowhere."""
    batch, outputs = table.mint_batch(2)
    steps: dict[str, Callable[[], object]] = {
        "expect": lambda: table.expect_batch(batch, outputs),
        "take": lambda: table.take_split(batch, ["one", "two"]),
        "drop": lambda: table.drop(outputs[0]),
    }
    for name in order:
        steps[name]()
    assert table.wait(outputs[1]).result(0) == "two"
    with pytest.raises(UsageError, match="is settled"):
        table.wait(outputs[0])
    assert table.describe() == EMPTY


@pytest.mark.parametrize("order", list(itertools.permutations(["expect", "take", "drop"])), ids="-".join)
def test_a_batch_that_is_dropped_as_a_whole_leaves_nothing(table: OutputTable, order: tuple[str, ...]) -> None:
    """In every order with its split map and its arrival; who waits for one of its outputs is told."""
    batch, outputs = table.mint_batch(2)
    future = table.wait(outputs[1])
    steps: dict[str, Callable[[], object]] = {
        "expect": lambda: table.expect_batch(batch, outputs),
        "take": lambda: table.take_split(batch, ["one", "two"]),
        "drop": lambda: table.drop(batch),
    }
    for name in order:
        steps[name]()
        if name == "drop":
            assert not held(table)
    assert not held(table)
    assert future.done()
    with pytest.raises(UsageError, match="is settled"):
        table.wait(outputs[0])


@pytest.mark.parametrize("reason", [None, Timeout("too slow")])
def test_a_drop_fails_whoever_waits(table: OutputTable, reason: OmniError | None) -> None:
    """With the reason that is given, or with one of its own; never is a future left pending."""
    output = table.mint().output
    future = table.wait(output)
    assert table.drop(output, reason)
    with pytest.raises(type(reason or Aborted("")), match="too slow" if reason else "Output '1' was given up"):
        future.result(0)


def test_ten_thousand_settled_outputs_leave_no_trace_in_memory(table: OutputTable) -> None:
    """Delivered, dropped before and after arrival: the table is as small as at the beginning, and knows them all."""
    for _ in range(2_500):
        (single, _), (batch, outputs) = table.mint(), table.mint_batch(3)
        table.deliver(single, "picture")
        table.wait(single)
        table.drop(outputs[0])
        table.take_split(batch, ["one", "two", "three"])
        table.expect_batch(batch, outputs)
        table.wait(outputs[1])
        table.drop(outputs[2])
    assert not held(table)
    for output in ("1", "2/1", "2/3", "4999", "5000/2"):
        with pytest.raises(UsageError, match="is settled"):
            table.wait(output)
    tally = table.tally()
    assert (tally.delivered, tally.dropped, tally.discarded_outputs) == (5_000, 5_000, 2_500)


def test_an_output_that_was_never_minted_is_no_settled_one(table: OutputTable) -> None:
    """A number that lies ahead, one of a later engine, and what is no id at all: each is told for what it is."""
    table.drop(table.mint().output)
    for output in ("2", "2.1", "7/2"):
        with pytest.raises(UsageError, match=f"There is no output '{output}' yet"):
            table.wait(output)
    for text in ("", "a", "0", "1/0", "01", "1/", "-1", "1/2/3", "1 "):
        with pytest.raises(UsageError, match="is no id of an output"):
            table.wait(text)
    assert table.describe() == EMPTY


def test_what_belongs_to_an_earlier_engine_goes_nowhere() -> None:
    """Its outputs and its answers are not mistaken for those of the second engine that have the same numbers."""
    table = OutputTable(rt=RT, epoch=2)
    batch, outputs = table.mint_batch(2)
    assert (batch, outputs) == ("2.1", ("2.1/1", "2.1/2"))
    call = table.expect_rpc(1)
    table.take_split("1", ["old", "old"])
    table.deliver("1/1", "old")
    assert not table.settle_rpc(1, "old", epoch=1)
    assert not call.decided.done()
    with pytest.raises(UsageError, match="Output '1/1' is settled"):
        table.wait("1/1")
    assert (table.describe().cached, table.describe().unsplit) == ((), ())
    assert (table.tally().discarded_outputs, table.tally().discarded_answers) == (2, 1)


@pytest.mark.parametrize("order", list(itertools.permutations(["spoil", "deliver", "wait"])), ids="-".join)
def test_a_spoilt_output_fails_its_consumer_in_every_order(table: OutputTable, order: tuple[str, ...]) -> None:
    """Unless it was delivered before; it is never delivered after."""
    output = table.mint().output
    got: list[object] = []
    steps: dict[str, Callable[[], object]] = {
        "spoil": lambda: table.spoil(output, PeerFailed("rank 1 has failed")),
        "deliver": lambda: table.deliver(output, "picture"),
        "wait": lambda: got.append(table.wait(output)),
    }
    for name in order:
        steps[name]()
    (future,) = got
    delivered = {order.index("deliver"), order.index("wait")} == {0, 1}
    assert str(future.exception(0) or future.result(0)) == ("picture" if delivered else "rank 1 has failed")  # type: ignore[attr-defined]
    assert table.describe() == EMPTY


def test_an_output_that_comes_twice_is_delivered_once(table: OutputTable) -> None:
    """The second one is discarded, whether or not the first was taken meanwhile."""
    output = table.mint().output
    table.deliver(output, "first")
    table.deliver(output, "second")
    assert table.wait(output).result(0) == "first"
    table.deliver(output, "third")
    batch, outputs = table.mint_batch(1)
    table.take_split(batch, ["first"])
    table.take_split(batch, PeerFailed("too late"))
    table.expect_batch(batch, outputs)
    assert table.wait(outputs[0]).result(0) == "first"
    assert table.describe() == EMPTY
    assert table.tally().discarded_outputs == 3


# Calls


def test_an_answer_is_for_its_own_call(table: OutputTable) -> None:
    """An answer settles its call; an answer that nobody waits for is told apart, and counted."""
    one, two = table.expect_rpc(1), table.expect_rpc(2)
    assert table.settle_rpc(2, "two")
    assert two.gathered() == ["two"]
    assert not one.decided.done()
    table.abandon_rpc(1)
    assert not table.settle_rpc(1, "late")
    assert table.tally().discarded_answers == 1


def test_a_call_is_answered_once_every_rank_has(table: OutputTable) -> None:
    """A rank that answers twice does not answer for another one, and there are no others than those asked."""
    wave = table.expect_rpc(1, ranks=3)
    for rank, taken in ((2, True), (2, False), (3, False), (-1, False), (0, True)):
        assert table.settle_rpc(1, f"value {rank}", rank=rank) is taken
        assert not wave.decided.done()
    assert table.settle_rpc(1, "value 1", rank=1)
    assert wave.decided.done()
    assert wave.gathered() == ["value 0", "value 1", "value 2"]
    assert table.describe() == EMPTY


def test_a_call_is_decided_when_one_rank_fails_and_tells_of_all_that_do(table: OutputTable) -> None:
    """The others are still listened to: they may have failed too, or hang."""
    wave = table.expect_rpc(1, ranks=3)
    table.settle_rpc(1, PeerFailed("out of memory"), rank=1)
    assert wave.decided.done()
    assert not wave.complete.done()
    table.settle_rpc(1, PeerFailed("lost its peer"), rank=2)
    told = r"3 of 3 workers failed\. rank 1: out of memory\nrank 2: lost its peer\nrank 0 has not answered"
    with pytest.raises(PeerFailed, match=told):
        wave.gathered()


# The end


def test_closing_fails_what_is_awaited_and_keeps_what_has_arrived(table: OutputTable) -> None:
    """Waiters and calls fail with the reason; a cached output can still be taken; later waits fail at once."""
    awaited, here, later = table.mint_batch(3).outputs
    waiting, call = table.wait(awaited), table.expect_rpc(1)
    table.deliver(here, "picture")
    table.close(ShutdownError("closing time"))
    for future in (waiting, call.decided, call.complete):
        with pytest.raises(ShutdownError, match="closing time"):
            future.result(0)
    assert table.wait(here).result(0) == "picture"
    for late in (lambda: table.wait(later), lambda: table.expect_rpc(2), table.mint, lambda: table.mint_batch(2)):
        with pytest.raises(ShutdownError, match="closing time"):
            late()
    table.deliver(later, "too late")
    assert table.describe() == EMPTY


def test_a_batch_that_has_arrived_before_the_end_can_still_be_split(table: OutputTable) -> None:
    """It is here, and only its split map was late; one that has not arrived is refused."""
    (here, outputs), (missing, others) = table.mint_batch(2), table.mint_batch(2)
    table.take_split(here, ["one", "two"])
    table.close(ShutdownError("closing time"))
    table.expect_batch(here, outputs)
    assert [table.wait(output).result(0) for output in outputs] == ["one", "two"]
    with pytest.raises(ShutdownError, match="closing time"):
        table.expect_batch(missing, others)
    table.take_split(missing, ["three", "four"])
    assert table.describe() == EMPTY


@pytest.mark.parametrize("whole", [["one", "two"], PeerFailed("out of memory")], ids=["values", "an error"])
def test_a_batch_that_has_arrived_before_the_end_is_delivered_to_who_waits(table: OutputTable, whole: object) -> None:
    """Its map is late, but its consumer is here, and so is its output; the other one can still be asked for."""
    batch, outputs = table.mint_batch(2)
    future = table.wait(outputs[1])
    table.take_split(batch, whole)
    table.close(ShutdownError("closing time"))
    table.expect_batch(batch, outputs)
    for expected, got in (("two", future), ("one", table.wait(outputs[0]))):
        assert str(got.exception(0) or got.result(0)) == (expected if isinstance(whole, list) else str(whole))
    assert table.describe() == EMPTY


def test_an_output_that_was_refused_to_its_consumer_goes_nowhere_when_it_comes(table: OutputTable) -> None:
    """Between the beginning of a shutdown and its end: nobody would take it any more."""
    refused, awaited = table.mint_batch(2).outputs
    future = table.wait(awaited)
    table.refuse(ShutdownError("closing time"))
    with pytest.raises(ShutdownError):
        table.wait(refused)
    table.deliver(refused, "picture")
    table.deliver(awaited, "another")
    assert future.result(0) == "another"
    assert table.describe() == EMPTY


def test_from_a_refusal_on_what_is_awaited_still_comes_and_what_is_new_does_not(table: OutputTable) -> None:
    """A call and a batch that are under way are completed; another call, and another number, are refused."""
    batch, outputs = table.mint_batch(1)
    future, call = table.wait(outputs[0]), table.expect_rpc(1)
    table.refuse(ShutdownError("closing time"))
    assert table.settle_rpc(1, "done")
    assert call.gathered() == ["done"]
    table.expect_batch(batch, outputs)
    table.take_split(batch, ["one"])
    assert future.result(0) == "one"
    for new in (table.mint, lambda: table.mint_batch(2), lambda: table.expect_rpc(2)):
        with pytest.raises(ShutdownError):
            new()


def test_the_first_reason_of_an_end_stays(table: OutputTable) -> None:
    """A shutdown after a worker's death does not hide the death."""
    table.close(PeerFailed("killed by SIGKILL"))
    table.close(ShutdownError("closing time"))
    for _ in range(50):
        with pytest.raises(PeerFailed, match="SIGKILL") as caught:
            table.mint()
    assert len(caught.traceback) < 10, "it does not grow by each one that it is raised to"


def test_pending_names_the_first_ids(table: OutputTable) -> None:
    """Counts for all, ids for the first five."""
    for _ in range(7):
        table.wait(table.mint().output)
    table.take_split(table.mint_batch(2).output, ["one", "two"])
    assert str(table.describe()) == "waiting 7 [1, 2, 3, 4, 5, ...], cached 0, unsplit 1 [8], rpcs 0"
