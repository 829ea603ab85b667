"""Clients of one engine: each asks, takes or leaves what it asked for, looks at every byte of it, and asks anew."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

from omni_ipc.errors import Full, OmniError, PeerFailed
from omni_ipc.serving.engine import Engine
from omni_ipc.serving.results import Outcome, RequestOutput
from omni_ipc.serving.streams import OutputStream
from omni_ipc.stress.budget import Budget
from omni_ipc.stress.judging import Circumstances, Moment
from omni_ipc.stress.ledger import Ledger
from omni_ipc.stress.load import MIB, Ask, Load, Way
from omni_ipc.stress.outputs import difference
from omni_ipc.stress.pipeline import plan_of

_REST_S = 0.01
_ASLEEP_S = 0.05
_TOGETHER = 3  # requests that are asked for at once


class Telling(Protocol):
    """Where clients tell of what they did not ask for."""

    def told(self, error: OmniError) -> None:
        """Tell of an error that was not to be expected."""

    def found(self, kind: str, sentence: str) -> None:
        """Tell of something that must not be."""


class Clients:
    """All clients of one engine, in one event loop.

    Attributes:
        over: set once nobody asks any more: it was told to, or the engine refuses.
        withdrawn: requests that may have been admitted with others, and given up at once, as one of those was refused.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        load: Load,
        ledger: Ledger,
        budget: Budget,
        circumstances: Circumstances,
        telling: Telling,
    ) -> None:
        self._engine = engine
        self._load = load
        self._ledger = ledger
        self._budget = budget
        self._circumstances = circumstances
        self._telling = telling
        self.over = asyncio.Event()
        self.withdrawn = 0
        self._ways: dict[Way, Callable[[Ask, OutputStream, Moment], Awaitable[None]]] = {
            Way.AWAIT: self._await,
            Way.ITERATE: self._iterate,
            Way.BLOCK: self._block,
            Way.HOLD: self._hold,
            Way.LATE: self._late,
            Way.ABORT: self._abort,
            Way.CANCEL: self._cancel,
            Way.GIVE_UP: self._give_up,
            Way.CLOSE: self._close,
            Way.DESERT: self._desert,
        }

    async def ask_on(self) -> None:
        """Be one client, until it is over."""
        while not self.over.is_set():
            await self.ask(self._load.draw())

    async def ask(self, ask: Ask) -> None:
        """Ask for one thing, or for several, and see it through."""
        asks = self._together(ask) if ask.way is Way.LEAVE else [ask]
        async with self._budget.spent(sum(each.nbytes for each in asks), len(asks)):
            await (self._leave(asks) if ask.way is Way.LEAVE else self._see_through(ask))

    def _together(self, ask: Ask) -> list[Ask]:
        """Draw what is asked for beside a request: what all of it together leaves room for."""
        asks = [ask]
        for drawn in (self._load.draw() for _ in range(min(_TOGETHER, self._budget.requests) - 1)):
            if drawn.nbytes + sum(each.nbytes for each in asks) <= self._budget.nbytes:
                asks.append(drawn)
        return asks

    async def doze(self, least_s: float, most_s: float) -> None:
        """Let the workers sleep now and then; one that is in the middle of something may refuse to."""
        while not await self._is_over_within(self._load.chance.uniform(least_s, most_s)):
            self._circumstances.sleeping(True)
            level = self._load.chance.choice((1, 2))
            await self._call(self._engine.sleep, level, may_be=PeerFailed)  # outputs are on their way to the host
            await asyncio.sleep(self._load.chance.uniform(0, _ASLEEP_S))
            if await self._call(self._engine.wake):
                self._circumstances.sleeping(False)

    async def _see_through(self, ask: Ask) -> None:
        since = self._circumstances.now(ask.request.id)
        try:
            stream = self._engine.submit(ask.request)
        except OmniError as error:
            await self._refused(error)
            return
        self._ledger.add("admitted")
        await self._ways[ask.way](ask, stream, since)

    async def _leave(self, asks: list[Ask]) -> None:
        """Take the first output of several, and leave the others behind."""
        since = [self._circumstances.now(each.request.id) for each in asks]
        try:
            streams = self._engine.stream(*(each.request for each in asks))
        except OmniError as error:
            self.withdrawn += len(asks) - 1
            await self._refused(error)
            return
        self._ledger.add("admitted", len(asks))
        async with streams:
            await self._take(asks[0], anext(streams), since[0])
        self._ledger.add("left", len(asks) - 1)

    async def _await(self, ask: Ask, stream: OutputStream, since: Moment) -> None:
        await self._take(ask, stream.output(), since)

    async def _iterate(self, ask: Ask, stream: OutputStream, since: Moment) -> None:
        async with contextlib.aclosing(stream):
            await self._take(ask, anext(stream), since)

    async def _block(self, ask: Ask, stream: OutputStream, since: Moment) -> None:
        await self._take(ask, asyncio.to_thread(stream.result), since)

    async def _hold(self, ask: Ask, stream: OutputStream, since: Moment) -> None:
        await self._take(ask, stream.output(), since, hold_s=10 * ask.pause_s)

    async def _late(self, ask: Ask, stream: OutputStream, since: Moment) -> None:
        await asyncio.sleep(5 * ask.pause_s)
        await self._take(ask, stream.output(), since, waited=not ask.pause_s)

    async def _abort(self, ask: Ask, stream: OutputStream, since: Moment) -> None:
        await asyncio.sleep(ask.pause_s)
        self._circumstances.aborting(ask.request.id)
        self._engine.abort(ask.request.id)
        await self._take(ask, stream.output(), since, waited=not ask.pause_s)

    async def _cancel(self, ask: Ask, stream: OutputStream, since: Moment) -> None:
        taking = asyncio.ensure_future(stream.output())
        await asyncio.sleep(ask.pause_s)
        taking.cancel()
        await asyncio.wait([taking])
        if taking.cancelled():
            self._ledger.add("left")
        else:
            await self._take(ask, taking, since, waited=not ask.pause_s)

    async def _give_up(self, ask: Ask, stream: OutputStream, since: Moment) -> None:
        await self._take(ask, _within(ask.pause_s, stream.output()), since)

    async def _close(self, ask: Ask, stream: OutputStream, since: Moment) -> None:
        async with stream:
            await asyncio.sleep(ask.pause_s)
        self._ledger.add("left")

    async def _desert(self, ask: Ask, stream: OutputStream, since: Moment) -> None:
        await asyncio.sleep(ask.pause_s)
        del stream
        self._ledger.add("left")

    async def _take(
        self,
        ask: Ask,
        coming: Awaitable[RequestOutput],
        since: Moment,
        *,
        hold_s: float = 0.0,
        waited: bool = True,
    ) -> None:
        """Take the output, if it comes, and hold it against what was asked for; waited: since the request went in."""
        try:
            output = await coming
        except OmniError as error:
            self._ended(ask, error, since)
            return
        except TimeoutError:  # of the client's own
            self._ledger.add("left")
            return
        ended_s = time.monotonic()
        await asyncio.sleep(hold_s)
        wrong = await asyncio.to_thread(_misfit, ask, output) if ask.nbytes > MIB else _misfit(ask, output)
        if wrong is not None:
            self._telling.found("bytes", wrong)
        stepwise = bool(ask.request.options["steps"])
        self._ledger.result(
            since.at_s, ended_s, nbytes=ask.nbytes, checked=wrong is None, stepwise=stepwise, waited=waited
        )

    def _ended(self, ask: Ask, error: OmniError, since: Moment) -> None:
        self._ledger.add(outcome := Outcome.of(error))
        if not self._circumstances.is_due(ask, since, error):
            self._telling.told(error)
        elif outcome is Outcome.ERROR:
            self._ledger.add("due_errors")

    async def _refused(self, error: OmniError) -> None:
        """Rest, if the engine is full; else it has failed, or shuts down, and serves nobody any more."""
        self._ledger.add("refused")
        if isinstance(error, Full):
            await asyncio.sleep(_REST_S)
            return
        self.over.set()
        if not self._circumstances.stopping:
            self._telling.told(error)

    async def _is_over_within(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.over.wait(), seconds)
        return self.over.is_set()

    async def _call(
        self, method: Callable[..., object], *arguments: object, may_be: type[OmniError] | None = None
    ) -> bool:
        """Call the workers, and tell of an error, but of one that may be; gives whether there was none at all."""
        try:
            await asyncio.to_thread(method, *arguments)
        except OmniError as error:
            if not (self._circumstances.stopping or (may_be is not None and isinstance(error, may_be))):
                self._telling.told(error)
            return False
        return True


async def _within(seconds: float, coming: Awaitable[RequestOutput]) -> RequestOutput:
    async with asyncio.timeout(seconds):
        return await coming


def _misfit(ask: Ask, output: RequestOutput) -> str | None:
    """Tell in what an output is not what was asked for."""
    request = ask.request
    if request.options["trouble"] or output.request_id != request.id:
        return f"Request '{request.id}' asked for '{request.options['trouble']}', and got that of '{output.request_id}'"
    planned = {"late": request.options["late_s"], "value": plan_of(request)}
    different = difference(planned, output.value)
    return None if different is None else f"Request '{request.id}', {request.options['kind']}: {different}."
