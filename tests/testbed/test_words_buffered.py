"""Stores that are seen late: who sees them when, and how they stand in traces."""

from __future__ import annotations

import pytest

from omni_ipc.errors import UnknownName
from omni_ipc.records import FailureKind, MemoryOrder, Verdict
from omni_ipc.testbed import ControlledRuntime, explore
from tests.testbed.kernels import and_join, found


def test_stores_of_a_region_are_seen_after_it_and_one_by_one() -> None:
    """Its end is no fence: others come between, and see some of the stores only."""

    def scenario(rt: ControlledRuntime) -> tuple[int, int]:
        words = rt.words(memoryview(bytearray(16)))

        def put() -> None:
            with rt.region("Put"):
                words.store(0, 1)
                words.store(1, 1)
                assert (words.load(0), words.load(1)) == (1, 1), "a task sees its own stores"

        seen: list[int] = []

        def look() -> None:
            with rt.region("Look"):
                seen.extend((words.load(0), words.load(1)))

        and_join(rt, put, look)
        return seen[0], seen[1]

    assert explore(scenario, declared=True).outcomes == ("(0, 0)", "(1, 1)")
    assert explore(scenario, declared=True, memory="tso").outcomes == ("(0, 0)", "(1, 0)", "(1, 1)")
    assert explore(scenario, declared=True, memory="weak").outcomes == ("(0, 0)", "(0, 1)", "(1, 0)", "(1, 1)")


def test_nobody_intervenes_at_a_fence_within_a_region() -> None:
    """It shows all stores at once, in the region's own step."""

    def scenario(rt: ControlledRuntime) -> tuple[int, int]:
        words = rt.words(memoryview(bytearray(16)))

        def put() -> None:
            with rt.region("Put"):
                words.store(0, 1)
                words.store(1, 1)
                words.fence()

        seen: list[int] = []

        def look() -> None:
            with rt.region("Look"):
                seen.extend((words.load(0), words.load(1)))

        and_join(rt, put, look)
        return seen[0], seen[1]

    report = explore(scenario, declared=True, memory="weak")
    assert report.outcomes == ("(0, 0)", "(1, 1)")
    assert report.traces == 2


def test_a_task_that_was_joined_or_started_sees_everything() -> None:
    """The end of a task is a fence, and so is the start of another one."""

    def scenario(rt: ControlledRuntime) -> list[int]:
        words = rt.words(memoryview(bytearray(16)))
        words.store(0, 1)

        def work() -> None:
            assert words.load(0) == 1
            words.write(8, b"\2")

        rt.spawn(work, name="worker").join()
        return [words.load(0), words.load(1)]

    report = explore(scenario, memory="weak")
    assert (report.verdict, report.outcomes) == ("holds", ("[1, 2]",)), report.reason


def test_overlapping_stores_of_a_task_stay_in_order() -> None:
    """A word and the bytes in it: what was stored last is what remains, and what the task itself sees."""

    def scenario(rt: ControlledRuntime) -> int:
        words = rt.words(memoryview(bytearray(16)))
        words.store(0, 2**64 - 1)
        words.write(6, b"\0\1\2")
        words.store(1, 3)
        words.write(0, b"\0")
        own = words.read(0, 9)
        words.fence()
        assert own == words.read(0, 9) == b"\0\xff\xff\xff\xff\xff\0\1\3"
        return 0

    report = explore(scenario, memory="weak", strategy="brute-force")
    assert report.verdict == "holds", report.failure


def test_two_views_of_one_buffer_show_a_task_its_own_stores() -> None:
    """It is the memory that counts, not the view."""

    def scenario(rt: ControlledRuntime) -> int:
        memory = bytearray(16)
        whole, tail = rt.words(memoryview(memory)), rt.words(memoryview(memory)[8:])
        whole.store(1, 5)
        return tail.load(0)

    assert explore(scenario, memory="tso").outcomes == ("5",)


def test_late_stores_that_nobody_looks_at_have_one_order() -> None:
    """They conflict with nothing: the reduction leaves one schedule of them."""

    def scenario(rt: ControlledRuntime) -> None:
        words = rt.words(memoryview(bytearray(32)))

        def use(index: int) -> None:
            words.store(index, 1)
            words.store(index + 1, 1)

        and_join(rt, lambda: use(0), lambda: use(2))

    for memory in MemoryOrder:
        assert explore(scenario, memory=memory).traces == 1


@pytest.mark.parametrize("memory", ["tso", "release", "weak"])
def test_a_failure_by_a_late_store_is_shown_replayed_and_shrunk(memory: str) -> None:
    """Its trace has the arrivals as steps: whose store, which word, which value, and the line that stored it."""

    def scenario(rt: ControlledRuntime) -> None:
        words = rt.words(memoryview(bytearray(16)))
        entered = []

        def enter(mine: int) -> None:
            words.store(mine, 1)
            if not words.load(1 - mine):
                entered.append(mine)

        and_join(rt, lambda: enter(0), lambda: enter(1))
        assert len(entered) < 2, "both are in"

    report = found(scenario, memory=memory, declared=True)
    assert report.trace is not None
    assert report.trace.memory == report.memory == memory
    arrivals = [step for step in report.trace.steps if step.action == "words.flush"]
    assert [step.task for step in arrivals] == ["a's stores", "b's stores"]
    assert [step.fields for step in arrivals] == [
        {"words": "words1", "index": 0, "value": 1},
        {"words": "words1", "index": 1, "value": 1},
    ]
    assert all(str(step.where).startswith("test_words_buffered.py") for step in arrivals)
    assert "under " in report.reason


