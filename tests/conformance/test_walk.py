"""Walking hand-made code along a hand-made graph: it agrees, or it is told how it differs, by the shortest way."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from omni_ipc.conformance.graphs.graph import Graph, Label
from omni_ipc.conformance.walks.divergence import Divergence, Kind
from omni_ipc.conformance.walks.moves import Move, Moves
from omni_ipc.conformance.walks.reference import Reference
from omni_ipc.conformance.walks.walk import Order, Walker, never_taken, shortest
from omni_ipc.conformance.walks.walked import to_path, to_trace
from omni_ipc.errors import UsageError
from omni_ipc.records import Failure, FailureKind, Field, Trace
from omni_ipc.values import Value

State = dict[str, Any]
TASKS = {"Pump": "pump", "Client": "client {name}", "Client.Close": "closer"}


class Op(msgspec.Struct):
    """One operation of a hand-made task."""

    action: str
    fields: Mapping[str, Field] = {}
    when: Callable[[State], bool] = lambda state: True
    effect: Callable[[State], object] = lambda state: None
    task: str = ""
    enabled: bool = True
    blocked_on: str = "what does not come"
    where: str = "code.py:1 in f"


class Code:
    """A run of tasks, each of which does its operations for ever, as soon as each is possible.

    The state is that of a bounded queue of two places: what was put, and how many were taken.
    """

    def __init__(self, tasks: Mapping[str, Sequence[Op]], *, ends_badly: bool = False) -> None:
        self.tasks = {name: [msgspec.structs.replace(op, task=name) for op in ops] for name, ops in tasks.items()}
        self.at = dict.fromkeys(tasks, 0)
        self.values: State = {"queue": [], "count": 0, "time": 0}
        self.failure: Failure | None = None
        self._ends_badly = ends_badly

    def offers(self) -> Sequence[Op]:
        if self.failure:
            return []
        now = (ops[self.at[task] % len(ops)] for task, ops in self.tasks.items())
        return [msgspec.structs.replace(op, enabled=op.when(self.values)) for op in now]

    def enabled(self) -> Sequence[Op]:
        return [op for op in self.offers() if op.enabled]

    def take(self, task: str) -> None:
        op = self.tasks[task][self.at[task] % len(self.tasks[task])]
        self.at[task] += 1
        op.effect(self.values)
        if "crash" in self.values:
            self.failure = Failure(FailureKind.EXCEPTION, "it crashed")

    def pass_time(self) -> bool:
        self.values["time"] += 1
        return self.values["time"] < 5

    def state(self) -> Mapping[str, object]:
        return {"queue": tuple(self.values["queue"])}

    def finish(self) -> Failure | None:
        return Failure(FailureKind.DEADLOCK, "nobody goes on") if self._ends_badly else None


def put(state: State) -> None:
    state["queue"].append("a")


def take(state: State) -> None:
    state["queue"].pop(0)
    state["count"] += 1


def has_room(state: State) -> bool:
    return len(state["queue"]) < 2


PUT = Op("Client.Put", {"name": "a"}, has_room, put)
REFUSED = Op("Client.TryFull", {"name": "a"}, lambda state: not has_room(state))
TAKE = Op("Pump.Take", {"item": "a"}, lambda state: bool(state["queue"]), take)
INTERNAL = Op("queue.get", {}, lambda state: bool(state["queue"]))
TASKS_OF_CODE: dict[str, Sequence[Op]] = {"client a": [PUT], "pump": [INTERNAL, TAKE], "closer": [REFUSED]}

put_a, take_a = Label("ClientPut", (("name", "a"),)), Label("PumpTake", (("item", "a"),))
try_full = Label("ClientTryFull", (("name", "a"),))
MODEL = [(0, put_a, 1), (1, put_a, 2), (1, take_a, 0), (2, take_a, 1), (2, try_full, 2)]


def reference(steps: Sequence[tuple[int, Label, int]] = MODEL, **options: Any) -> Reference:
    states = {number: (("a",) * number, number) for number in range(3)}
    walkable = [(states[source], label, states[target]) for source, label, target in steps]
    known = [states[0], *(state for source, _, target in walkable for state in (source, target))]
    graph = Graph(["queue", "ghost"], known, [states[0]], walkable)
    labels = {label for _, label, _ in steps} - {Label("Terminating")}
    moves = Moves(labels | {put_a, take_a, try_full}, tasks={**TASKS, "Client.TryFull": "closer"}, agents={})
    return Reference(graph, moves, **{"termination": "Terminating", "ghosts": frozenset({"ghost"}), **options})


def walk(
    tasks: Mapping[str, Sequence[Op]] | None = None, against: Reference | None = None, **options: Any
) -> tuple[Walker, Divergence | None]:
    order = options.pop("order", Order.OLDEST)

    @contextlib.contextmanager
    def begin(initial: Mapping[str, Value]) -> Iterator[Code]:
        yield Code(tasks or TASKS_OF_CODE, **options)

    walker = Walker(against or reference(), begin, order=order)
    return walker, walker.cover()


@pytest.mark.parametrize("order", Order)
def test_code_that_agrees_takes_every_step(order: Order) -> None:
    """Circles, a failed call that changes nothing, and internal steps in between, in any order."""
    walker, found = walk(order=order)
    assert found is None
    assert walker.taken == set(range(len(MODEL)))
    assert walker.never == set()
    assert walker.runs == 1
    assert walker.steps > len(MODEL), "internal steps count"


def without(name: str) -> dict[str, Sequence[Op]]:
    return {task: ops for task, ops in TASKS_OF_CODE.items() if task != name}


def changed(name: str, *ops: Op) -> dict[str, Sequence[Op]]:
    return {**TASKS_OF_CODE, name: ops}


def spill(state: State) -> None:
    state["queue"].pop()


def crash(state: State) -> None:
    state["crash"] = True


ALWAYS = Op("Client.Put", {"name": "a"}, lambda state: True, put)
NEVER_TWO = Op("Client.Put", {"name": "a"}, lambda state: not state["queue"], put)
LIFO = Op("Pump.Take", {"item": "b"}, lambda state: bool(state["queue"]), take)
LOSING = Op("Pump.Take", {"item": "a"}, lambda state: bool(state["queue"]), lambda state: state["queue"].clear())
SPILLING = Op("Client.TryFull", {"name": "a"}, lambda state: not has_room(state), spill)
SPINNING = Op("queue.poll", {}, lambda state: len(state["queue"]) == 1)
MISNAMED = Op("Pump.Takes", {"item": "a"}, lambda state: bool(state["queue"]), take)
CRASHING = Op("queue.get", {}, lambda state: len(state["queue"]) == 2, crash)


@pytest.mark.parametrize(
    ("tasks", "kind", "steps", "why"),
    [
        (without("closer"), Kind.MISSING, 2, "The task 'closer' has ended, or never began."),
        (changed("client a", NEVER_TWO), Kind.MISSING, 1, "The task 'client a' waits for what does not come."),
        (
            changed("pump", LIFO),
            Kind.UNEXPECTED,
            1,
            "The task 'pump' can take Pump.Take(item=\"b\"); the model can take",
        ),
        (changed("client a", ALWAYS), Kind.UNEXPECTED, 2, "can take Client.Put(name="),
        (changed("pump", INTERNAL, LOSING), Kind.WRONG, 3, 'queue is <<>>; in the model it is <<"a">>.'),
        (
            changed("pump", MISNAMED),
            Kind.WRONG,
            1,
            "in the model it is <<\"a\">>. Meanwhile 'pump' went through Pump.Takes, which is no action of the model.",
        ),
        (
            {**without("client a"), "clients": [PUT]},
            Kind.UNEXPECTED,
            0,
            "and is none of the scenario's tasks (client a, closer, pump); the model can take ClientPut",
        ),
        (changed("closer", SPILLING), Kind.CHANGED, 3, 'queue is <<"a">>; in the model it is <<"a", "a">>.'),
        ({**TASKS_OF_CODE, "spinner": [SPINNING]}, Kind.STUCK, 1, "does not come to rest: after 2,000 steps"),
        ({**TASKS_OF_CODE, "other": [CRASHING]}, Kind.STUCK, 2, "The code failed: exception: it crashed"),
    ],
)
def test_each_way_to_differ_is_told_by_the_shortest_way(
    tasks: dict[str, Sequence[Op]], kind: Kind, steps: int, why: str
) -> None:
    """Too strict, too lax, another state, a failed call that changes something, no rest, a crash."""
    against = reference()
    walker, found = walk(tasks, against)
    assert found is not None
    found = shortest(walker, found, against, lambda: False)
    assert (found.kind, len(found.path)) == (kind, steps)
    assert why in found.why
    assert str(found).startswith(str(kind))


def test_the_place_in_code_is_told() -> None:
    """Once the divergence is walked again."""
    against = reference()
    walker, found = walk(changed("pump", INTERNAL, LOSING), against)
    assert found is not None
    assert found.where is None
    assert shortest(walker, found, against, lambda: True).where == "code.py:1 in f"


def test_a_finished_system_must_end_well() -> None:
    """At the model's last state the code is left alone, and its failure is one of the walk."""
    over = reference([(0, put_a, 1), (1, Label("Terminating"), 1)])
    tasks = {"client a": [PUT, Op("rest", {}, lambda state: False)]}
    walker, found = walk(tasks, over)
    assert found is None
    assert len(walker.taken) == 1, "termination is no step of the code"
    _, found = walk(tasks, over, ends_badly=True)
    assert found is not None
    assert (found.kind, "nobody goes on" in found.why) == (Kind.STUCK, True)


