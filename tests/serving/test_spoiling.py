"""An output that is spoilt while it is delivered and asked for, at every moment."""

from __future__ import annotations

from omni_ipc.errors import PeerFailed
from omni_ipc.seam.api import Future
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.pending import Pending
from omni_ipc.testbed import ControlledRuntime
from tests.serving.exhausting import exhaust


def test_whoever_asks_for_an_output_that_is_spoilt_gets_it_or_the_error_and_the_table_is_empty() -> None:
    """The error alone, unless the output was taken before it was spoilt."""
    ends = set[str]()

    def scenario(rt: ControlledRuntime) -> None:
        table = OutputTable(rt=rt)
        output = table.mint().output
        futures: list[Future[object]] = []
        consumer = rt.spawn(lambda: futures.append(table.wait(output)), name="consumer")
        pump = rt.spawn(lambda: table.deliver(output, "value"), name="pump")
        table.spoil(output, PeerFailed("rank 1 has failed"))
        consumer.join()
        pump.join()
        (future,) = futures
        ends.add("value" if (error := future.exception(timeout=0)) is None else type(error).__name__)
        tally = table.tally()
        assert (tally.delivered + tally.failed, tally.dropped) == (1, 0)
        assert table.describe() == Pending()

    exhaust(scenario)
    assert ends == {"value", "PeerFailed"}


def test_whoever_asks_for_an_output_that_was_spoilt_gets_the_error() -> None:
    """Whenever the output arrives."""

    def scenario(rt: ControlledRuntime) -> None:
        table = OutputTable(rt=rt)
        output = table.mint().output
        pump = rt.spawn(lambda: table.deliver(output, "value"), name="pump")
        table.spoil(output, PeerFailed("rank 1 has failed"))
        assert isinstance(table.wait(output).exception(timeout=0), PeerFailed)
        pump.join()
        assert table.describe() == Pending()

    exhaust(scenario)