def test_several_stores_of_one_task_on_their_way_replay_in_the_order_of_the_trace() -> None:
    """In weak memory a task's stores to different words race; those of bytes and of words are told apart."""

    def scenario(rt: ControlledRuntime) -> None:
        words = rt.words(memoryview(bytearray(32)))

        def publish() -> None:
            words.write(16, b"abcdefgh")
            words.write(24, b"ijkl")
            words.store(1, 1)
            words.store(0, 1)

        def take() -> None:
            if words.load(0):
                assert words.read(24, 4) == b"ijkl"

        and_join(rt, publish, take)

    report = found(scenario, memory="weak")
    assert report.failure is not None
    assert report.failure.kind is FailureKind.EXCEPTION
    assert explore(scenario, memory="release").verdict == "holds"


def test_a_run_that_fails_ends_with_stores_on_their_way() -> None:
    """They are given up, also those that a task makes while it is unwound."""

    def scenario(rt: ControlledRuntime) -> None:
        words = rt.words(memoryview(bytearray(16)))
        gate = rt.event()

        def wait() -> None:
            words.store(0, 1)
            with rt.region("Wait"):
                try:
                    gate.wait()
                finally:
                    words.store(1, 1)

        def fail() -> None:
            words.store(1, 2)
            raise ValueError("stop")

        and_join(rt, wait, fail)

    assert str(found(scenario, memory="weak").failure).startswith("exception: ValueError: stop")


@pytest.mark.parametrize("max_steps", range(8, 12))
def test_a_task_that_goes_on_after_the_end_is_named_and_not_its_stores(max_steps: int) -> None:
    """Whatever the last step was: a store, its arrival, or the fence behind it."""

    def scenario(rt: ControlledRuntime) -> None:
        words = rt.words(memoryview(bytearray(8)))

        def stubborn() -> None:
            while True:
                try:
                    words.store(0, 1)
                    words.fence()
                except BaseException:
                    continue

        rt.spawn(stubborn, name="a").join()

    report = explore(scenario, memory="tso", max_steps=max_steps)
    assert report.verdict == "inconclusive"
    assert report.reason.startswith("Task 'a' goes on after its run has ended")


def test_a_fence_with_nothing_to_wait_for_makes_no_other_order() -> None:
    """Whether the store has arrived before the fence or because of it is the same to all."""

    def scenario(rt: ControlledRuntime) -> None:
        words = rt.words(memoryview(bytearray(16)))

        def use() -> None:
            words.store(0, 1)
            words.load(1)
            words.fence()
            words.load(1)

        and_join(rt, use, lambda: words.load(0))

    reports = [explore(scenario, memory="tso", strategy=strategy) for strategy in ("depth-first", "brute-force")]
    assert [report.traces for report in reports] == [2, 2]


def test_time_passes_only_when_all_stores_were_seen() -> None:
    """A buffer empties itself in no time; who has waited for a while sees what was stored before."""

    def scenario(rt: ControlledRuntime) -> float:
        words = rt.words(memoryview(bytearray(16)))

        def store() -> None:
            words.store(0, 1)
            rt.sleep(1.0)

        rt.spawn(store, name="a")
        words.wait(1, 0, timeout=0.5)
        assert words.load(0) == 1
        rt.sleep(2.0)
        return rt.now()

    assert explore(scenario, memory="tso").outcomes == ("2.5",)


def test_a_memory_order_that_does_not_exist_is_refused() -> None:
    """The error says what was meant, or what there is."""
    with pytest.raises(UnknownName, match="no memory order 'pso'"):
        explore(lambda rt: None, memory="pso")


def test_a_death_is_told_behind_all_that_the_dead_has_stored() -> None:
    """What a killed task has stored arrives nevertheless; who hears of its end, however it came, sees all of it."""

    def scenario(rt: ControlledRuntime) -> tuple[int, ...]:
        words = rt.words(memoryview(bytearray(24)))

        def work() -> None:
            words.store(0, 1)
            words.store(1, 1)
            words.store(2, 1)

        worker = rt.spawn(work, name="worker")
        worker.join()
        assert not worker.is_alive()
        first = words.load(0), words.load(1), words.load(2)
        rt.sleep(1)  # until nothing is on its way
        assert (words.load(0), words.load(1), words.load(2)) == first, "something arrived behind the death"
        return first

    for memory in ("tso", "weak"):
        report = explore(scenario, declared=True, memory=memory, faults=["kill:worker"])
        assert report.verdict is Verdict.HOLDS
        assert report.outcomes == ("(0, 0, 0)", "(1, 0, 0)", "(1, 1, 0)", "(1, 1, 1)")
