"""Which requests of a recording something went wrong with, and in which order the regions were taken that concern them.

Nothing says so by itself: a recording tells of regions, of the keys that came to tables and went, and of what was
raised. What is suspected first was met by an error that is none of omni_ipc's; then, what tables held longest; then the
others.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator

import msgspec

from omni_ipc import errors
from omni_ipc.conformance.recordings.sessions import Session, Step
from omni_ipc.records import Field
from omni_ipc.serving.ids import Minted, whole_of

_TABLE = "OutputTable"
_HOLDING = ("_waiting", "_cached", "_splits", "_unsplit")
_PLACES = 2  # of a batch; in no scenario more of them matter
_NS = 1e9


class Suspect(msgspec.Struct, frozen=True):
    """A batch, or an output of its own.

    Args:
        output: its id.
        order: the actions of the regions that concern it; of a large batch, of two of its requests alone.
        why: it is suspected.
    """

    output: str
    order: tuple[str, ...]
    why: str


def suspects(session: Session, *, requests: Collection[str] = (), most: int = 8) -> list[Suspect]:
    """List what something may have gone wrong with, the likeliest first.

    Args:
        requests: the clients' names of those that are known to be concerned.
    """
    reading = _Reading()
    for step in session.steps:
        reading.take(step)
    return [*reading.suspects(requests)][:most]


class _Reading:
    """Reads a session step by step, and finds out whom each step concerns.

    A step bears the id of an output, the number of a request or of a call, or nothing at all. The numbers of a batch
    leave the scheduler's queue at a Dispatcher.Take, and get the next id at the Dispatcher.Mint behind it; what that
    task does until its next Take concerns them.
    """

    def __init__(self) -> None:
        self._taken: list[Field] = []  # numbers of the batch that the dispatcher has in its hands
        self._batch: str | None = None  # and its id
        self._minted = 0
        self._last_ns = 0
        self._outer: dict[tuple[int, int], int] = {}  # process and thread -> the outermost region it is in
        self._actions: list[str] = []
        self._ids: list[set[str]] = []  # of each of the outermost regions, whom it concerns
        self._named: dict[str, list[Field]] = defaultdict(list)  # request -> its numbers
        self._deserted: set[Field] = set()
        self._outputs: dict[Field, str] = {}  # number -> its output
        self._admitted: dict[int, Field] = {}  # region -> the number that it is about
        self._calls: dict[Field, str] = {}  # number of a call -> its batch
        self._since: dict[tuple[str, Field], int] = {}
        self._held_ns: Counter[str] = Counter()
        self._raised: dict[str, str] = {}

    def take(self, step: Step) -> None:
        """Take note of a step."""
        self._last_ns = max(self._last_ns, step.begin_ns, step.end_ns or 0)
        hand = step.process, step.thread
        if not step.inside_of:
            self._outer[hand] = len(self._actions)
            self._actions.append(step.action)
            self._ids.append(set())
        region = self._outer[hand]
        self._follow_scheduler(step, region)
        if step.task == "dispatcher" and self._batch is not None and step.action != "Dispatcher.Take":
            self._ids[region].add(self._batch)
        concerned = {*self._concerned(step)}
        self._ids[region] |= concerned
        self._hold(step)
        if step.error is not None and not hasattr(errors, step.error):
            self._raised |= dict.fromkeys(concerned, f"{step.action} raised {step.error}")

    def suspects(self, requests: Collection[str]) -> Iterator[Suspect]:
        """List all of them, the likeliest first."""
        for (_, key), since_ns in self._since.items():
            self._held_ns[str(key)] += self._last_ns - since_ns
        for region, number in self._admitted.items():
            if number in self._outputs:
                self._ids[region].add(self._outputs[number])
        named = [self._outputs[number] for name in requests for number in self._named[name] if number in self._outputs]
        whys = {
            **dict.fromkeys(map(whole_of, named), "it is of the request that is concerned"),
            **{whole_of(output): why for output, why in self._raised.items()},
        }
        for output, held_ns in self._held_ns.most_common():
            whys.setdefault(whole_of(output), f"it was held for {held_ns / _NS:.2f} s")
        for output in self._outputs.values():
            whys.setdefault(whole_of(output), "it was computed")
        for whole, why in whys.items():
            if order := tuple(self._order(whole)):
                yield Suspect(whole, order, why)

    def _order(self, whole: str) -> Iterator[str]:
        """Give the regions of an output, or of two outputs of a batch."""
        places = [output for output, _ in self._held_ns.most_common() if "/" in output and whole_of(output) == whole]
        wanted = {whole, *places[:_PLACES]}
        for action, ids in zip(self._actions, self._ids, strict=True):
            if ids & wanted:
                yield action

    def _follow_scheduler(self, step: Step, region: int) -> None:
        waiting = step.changes.get(("Scheduler", "_waiting"))
        match step.action:
            case "Engine.Admit" if waiting is not None and waiting.came:
                self._admitted[region] = waiting.came[0]
                self._named[str(step.fields.get("request"))].append(waiting.came[0])
            case "Stream.Desert":
                self._deserted.add(step.fields["number"])
            case "Dispatcher.Take":
                self._taken = sorted({*(waiting.gone if waiting else ())} - self._deserted, key=int)
                self._batch = None
            case "Dispatcher.Mint" if step.error is None:
                self._mint()
            case "Dispatcher.Call" if self._batch is not None:
                self._calls[step.fields["rpc"]] = self._batch

    def _mint(self) -> None:
        self._minted += 1
        several = len(self._taken) > 1
        minted = Minted.batch(1, self._minted, len(self._taken)) if several else Minted.single(1, self._minted)
        self._batch = minted.output
        self._outputs.update(zip(self._taken, minted.outputs, strict=False))

    def _concerned(self, step: Step) -> Iterator[str]:
        """Name the outputs and batches that a step tells of."""
        for name in ("output", "batch"):
            if name in step.fields:
                yield str(step.fields[name])
        if (output := self._outputs.get(step.fields.get("number", 0))) is not None:
            yield output
        if (batch := self._calls.get(step.fields.get("rpc", 0))) is not None:
            yield batch
        if step.action == "Engine.Abort" and (opened := step.changes.get(("Scheduler", "_open"))) is not None:
            for number in (number for name in opened.gone for number in self._named[str(name)][-1:]):
                if number in self._outputs:
                    yield self._outputs[number]

    def _hold(self, step: Step) -> None:
        """Take note of how long the table holds what."""
        for field in _HOLDING:
            if (change := step.changes.get((_TABLE, field))) is None:
                continue
            for key in change.came:
                self._since[field, key] = step.begin_ns
            for key in change.gone:
                self._held_ns[str(key)] += step.begin_ns - self._since.pop((field, key), step.begin_ns)
