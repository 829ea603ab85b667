"""One round: clients of an engine, here one without processes, and all that must not be when they have ended."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest

from omni_ipc import trees
from omni_ipc.accounts import STEPWISE
from omni_ipc.errors import OmniError, PeerFailed
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.core import EngineCore
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.output_streams import OutputStreams
from omni_ipc.serving.requests import Request
from omni_ipc.serving.results import Outcome
from omni_ipc.serving.statistics import Statistics
from omni_ipc.serving.streams import OutputStream
from omni_ipc.stress import load, rounds
from omni_ipc.stress.client import Clients
from omni_ipc.stress.ledger import Ledger
from omni_ipc.stress.load import Draw, Way
from omni_ipc.stress.plans import Plan, Room
from omni_ipc.stress.rounds import Around, Round
from omni_ipc.stress.settings import SoakConfig
from tests.support.varied_executor import VariedExecutor

CONFIG = EngineConfig(output_timeout_s=60.0, rpc_timeout_s=60.0, drain_timeout_s=5.0)
PLAN = Plan(
    number=1, engine=CONFIG, clients=4, seconds=0.2, late_s=0.0, dozes=False, giant=False, abrupt=False, recorded=False
)
KIB = 1 << 10


class Heard:
    """Notes what a round tells."""

    def __init__(self) -> None:
        self.finds: list[tuple[str, str]] = []
        self.errors: list[str] = []

    def told(self, error: OmniError) -> None:
        self.errors.append(str(error))

    def found(self, kind: str, sentence: str) -> None:
        self.finds.append((kind, sentence))


class Went(NamedTuple):
    """How a round went."""

    heard: Heard
    counts: dict[str, int]
    latencies: dict[str, int]


Go = Callable[..., Went]


@pytest.fixture
def go(monkeypatch: pytest.MonkeyPatch) -> Iterator[Go]:
    """Run a round with an engine of a class, which has no slots."""
    monkeypatch.setattr(rounds, "PATIENCE_S", 0.3)
    monkeypatch.setattr(rounds, "held_slots", lambda _: 0)
    with contextlib.closing(Ledger.create()) as ledger:

        def went(
            *, core: type[EngineCore] = EngineCore, executor: type[VariedExecutor] = VariedExecutor, **changes: Any
        ) -> Went:
            heard, plan = Heard(), PLAN._replace(**changes)
            room = Room(largest_bytes=8 * KIB, open_bytes=4 * KIB, slots_bytes=KIB)
            around = Around(
                SoakConfig(seconds=1.0, seed=2, clients=PLAN.clients), room, ledger, heard, threading.Event()
            )  # type: ignore[arg-type]
            rt = NativeRuntime()
            with core(rt=rt, executor=executor(rt), config=plan.engine) as served:
                asyncio.run(Round(plan, served, around).run())  # type: ignore[arg-type]
            names = ("admitted", "left", "rounds", "open", "checked_bytes", *Outcome)
            counts = {name: ledger.get(name) for name in names}
            return Went(heard, counts, {kind: each.many for kind, each in ledger.latencies().items()})

        yield went


def check_well(went: Went) -> None:
    """Nothing was found, nobody was told anything odd, and each request has had one outcome."""
    assert (went.heard.finds, went.heard.errors) == ([], [])
    assert went.counts["admitted"] == sum(went.counts[outcome] for outcome in Outcome) > 0
    assert (went.counts["left"], went.counts["open"], went.counts["rounds"]) == (0, 0, 1)


@pytest.mark.parametrize("changes", [{}, {"abrupt": True}, {"giant": True, "dozes": True}, {"clients": 1}])
@pytest.mark.parametrize("stepwise", [False, True], ids=["at once", "step by step"])
def test_of_an_engine_that_serves_well_nothing_is_found(changes: dict[str, Any], stepwise: bool, go: Go) -> None:
    """Whatever its clients do, and also if it ends among them; what was left is counted as the engine ended it."""
    went = go(**changes, engine=msgspec.structs.replace(CONFIG, step_execution=stepwise))
    check_well(went)
    assert sum(went.latencies.values()) <= went.counts["result"]
    assert went.latencies[STEPWISE] == sum(went.latencies.values()) * stepwise


@pytest.mark.parametrize(
    ("way", "pause_s", "waited"),
    [
        (Way.AWAIT, 0.001, True),
        (Way.HOLD, 0.001, True),
        (Way.LATE, 0.0, True),
        (Way.LATE, 0.001, False),
        (Way.ABORT, 0.001, False),
        (Way.CANCEL, 0.001, False),
    ],
)
def test_how_long_a_client_rested_is_no_latency(
    way: Way, pause_s: float, waited: bool, go: Go, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results of those who came for them later count as results; how long one took tell those who waited."""
    draw = load.Load.draw
    monkeypatch.setattr(load.Load, "draw", lambda self: draw(self)._replace(way=way, pause_s=pause_s))
    went = go()
    check_well(went)
    assert sum(went.latencies.values()) == went.counts["result"] * waited
    assert went.counts["result"] > 0 or way in (Way.ABORT, Way.CANCEL)