def test_time_passes_only_for_a_step_that_is_wanted() -> None:
    """The code's client wakes when its third deadline has come; without a wanted step time would not have passed."""
    late = Op("Client.Put", {"name": "a"}, lambda state: state["time"] > 2 and has_room(state), put)
    over = reference([(0, put_a, 1), (1, Label("Terminating"), 1)])
    _, found = walk({"client a": [late, Op("rest", {}, lambda state: False)]}, over)
    assert found is None
    later = Op("Client.Put", {"name": "a"}, lambda state: state["time"] > 9, put)
    _, found = walk({"client a": [later]}, over)
    assert found is not None
    assert found.kind is Kind.MISSING


def test_of_several_steps_that_the_code_may_choose_one_must_be_there() -> None:
    """And each of them in some run; the others may be missing in a state."""
    other = Label("PumpTake", (("item", "b"),))
    steps = [(0, put_a, 1), (1, take_a, 0), (1, other, 0)]
    _, found = walk({"client a": [NEVER_TWO], "pump": [TAKE]}, reference(steps))
    assert found is not None
    assert found.kind is Kind.MISSING, "the model lets it take b"
    free = reference(steps, choices=["PumpTake"])
    fair = {"client a": [NEVER_TWO], "pump": [TAKE, msgspec.structs.replace(TAKE, fields={"item": "b"})]}
    walker, found = walk(fair, free)
    assert (found, walker.never) == (None, set())
    walker, found = walk({"client a": [NEVER_TWO], "pump": [TAKE]}, free)
    assert found is None
    [never] = walker.never
    told = never_taken(never, free)
    assert (told.kind, told.label) == (Kind.NEVER, other)


