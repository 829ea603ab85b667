"""One round of a soak: an engine, clients that ask it for all kinds of things, and its end, at which nothing is open.

clients ask ─► quiet: they end, one by one ─► idle? ─► shutdown ─┐
        └────► abrupt, or a death: ────────────────► shutdown ───┴► all settled? clients and engine agree?
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from omni_ipc.errors import OmniError
from omni_ipc.serving.engine import Engine
from omni_ipc.serving.results import Outcome
from omni_ipc.stress.budget import Budget
from omni_ipc.stress.client import Clients
from omni_ipc.stress.judging import Circumstances
from omni_ipc.stress.ledger import Ledger
from omni_ipc.stress.leftovers import PATIENCE_S, held_slots
from omni_ipc.stress.load import Load
from omni_ipc.stress.messages import Teller
from omni_ipc.stress.plans import Plan, Room
from omni_ipc.stress.settings import SoakConfig

_LOOK_EVERY_S = 0.1
_IDLE = "waiting 0, cached 0, unsplit 0, rpcs 0"
_DOZE_S = (0.3, 2.0)


class Around(NamedTuple):
    """What is the same for all rounds of a process.

    Args:
        stop: set when the soak is to end.
    """

    config: SoakConfig
    room: Room
    ledger: Ledger
    teller: Teller
    stop: threading.Event


class Round:
    """One engine's life among its clients."""

    def __init__(self, plan: Plan, engine: Engine, around: Around) -> None:
        self._plan = plan
        self._engine = engine
        _, self._room, self._ledger, self._teller, self._stop = around
        seed = f"{around.config.seed}.{plan.number}"
        largest, stepwise = self._room.largest_bytes, plan.engine.step_execution
        usual = min(largest, self._room.open_bytes)
        self._load = Load(seed, largest_bytes=usual, late_s=plan.late_s, stepwise=stepwise)
        self._giant = Load(f"{seed} giant", largest_bytes=largest, late_s=0.0, stepwise=stepwise)
        self._most_requests = around.config.clients
        timeouts = plan.engine.output_timeout_s, plan.engine.rpc_timeout_s
        self._circumstances = Circumstances(min(timeouts))
        self._before = _counts(self._ledger)

    async def run(self) -> None:
        """Let clients ask until it is time; on return no request is open, and the engine has shut down."""
        clients = Clients(
            self._engine,
            load=self._load,
            ledger=self._ledger,
            budget=Budget(self._room.open_bytes, self._most_requests),
            circumstances=self._circumstances,
            telling=self._teller,
        )
        asking = [asyncio.ensure_future(clients.ask_on()) for _ in range(self._plan.clients)]
        if self._plan.dozes:
            asking.append(asyncio.ensure_future(clients.doze(*_DOZE_S)))
        if self._plan.giant:
            asking.append(asyncio.ensure_future(clients.ask(self._giant.giant())))
        await self._look_on(clients)
        failed = clients.over.is_set()
        clients.over.set()
        if not (failed or self._plan.abrupt):
            await self._await_quiet(asking)
        self._circumstances.stopping = True
        goodbye = await asyncio.to_thread(self._engine.shutdown)
        too_late = self._plan.late_s > self._plan.engine.drain_timeout_s  # for workers to stop in good order
        if not (goodbye or failed or too_late):
            self._teller.told(OmniError("The workers did not say goodbye within the shutdown timeout."))
        await self._await_all(asking)
        self._settle(clients)

    async def _look_on(self, clients: Clients) -> None:
        """Wait until it is time, or nobody asks any more; tell how many are open meanwhile."""
        ends_s = asyncio.get_running_loop().time() + self._plan.seconds
        while asyncio.get_running_loop().time() < ends_s and not (self._stop.is_set() or clients.over.is_set()):
            self._ledger.put("open", self._engine.statistics().open)
            self._ledger.put("slots", held_slots(self._engine))
            await asyncio.sleep(_LOOK_EVERY_S)

    async def _await_quiet(self, asking: Sequence[asyncio.Future[None]]) -> None:
        """Let all clients end, and see that the engine holds nothing then."""
        timeouts = self._plan.engine.output_timeout_s + self._plan.engine.rpc_timeout_s
        _, hanging = await asyncio.wait(asking, timeout=timeouts + PATIENCE_S)
        if hanging:
            self._teller.found(
                "outcome",
                f"{len(hanging)} clients still wait {timeouts + PATIENCE_S:g} s after the last request, beyond every "
                f"timeout. The engine has {self._engine.describe()}.",
            )
            return
        for _ in range(int(PATIENCE_S / _LOOK_EVERY_S)):
            if not (left := self._left()):
                break
            await asyncio.sleep(_LOOK_EVERY_S)
        else:
            self._teller.found("leftover", f"Nobody asks any more, and the engine holds {left}.")

    def _left(self) -> str:
        """Say what the engine holds; nothing, if it is healthy and idle."""
        try:
            self._engine.check_health()
        except OmniError:  # its clients were told
            return ""
        described = self._engine.describe()
        slots = held_slots(self._engine)
        idle = (described.open, described.waiting, str(described.executor)) == (0, 0, _IDLE)
        return "" if idle and not slots else f"{described.open} open requests, {described.executor}, {slots} slots"

    async def _await_all(self, asking: Sequence[asyncio.Future[None]]) -> None:
        """Wait for the clients, who must have been told by now how their requests ended."""
        done, hanging = await asyncio.wait(asking, timeout=PATIENCE_S)
        for each in hanging:
            each.cancel()
        if hanging:
            sentence = f"{len(hanging)} clients still wait {PATIENCE_S:g} s after the engine has shut down."
            self._teller.found("outcome", sentence)
        for each in done:
            if not each.cancelled() and (error := each.exception()) is not None:
                self._teller.found("error", f"A client was raised {type(error).__name__}: {error}")

    def _settle(self, clients: Clients) -> None:
        """Hold what the clients have seen against what the engine has counted, and tell what became of the others."""
        engine = self._engine.statistics()
        seen = {name: count - self._before[name] for name, count in _counts(self._ledger).items()}
        more = engine.admitted - seen["admitted"]
        unseen = {outcome: engine.ended[outcome] - seen[outcome.value] for outcome in Outcome}
        agrees = 0 <= more <= clients.withdrawn and min(unseen.values()) >= 0 and unseen[Outcome.RESULT] == 0
        if not agrees or engine.open or sum(unseen.values()) != seen["left"] + more:
            self._teller.found(
                "outcome",
                f"Of {engine.admitted} requests the engine counts {_listed(engine.ended)}, and {engine.open} open. "
                f"Its clients had {seen['admitted']} admitted, saw {_listed({each: seen[each] for each in Outcome})}, "
                f"left {seen['left']}, and had {clients.withdrawn} at most withdrawn.",
            )
        self._ledger.add("admitted", more)
        self._ledger.add("left", -seen["left"])
        for outcome, count in unseen.items():
            self._ledger.add(outcome, count)
        for name in ("open", "slots"):
            self._ledger.put(name, 0)
        self._ledger.add("rounds")


def _counts(ledger: Ledger) -> dict[str, int]:
    return {name: ledger.get(name) for name in ("admitted", "left", *Outcome)}


def _listed(counts: Mapping[Outcome, int]) -> str:
    return ", ".join(f"{count} {outcome.value}" for outcome, count in counts.items())
