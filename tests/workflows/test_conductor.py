"""The conductor: real threads take their steps in the order of a schedule."""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from omni_ipc.records import Step
from omni_ipc.seam.conducted import ConductedRuntime
from omni_ipc.workflows.conductor import Conductor
from omni_ipc.workflows.rest import all_asleep, rest_s_on
from omni_ipc.workflows.schedule import Conducted
from tests.support.waiting import until

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


Body = Callable[[ConductedRuntime], object]


def conduct(
    schedule: list[Step], bodies: Mapping[str, Body], *, patience_s: float = 30.0, at_rest: Callable[[], bool] = bool
) -> Conducted:
    """Run bodies as tasks of one runtime, named as in the schedule, to their end."""
    vocabulary = {(step.task, step.action) for step in schedule}
    with Conductor(schedule, patience_s=patience_s, at_rest=at_rest) as conductor:
        rt = ConductedRuntime(conductor.connect(), vocabulary)
        for task in [rt.spawn(body, rt, name=name) for name, body in bodies.items()]:
            task.join()
        rt.close()
    assert rt.errors == []
    return conductor.outcome()


def asleep() -> bool:
    """Tell whether all tasks of this process wait for something."""
    return all_asleep([os.getpid()])


def step(rt: ConductedRuntime) -> None:
    """Take a step that is nothing else."""
    with rt.region("Task.Step"):
        pass


def test_a_task_that_stands_elsewhere_or_has_ended_ends_the_schedule_at_once() -> None:
    """Nobody's patience is tried: the step will never come, and it is told why."""
    outcome = conduct([Step("one", "Task.Other"), Step("one", "Task.Step")], {"one": step})
    assert (outcome.followed, outcome.is_departure) == (0, True)
    assert outcome.refusal is not None
    assert "did not come: one stands before Task.Step at test_conductor.py:" in outcome.refusal
    outcome = conduct([Step("one", "Task.Step"), Step("one", "Task.Step")], {"one": step})
    assert outcome == Conducted(1, 2, "step 2 of 2, one: Task.Step(), did not come: one has ended", is_departure=True)


def test_a_kill_comes_between_its_steps_and_who_is_to_die_goes_beyond_none_of_its_own() -> None:
    """Its tasks wait there to be killed; from then on time passes, for those who look for the dead now and then."""
    order: list[str] = []

    def doomed(rt: ConductedRuntime) -> None:
        for action in ("Task.Unknown", "Task.Step", "Task.Beyond"):
            with rt.region(action):
                order.append(action)

    def survivor(rt: ConductedRuntime) -> None:
        step(rt)
        assert rt.now() == 0.0
        told.set()
        until(lambda: rt.now() > 0)
        step(rt)

    def kill() -> bool:
        assert told.wait(30)
        order.append("kill")
        return True

    told = threading.Event()
    one, two, killing = Step("one", "Task.Step"), Step("two", "Task.Step"), Step("kill(one)", "fault.kill(one)")
    with Conductor([one, two, killing, two], patience_s=30.0, kills={killing.action: kill}) as conductor:
        worlds = [ConductedRuntime(conductor.connect(), VOCABULARY, mortal=mortal) for mortal in ((), ("one",))]
        tasks = [
            rt.spawn(body, rt, name=name)
            for rt, body, name in zip(worlds, (survivor, doomed), ("two", "one"), strict=True)
        ]
        for task in tasks:
            task.join()  # the doomed one is free once the schedule is over, as no process was killed here
        for rt in worlds:
            rt.close()
            assert rt.errors == []
    assert conductor.outcome() == Conducted(4, 4)
    assert order == ["Task.Unknown", "Task.Step", "kill", "Task.Beyond"]