def test_a_model_that_leaves_the_state_open_is_followed_where_the_code_goes() -> None:
    """The same label may lead to two states; the one that the code never comes to is told."""
    steps = [(0, put_a, 1), (0, put_a, 2), (1, take_a, 0), (2, take_a, 1)]
    tasks = {"client a": [NEVER_TWO], "pump": [TAKE]}
    walker, found = walk(tasks, reference(steps))
    assert found is None
    assert {str(walker._reference.graph.edges[place].label) for place in walker.never} == {
        'ClientPut(name="a")',
        'PumpTake(item="a")',
    }


@pytest.mark.parametrize(
    ("shown", "complaint"),
    [
        ({"queue": (), "extra": 1}, r"The projection shows extra beyond the model\."),
        ({}, r"The projection lacks queue\."),
    ],
)
def test_a_projection_must_show_what_is_no_ghost(shown: State, complaint: str) -> None:
    """No more, and no less; the ghosts are named."""

    class Showing(Code):
        def state(self) -> Mapping[str, object]:
            return shown

    with pytest.raises(UsageError, match=f"{complaint}.*not marked .* as ghost, and no other"):
        Walker(reference(), lambda _: contextlib.nullcontext(Showing(TASKS_OF_CODE))).cover()


@pytest.mark.parametrize(
    ("project", "complaint"),
    [
        (lambda: {}["queue"], r"raised KeyError: 'queue', after no step\. Correct the world's project"),
        (lambda: sys.exit(3), r"raised SystemExit: 3, after no step\."),
        (lambda: 7, r"raised TypeError: 'int' object is not iterable, after no step\."),
        (lambda: {"queue": 0.5}, r"The projection's queue: 0\.5 has no counterpart in TLA\+\."),
    ],
)
def test_a_projection_that_gives_no_state_is_told(project: Callable[[], Any], complaint: str) -> None:
    """It raises, ends the process, gives no mapping, or no value of TLA+: with the steps that led there."""

    class Projecting(Code):
        def state(self) -> Mapping[str, object]:
            return project()  # type: ignore[no-any-return]

    with pytest.raises(UsageError, match=complaint):
        Walker(reference(), lambda _: contextlib.nullcontext(Projecting(TASKS_OF_CODE))).cover()


