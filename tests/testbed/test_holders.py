"""What code calls the objects that it uses."""

from __future__ import annotations

import sys
import threading
from collections import deque

import msgspec

from omni_ipc.records import Trace
from omni_ipc.testbed import ControlledRuntime, explore, replay
from omni_ipc.testbed.explain import explain
from omni_ipc.testbed.holders import called
from tests.testbed.kernels import and_join, found

REGISTRY: dict[str, list[int]] = {}


class Slotted:
    """Holds its state in slots, of which one is not set."""

    __slots__ = ("_items", "unset")

    def __init__(self, items: object) -> None:
        self._items = items


class Holder:
    """Holds things, and tells who calls what it is made of."""

    shared: list[int] = []  # noqa: RUF012 - it is a class's on purpose

    def __init__(self) -> None:
        self.__hidden = [1]
        self.rows: list[object] = []

    @property
    def trap(self) -> object:
        raise AssertionError("looking for a holder calls nothing")

    def __getattr__(self, name: str) -> object:
        raise AssertionError("looking for a holder calls nothing")

    def __eq__(self, other: object) -> bool:
        raise AssertionError("looking for a holder calls nothing")

    __hash__ = None  # type: ignore[assignment]

    def hidden(self) -> str | None:
        return called(self.__hidden, sys._getframe())

    def is_shared(self) -> str | None:
        return called(Holder.shared, sys._getframe())


def test_an_object_is_called_by_the_attribute_or_the_variable_that_holds_it() -> None:
    """An attribute tells more than a variable, and that more than a place; what nothing near holds has no name."""
    holder, deep = Holder(), Slotted({"jobs": deque(["a"])})
    alone: list[int] = []
    rows = holder.rows
    frame = sys._getframe()
    assert called(rows, frame) == "Holder.rows"
    assert called(alone, frame) == "alone"
    assert called(deep._items, frame) == "Slotted._items"
    assert called(deep._items["jobs"], frame) == "Slotted._items['jobs']"  # type: ignore[index]
    assert called(REGISTRY, frame) == "REGISTRY"
    assert called(object(), frame) is None
    assert called(rows, None) is None
    assert (holder.hidden(), holder.is_shared()) == ("Holder.__hidden", "Holder.shared")


class Pump:
    """Unmodified code, with a lock, a mapping and a queue of its own."""

    def __init__(self) -> None:
        self._early: dict[int, int] = {}
        self.lock = threading.Lock()

    def put(self, key: int) -> None:
        if key not in self._early:
            self._early[key] = 0
        seen = self._early[key]
        self._early[key] = seen + 1

    def move_to(self, other: Pump) -> None:
        with self.lock, other.lock:
            pass


def run(*work: tuple[object, ...]) -> None:
    """Let each of some calls be made by a thread of its own."""
    threads = [threading.Thread(target=function, args=args) for function, *args in work]  # type: ignore[arg-type]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_failure_is_told_in_the_words_of_its_code_and_replayed_under_those_of_the_runtime() -> None:
    """A number tells nothing; and the names that are the same in every schedule stay in the trace."""

    def scenario() -> None:
        pump = Pump()
        run((pump.put, 7), (pump.put, 7))
        assert pump._early[7] == 2, "lost"

    trace = explore(scenario).trace
    assert trace is not None
    explanation = explain(trace)
    assert explanation.about == ("Pump._early[7]",)
    assert " Pump._early[7] (" in explanation.story[0]
    assert {"item": "Pump._early[7]"} in [step.fields for step in explanation.trace.steps]
    assert {"item": "dict1[7]"} in [step.fields for step in trace.steps]
    again = msgspec.json.decode(msgspec.json.encode(trace), type=Trace)
    assert replay(scenario, again).diverged is None


def test_two_objects_that_are_called_the_same_get_a_number_each() -> None:
    """Of two accounts, who waits for which lock is the point."""

    def scenario() -> None:
        left, right = Pump(), Pump()
        run((left.move_to, right), (right.move_to, left))

    trace = explore(scenario).trace
    assert trace is not None
    explanation = explain(trace)
    assert "holds Pump.lock#1 since step " in explanation.story[0]
    assert "and waits for Pump.lock#2 (" in explanation.story[0]
    assert explanation.trace.failure is not None
    assert [wait.target for wait in explanation.trace.failure.waits] == ["Pump.lock#2", "Pump.lock#1"]
    assert "Pump.lock#2, which 'Thread-2 (move_to)' holds" in explanation.trace.failure.message


def test_what_each_caller_calls_otherwise_keeps_the_name_of_the_runtime() -> None:
    """The first and the second lock are others for each of two tasks."""

    def scenario(rt: ControlledRuntime) -> None:
        def take(first: threading.Lock, second: threading.Lock) -> None:
            with first, second:
                pass

        one, two = rt.lock(), rt.lock()
        tasks = [rt.spawn(take, *locks, name=name) for name, locks in (("a", (one, two)), ("b", (two, one)))]
        for task in tasks:
            task.join()

    (sentence,) = explain(found(scenario).trace).story  # type: ignore[arg-type]
    assert "'a' holds lock1 since" in sentence
    assert "first" not in sentence


def test_a_task_and_a_message_keep_their_words() -> None:
    """A thread that somebody calls "queue1" is not the queue of that number, nor is one in a message of theirs."""

    def scenario(rt: ControlledRuntime) -> None:
        inbox = rt.queue()

        def put() -> None:
            inbox.put(1)

        tasks = [rt.spawn(put, name="queue1"), rt.spawn(put, name="other")]
        for task in tasks:
            task.join()
        assert inbox.qsize() == 3, "queue1 has too few"

    trace = found(scenario).trace
    assert trace is not None
    explanation = explain(trace)
    assert explanation.trace.failure == trace.failure
    assert [step.task for step in explanation.trace.steps] == [step.task for step in trace.steps]


def test_names_are_looked_for_where_tasks_are_methods_of_what_they_use() -> None:
    """The function of a task may be a method of the object itself, so that no frame of the code is there."""

    def scenario(rt: ControlledRuntime) -> None:
        queue = rt.queue(1)
        queue.put(1)
        and_join(rt, lambda: queue.put(2))

    assert explain(found(scenario).trace).story[-1].startswith("'a' waits for queue (")  # type: ignore[arg-type]