@pytest.mark.parametrize(
    ("fault", "ends", "why"),
    [
        (Step("cancel(one)", "fault.cancel(one)"), True, "can only happen under control"),
        (Step("tear(one)", "fault.kill(one)", {"in the middle of": "words.write"}), True, "nobody sees from outside"),
        (Step("kill(one)", "fault.kill(one)"), False, "the process lives on"),
    ],
)
def test_what_cannot_be_brought_about_is_told_and_is_no_other_way_of_the_code(
    fault: Step, ends: bool, why: str
) -> None:
    """The schedule is given up there: nobody can say what would have come of it."""
    kills = {"fault.kill(one)": lambda: ends}
    with Conductor([fault, Step("one", "Task.Step")], patience_s=30.0, kills=kills) as conductor:
        rt = ConductedRuntime(conductor.connect(), VOCABULARY)
        rt.spawn(step, rt, name="one").join()
        rt.close()
    outcome = conductor.outcome()
    assert (outcome.followed, outcome.is_departure) == (0, False)
    assert outcome.refusal is not None
    assert outcome.refusal.startswith("step 1 of 2, ")
    assert why in outcome.refusal


def test_a_schedule_is_given_up_once_nobody_moves_any_more() -> None:
    """That is final: the task waits for something that does not come while all others wait for their turns."""

    def wait_first(rt: ConductedRuntime) -> None:
        stuck.wait()
        step(rt)

    def release(rt: ConductedRuntime) -> None:
        step(rt)  # once all are free
        stuck.set()

    stuck = threading.Event()
    schedule = [Step("one", "Task.Step"), Step("two", "Task.Step")]
    outcome = conduct(schedule, {"one": wait_first, "two": release}, at_rest=lambda: True)
    assert (outcome.followed, outcome.is_departure) == (0, True)
    assert "did not come, and nobody moves any more (two stands before Task.Step" in str(outcome.refusal)


def test_rest_is_longer_where_sleeping_may_be_work() -> None:
    """A thread that waits for a device sleeps, and so may all others meanwhile."""
    assert rest_s_on("cpu") < rest_s_on("cuda") == rest_s_on("cuda:1") == rest_s_on("xpu:0")


def test_time_stands_still_until_the_schedule_says_that_it_passes() -> None:
    """A wait of an hour is up when its turn has come, and the clock says so; one of a year was not due by then."""
    seen: list[object] = []

    def waits(timeout_s: float) -> Body:
        def body(rt: ConductedRuntime) -> None:
            future = rt.future()
            with pytest.raises(TimeoutError):
                future.result(timeout_s)
            seen.append((timeout_s, rt.now()))
            step(rt)

        return body

    schedule = [
        Step("two", "future.result", expired=True, time=7200.0),
        Step("two", "Task.Step"),
        Step("one", "future.result", expired=True, time=7200.0),
        Step("one", "Task.Step"),
    ]
    assert conduct(schedule, {"one": waits(3600.0), "two": waits(7200.0)}, at_rest=asleep).whole
    assert seen == [(7200.0, 7200.0), (3600.0, 7200.0)]


def test_a_wait_is_not_up_before_its_time() -> None:
    """The schedule passes over it: the task waits for longer than the schedule knows, and gets what it waits for."""

    def body(rt: ConductedRuntime) -> None:
        future = rt.future()
        rt.spawn(lambda: (step(rt), future.set_result(None)), name="two").join()
        future.result(3600.0)
        step(rt)

    schedule = [
        Step("two", "Task.Step"),
        Step("one", "future.result", expired=True, time=60.0),
        Step("one", "Task.Step"),
    ]
    outcome = conduct(schedule, {"one": body}, at_rest=asleep)
    assert (outcome.followed, outcome.passed, outcome.whole) == (2, 1, True)


def test_a_wait_is_up_only_once_nobody_moves_who_could_end_it() -> None:
    """Whoever settles the future takes no step for it, and its time to do so, as on a busy machine."""
    moving = threading.Event()

    def body(rt: ConductedRuntime) -> None:
        future = rt.future()

        def settle() -> None:
            step(rt)
            for _ in range(10):  # looks that see it move
                until(looked.wait)
                looked.clear()
            moving.clear()
            future.set_result("come")

        moving.set()
        rt.spawn(settle, name="two")
        assert future.result(60.0) == "come"
        step(rt)

    looked = threading.Event()

    def at_rest() -> bool:
        looked.set()
        return not moving.is_set()

    wait = Step("one", "future.result", expired=True, time=60.0)
    outcome = conduct([Step("two", "Task.Step"), wait, Step("one", "Task.Step")], {"one": body}, at_rest=at_rest)
    assert (outcome.followed, outcome.passed, outcome.whole) == (2, 1, True)