def test_no_more_requests_are_asked_for_at_a_time_than_there_may_be(go: Go, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if each client asks for three at once, and a giant is asked for beside them: they wait for each other."""
    monkeypatch.setattr(load, "_WAYS", {Way.LEAVE: 1})
    monkeypatch.setattr(load, "SIZES", (Draw(1, 1, KIB // 8),))
    together, most = set(), 0

    class Counts(EngineCore):
        def stream(self, *requests: Request) -> OutputStreams:
            nonlocal most
            streams = super().stream(*requests)
            together.add(len(requests))
            most = max(most, self.statistics().open)
            return streams

    check_well(go(core=Counts, giant=True))
    assert max(together) == 3 <= most <= PLAN.clients


def miscounting(**more: int) -> type[EngineCore]:
    """Make an engine that counts otherwise: so many more of each."""

    class Miscounting(EngineCore):
        def statistics(self) -> Statistics:
            told = super().statistics()
            ended = {outcome: count + more.get(outcome, 0) for outcome, count in told.ended.items()}
            admitted, left = told.admitted + more.get("admitted", 0), told.open + more.get("open", 0)
            return msgspec.structs.replace(told, admitted=admitted, ended=ended, open=left)

    return Miscounting


@pytest.mark.parametrize(
    "more",
    [
        {"result": 1},  # for a request that has another outcome, too
        {"result": -1},  # a request without an outcome
        {"admitted": 1, "aborted": 1},  # a request that nobody has made
        {"result": 1, "aborted": -1},  # that nobody has taken
        {"error": -1, "aborted": 1},  # where its client was told something else
    ],
    ids=str,
)
def test_an_engine_that_counts_otherwise_than_its_clients_is_found(more: dict[str, int], go: Go) -> None:
    """Two outcomes for one request, none for another, one for nobody's: what each side has seen has to agree."""
    ((kind, told),) = go(core=miscounting(**more)).heard.finds
    assert kind == "outcome"
    assert "requests the engine counts" in told


def test_an_engine_that_has_shut_down_and_not_ended_all_is_found(go: Go) -> None:
    """Whoever waits for that one would wait for ever."""
    ((kind, told),) = go(core=miscounting(open=1), abrupt=True).heard.finds
    assert kind == "outcome"
    assert ", and 1 open." in told


class Flips(VariedExecutor):
    """Workers whose outputs have a wrong bit each."""

    def _values(self, method: str, requests: Sequence[Request]) -> list[Any]:
        values = super()._values(method, requests)
        for value in values:
            arrays = [leaf for leaf in trees.leaves(value) if isinstance(leaf, np.ndarray) and leaf.flags.c_contiguous]
            for array in arrays[:1]:
                array.reshape(-1).view(np.uint8)[-1] ^= 1
        return values


@pytest.mark.parametrize("stepwise", [False, True], ids=["at once", "step by step"])
def test_outputs_with_a_wrong_bit_are_found_one_by_one(stepwise: bool, go: Go) -> None:
    """They count as results, for somebody has them, and not as checked bytes."""
    went = go(executor=Flips, engine=msgspec.structs.replace(CONFIG, step_execution=stepwise))
    assert len(went.heard.finds) == went.counts["result"] > 0
    assert {kind for kind, _ in went.heard.finds} == {"bytes"}
    assert went.counts["checked_bytes"] == 0


class Refuses(EngineCore):
    """An engine whose worker is dead."""

    def submit(self, request: Request) -> OutputStream:
        raise PeerFailed("The worker of rank 0 was killed by SIGKILL.")


def test_of_an_engine_that_is_dead_nobody_asks_any_more(go: Go) -> None:
    """The round ends at once, and tells why; there are no requests that could be lost."""
    went = go(core=Refuses, seconds=1000.0)
    assert went.heard.finds == []
    assert {*went.heard.errors} == {"The worker of rank 0 was killed by SIGKILL."}
    assert (went.counts["admitted"], went.counts["rounds"]) == (0, 1)


class Fails(VariedExecutor):
    """Workers whose model fails."""

    def _values(self, method: str, requests: Sequence[Request]) -> list[Any]:
        return [PeerFailed("The device is lost.") for _ in requests]


def test_an_error_that_nobody_asked_for_is_told(go: Go) -> None:
    """It is an outcome; whether a fault explains it knows who hears of it."""
    went = go(executor=Fails)
    assert (went.heard.finds, {*went.heard.errors}) == ([], {"The device is lost."})
    assert went.counts["error"] > 0 == went.counts["result"]


class SaysNoGoodbye(EngineCore):
    """An engine whose workers do not say goodbye."""

    def shutdown(self) -> bool:
        super().shutdown()
        return False


@pytest.mark.parametrize(("late_s", "told"), [(0.0, 1), (5.5, 0)])
def test_workers_that_do_not_say_goodbye_are_told_of(late_s: float, told: int, go: Go) -> None:
    """Unless they may still wait for their device when they are asked to."""
    went = go(core=SaysNoGoodbye, late_s=late_s, seconds=0.0, clients=1)
    assert (went.heard.finds, len(went.heard.errors)) == ([], told)


def test_a_client_that_is_told_nothing_is_found(go: Go, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond every timeout, and once more when the engine has shut down; it is cancelled then."""
    monkeypatch.setattr(Clients, "ask", lambda *_: asyncio.Event().wait())
    short = msgspec.structs.replace(CONFIG, output_timeout_s=0.1, rpc_timeout_s=0.1, drain_timeout_s=0.05)
    went = go(engine=short, clients=2)
    assert [kind for kind, _ in went.heard.finds] == ["outcome", "outcome"]
    assert "2 clients still wait 0.5 s after the last request" in went.heard.finds[0][1]
    assert "2 clients still wait 0.3 s after the engine has shut down" in went.heard.finds[1][1]


def test_a_client_that_breaks_down_is_found(go: Go, monkeypatch: pytest.MonkeyPatch) -> None:
    """By an error that is none of ours."""

    async def fall(*_: object) -> None:
        raise LookupError("no such thing")

    monkeypatch.setattr(Clients, "ask", fall)
    assert go(clients=1).heard.finds == [("error", "A client was raised LookupError: no such thing")]


def test_what_an_engine_still_holds_when_nobody_asks_is_found(go: Go, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slot whose output nobody looks at any more."""
    monkeypatch.setattr(rounds, "held_slots", lambda _: 2)
    ((kind, told),) = go(seconds=0.0, clients=1).heard.finds
    assert kind == "leftover"
    assert told.startswith("Nobody asks any more, and the engine holds 0 open requests,")
    assert told.endswith("2 slots.")
