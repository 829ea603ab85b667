"""The conductor: real threads take their steps in the order of a schedule."""

from __future__ import annotations

import itertools
import threading

import pytest

from omni_ipc.records import Step
from omni_ipc.seam.conducted import ConductedRuntime
from omni_ipc.workflows.conductor import Conducted, Conductor

TASKS = ("one", "two", "three")
VOCABULARY = {(task, "Task.Step") for task in TASKS}


def run_conducted(
    schedule: list[Step], runtimes: int, *, patience_s: float = 10.0, steps: int = 1
) -> tuple[list[str], Conducted]:
    """Let three tasks take ``steps`` steps each, spread over ``runtimes`` runtimes as over so many processes."""
    order: list[str] = []

    def body(rt: ConductedRuntime, name: str) -> None:
        for number in range(steps):
            with rt.region("Task.Step", number=number):
                order.append(name)

    with Conductor(schedule, patience_s=patience_s) as conductor:
        worlds = [ConductedRuntime(conductor.connect(), VOCABULARY) for _ in range(runtimes)]
        tasks = [rt.spawn(body, rt, name, name=name) for rt, name in zip(itertools.cycle(worlds), TASKS, strict=False)]
        for task in tasks:
            task.join()
        for rt in worlds:
            rt.close()
    return order, conductor.outcome()


@pytest.mark.parametrize("order", list(itertools.permutations(TASKS)), ids=" ".join)
@pytest.mark.parametrize("runtimes", [1, 3])
def test_every_order_of_three_tasks_can_be_conducted(order: tuple[str, ...], runtimes: int) -> None:
    """The tasks run in the order of the schedule, in one process as in three."""
    taken, outcome = run_conducted([Step(task, "Task.Step") for task in order], runtimes)
    assert tuple(taken) == order
    assert outcome == Conducted(3, 3)


def test_a_step_that_never_comes_sets_everybody_free() -> None:
    """The schedule is given up at that step, it is told who waited where, and all tasks end."""
    schedule = [Step("two", "Task.Step"), Step("four", "Task.Step"), Step("one", "Task.Step")]
    taken, outcome = run_conducted(schedule, runtimes=1, patience_s=0.2)
    assert sorted(taken) == sorted(TASKS)
    assert (outcome.followed, outcome.of) == (1, 3)
    assert outcome.refusal is not None
    assert outcome.refusal.startswith("step 2 of 3, four: Task.Step(), did not come within 0.2 s")
    assert "one stands before Task.Step at test_conductor.py:" in outcome.refusal


def test_fields_choose_among_the_steps_of_one_task() -> None:
    """A step whose fields differ from the schedule's is not taken for it."""
    schedule = [Step("one", "Task.Step", {"number": 1})]
    _, outcome = run_conducted(schedule, runtimes=1, patience_s=0.2, steps=2)
    assert outcome.followed == 0


def test_steps_outside_the_vocabulary_are_not_asked_about() -> None:
    """A region that the schedule does not speak of runs while nobody has a turn."""
    with Conductor([Step("one", "Task.Step")], patience_s=10.0) as conductor:
        rt = ConductedRuntime(conductor.connect(), VOCABULARY)
        lock = rt.lock()
        assert rt.region("Other.Step", lock) is lock
        rt.close()


def test_a_process_that_leaves_does_not_hold_up_the_others() -> None:
    """A runtime that is closed sets its own tasks free, and the schedule ends by patience."""
    with Conductor([Step("one", "Task.Step")], patience_s=0.2) as conductor:
        rt = ConductedRuntime(conductor.connect(), VOCABULARY)
        passed = threading.Event()

        def body() -> None:
            with rt.region("Task.Step"):
                passed.set()

        task = rt.spawn(body, name="two")
        rt.close()
        task.join(timeout=10)
        assert passed.is_set()