def test_a_sleep_that_the_schedule_does_not_know_takes_no_time_but_on_the_clock() -> None:
    """Whoever sleeps for a day has slept for a day, at once."""
    clock: list[float] = []

    def body(rt: ConductedRuntime) -> None:
        rt.sleep(86_400.0)
        clock.append(rt.now())
        step(rt)

    assert conduct([Step("one", "Task.Step")], {"one": body}).whole
    assert clock == [86_400.0]


def test_a_wait_inside_a_step_ends_it_and_waking_up_is_another_one() -> None:
    """Otherwise nobody could take the step that wakes it."""
    order: list[str] = []

    def sleeper(rt: ConductedRuntime) -> None:
        with rt.region("Task.Take", condition):
            condition.wait(60.0)
            order.append("woken")

    def waker(rt: ConductedRuntime) -> None:
        with rt.region("Task.Give", condition):
            condition.notify()
        with rt.region("Task.Step"):
            order.append("stepped")

    schedule = [
        Step("one", "Task.Take"),
        Step("two", "Task.Give"),
        Step("two", "Task.Step"),
        Step("one", "condition.wake"),
    ]
    vocabulary = {(each.task, each.action) for each in schedule}
    with Conductor(schedule, patience_s=30.0) as conductor:
        rt = ConductedRuntime(conductor.connect(), vocabulary)
        condition = rt.condition()
        for task in [rt.spawn(sleeper, rt, name="one"), rt.spawn(waker, rt, name="two")]:
            task.join()
        rt.close()
    assert conductor.outcome() == Conducted(4, 4)
    assert order == ["stepped", "woken"]


def test_callbacks_of_an_event_loop_come_in_their_order_and_what_others_post_in_between() -> None:
    """A thread cancels a task between two callbacks, or behind both, as the schedule has it."""
    for before, expected in ((True, "cancelled"), (False, "served")):
        posting = Step("two", "loop.call_soon_threadsafe")
        run = Step("one", "loop.run", {"callback": "_serve"})
        schedule = [run, *([posting, run] if before else [run, posting]), Step("one", "Task.Step")]
        endings: list[str] = []

        async def _serve(rt: ConductedRuntime, endings: list[str] = endings) -> None:
            loop, serving = asyncio.get_running_loop(), asyncio.current_task()
            assert serving is not None
            poster = rt.spawn(lambda: loop.call_soon_threadsafe(serving.cancel), name="two")
            try:
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                endings.append("served")
            except asyncio.CancelledError:
                endings.append("cancelled")
            step(rt)
            poster.join()

        def body(rt: ConductedRuntime, serve: Callable[..., Any] = _serve) -> None:
            with asyncio.Runner(loop_factory=rt.event_loop) as runner:
                runner.run(serve(rt))

        outcome = conduct(schedule, {"one": body})
        assert (outcome.refusal, endings) == (None, [expected])


def test_an_event_loop_sleeps_until_the_schedule_says_that_time_has_passed() -> None:
    """An hour of asyncio's takes no time, and is an hour on the loop's clock."""
    clock: list[float] = []

    async def _sleep(rt: ConductedRuntime) -> None:
        await asyncio.sleep(3600.0)
        clock.append(asyncio.get_running_loop().time())
        step(rt)

    def body(rt: ConductedRuntime) -> None:
        with asyncio.Runner(loop_factory=rt.event_loop) as runner:
            runner.run(_sleep(rt))

    schedule = [Step("one", "loop.select", expired=True, time=3600.0), Step("one", "Task.Step")]
    assert conduct(schedule, {"one": body}, at_rest=asleep) == Conducted(2, 2)
    assert clock == [3600.0]
