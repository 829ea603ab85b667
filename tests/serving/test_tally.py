"""What the output table counts, in every order: each output ends once, and is counted as what it ended as."""

from __future__ import annotations

import pytest

from omni_ipc.errors import Aborted, PeerFailed, ShutdownError
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.pending import Pending, Tally
from omni_ipc.testbed import ControlledRuntime
from tests.serving.exhausting import exhaust


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