def test_an_action_without_a_task_is_told() -> None:
    """And a task that wants a parameter which the action does not have."""
    with pytest.raises(UsageError, match=r"No task plays the actor of GhostWalk\(\)\. Add 'Ghost'"):
        Moves([Label("GhostWalk")], tasks=TASKS, agents={})
    with pytest.raises(UsageError, match="wants 'name', which"):
        Moves([Label("ClientPut")], tasks=TASKS, agents={})


def test_tasks_are_looked_up_by_region_then_by_actor_and_faults_by_action() -> None:
    """An agent's step is whatever it does."""
    labels = [put_a, Label("ClientClose"), Label("FaultKill", (("process", "worker"),))]
    moves = Moves(labels, tasks=TASKS, agents={"FaultKill": "kill({process})"})
    assert list(moves.of.values()) == [
        Move("client a", "Client.Put", {"name": "a"}),
        Move("closer", "Client.Close", {}),
        Move("kill(worker)", None, {}),
    ]
    assert moves.is_visible("anybody", "Client.Put")
    assert moves.is_visible("kill(worker)", "fault.kill(worker)")
    assert not moves.is_visible("client a", "queue.get")


def test_a_divergence_is_saved_and_found_again(tmp_path: Path) -> None:
    """As a trace, whose steps are those of the model; where the model has changed, that is told."""
    against = reference()
    walker, found = walk(changed("pump", INTERNAL, LOSING), against)
    assert found is not None
    trace = to_trace(found, against, model="X/graph", scenario="x", defect=None)
    again = Trace.load(trace.save(tmp_path / "x.trace.json"))
    assert again == trace
    assert again.failure is not None
    assert again.failure.kind is FailureKind.DIVERGENCE
    start, path = to_path(again, against)
    assert [against.graph.edges[place] for place in path] == list(found.path)
    same = walker.along(start, path)
    assert same is not None
    assert (same.kind, same.path) == (found.kind, found.path)
    with pytest.raises(UsageError, match=r"no longer takes step 1 of the trace, client a: Client\.Put"):
        to_path(again, reference([(0, take_a, 1)]))
    with pytest.raises(UsageError, match="no longer begins as in the trace"):
        to_path(msgspec.structs.replace(again, initial={"queue": ["z"], "ghost": 0}), against)
