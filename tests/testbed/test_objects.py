"""Kernels of each object, with the exact set of what they can come to."""

from __future__ import annotations

from concurrent.futures import CancelledError, InvalidStateError

from omni_ipc.testbed import ControlledRuntime
from tests.testbed.kernels import and_join, found, outcomes


def test_a_condition_hands_over_one_item_each_way() -> None:
    """A consumer that waits in a loop gets the item, whoever comes first."""

    def scenario(rt: ControlledRuntime) -> str:
        ready = rt.condition()
        items: list[str] = []
        taken: list[str] = []

        def produce() -> None:
            with ready:
                items.append("item")
                ready.notify()

        def consume() -> None:
            with ready:
                ready.wait_for(lambda: items)
                taken.append(items.pop())

        and_join(rt, produce, consume)
        return str(taken)

    assert outcomes(scenario) == {repr("['item']")}


def test_a_condition_rechecked_by_if_hands_out_nothing() -> None:
    """With `if` for `while`, a consumer that is woken late finds that another one has taken the item."""

    def scenario(rt: ControlledRuntime) -> None:
        ready = rt.condition()
        items: list[str] = []

        def produce() -> None:
            with ready:
                items.append("item")
                ready.notify()

        def consume() -> None:
            with ready:
                if not items:
                    ready.wait(timeout=1.0)
                items.pop()

        and_join(rt, consume, consume, produce, produce)

    report = found(scenario)
    assert report.failure is not None
    assert report.failure.message == "IndexError: pop from empty list"
    assert "test_objects.py" in str(report.failure.where)


def test_the_default_lock_of_a_condition_is_reentrant() -> None:
    """A method that holds the condition may call another one that takes it, and wait in there."""

    def scenario(rt: ControlledRuntime) -> bool:
        ready = rt.condition()

        def wait() -> None:
            with ready, ready:
                assert ready.wait(timeout=5.0)

        def notify() -> None:
            while not done:
                with ready:
                    ready.notify_all()
                rt.sleep(1.0)

        done: list[bool] = []
        notifier = rt.spawn(notify, name="notifier")
        wait()
        done.append(True)
        notifier.join()
        return True

    assert outcomes(scenario) == {"True"}


def test_an_event_is_set_or_not() -> None:
    """A look at an event races with its setter; a wait does not."""

    def scenario(rt: ControlledRuntime) -> tuple[bool, bool]:
        event = rt.event()
        setter = rt.spawn(event.set, name="setter")
        looked = event.is_set()
        waited = event.wait()
        setter.join()
        return looked, waited

    assert outcomes(scenario) == {"(False, True)", "(True, True)"}


def test_a_semaphore_lets_so_many_in() -> None:
    """Of three tasks at most two are inside at any time, and sometimes two are."""

    def scenario(rt: ControlledRuntime) -> int:
        semaphore = rt.semaphore(2)
        inside = 0
        most = 0

        def enter() -> None:
            nonlocal inside, most
            with semaphore:
                with rt.region("In"):
                    inside += 1
                    most = max(most, inside)
                with rt.region("Out"):
                    inside -= 1

        and_join(rt, enter, enter, enter)
        return most

    from omni_ipc.testbed import explore

    assert set(explore(scenario, strategy="random", runs=200).outcomes) == {"1", "2"}


def test_a_queue_keeps_the_order_of_each_writer() -> None:
    """Two writers of two items each: all orders that keep each writer's own, and no other."""

    def scenario(rt: ControlledRuntime) -> str:
        queue = rt.queue()

        def write(items: str) -> None:
            for item in items:
                queue.put(item)

        with rt.region("Start"):
            rt.spawn(write, "ab", name="lower")
            rt.spawn(write, "XY", name="upper")
        return "".join(queue.get() for _ in range(4))

    assert outcomes(scenario) == {repr(order) for order in ("abXY", "aXbY", "aXYb", "XabY", "XaYb", "XYab")}


def test_a_full_queue_holds_its_writer_up() -> None:
    """With room for one, the second put comes after the first get, in every schedule."""

    def scenario(rt: ControlledRuntime) -> str:
        queue = rt.queue(1)
        log: list[str] = []

        def write() -> None:
            for item in "12":
                queue.put(item)
                log.append(f"put {item}")

        writer = rt.spawn(write, name="writer")
        log.extend(f"got {queue.get()}" for _ in range(2))
        writer.join()
        return ", ".join(log)

    for text in outcomes(scenario):
        assert text.index("got 1") < text.index("put 2")


def test_a_future_is_settled_or_cancelled_but_not_both() -> None:
    """Who cancels and who sets a result race: one of them wins, and the other one is told."""

    def scenario(rt: ControlledRuntime) -> tuple[str, bool]:
        future = rt.future()
        told: list[str] = []

        def settle() -> None:
            try:
                future.set_result(1)
            except InvalidStateError:
                told.append("too late")

        setter = rt.spawn(settle, name="setter")
        cancelled = future.cancel()
        setter.join()
        try:
            return f"result {future.result()}", cancelled
        except CancelledError:
            return f"cancelled, {told[0]}", cancelled

    assert outcomes(scenario) == {"('result 1', False)", "('cancelled, too late', True)"}


def test_callbacks_of_a_future_run_once_in_whoever_comes_second() -> None:
    """A callback runs in the setter if it was there first, else in the one who adds it; never twice, never not."""

    def scenario(rt: ControlledRuntime) -> tuple[str, ...]:
        future = rt.future()
        calls: list[str] = []
        who = ["main"]

        def settle() -> None:
            future.set_result(1)

        setter = rt.spawn(settle, name="setter")
        future.add_done_callback(lambda done: calls.append(f"{done.result()} {who[0]}"))
        setter.join()
        return tuple(calls)

    assert outcomes(scenario) == {"('1 main',)"}


def test_data_published_by_a_word_is_seen_whole() -> None:
    """Whoever sees the flag sees the value that was stored before it; who does not may see either."""

    def scenario(rt: ControlledRuntime) -> tuple[int, int]:
        words = rt.words(memoryview(bytearray(16)))

        def publish() -> None:
            words.store(0, 42)
            words.store(1, 1)

        writer = rt.spawn(publish, name="writer")
        flag = words.load(1)
        value = words.load(0)
        writer.join()
        return flag, value

    assert outcomes(scenario) == {"(0, 0)", "(0, 42)", "(1, 42)"}


def test_data_published_in_the_wrong_order_is_seen_torn() -> None:
    """A flag that is stored before its value is found out."""

    def scenario(rt: ControlledRuntime) -> None:
        words = rt.words(memoryview(bytearray(16)))

        def publish() -> None:
            words.store(1, 1)
            words.store(0, 42)

        writer = rt.spawn(publish, name="writer")
        if words.load(1):
            assert words.load(0) == 42
        writer.join()

    found(scenario)


def test_a_sleeper_on_a_word_is_woken_or_sees_the_change() -> None:
    """Compare and sleep are one step, so a wake between them is not lost."""

    def scenario(rt: ControlledRuntime) -> bool:
        words = rt.words(memoryview(bytearray(8)))

        def ring() -> None:
            words.store(0, 1)
            words.wake(0)

        task = rt.spawn(ring, name="ringer")
        woken = words.wait(0, 0, timeout=1.0)
        task.join()
        return woken and rt.now() == 0.0

    assert outcomes(scenario) == {"True"}


def test_a_wait_with_a_stale_look_is_woken_by_time_only() -> None:
    """A sleeper that the ringer forgets goes on after its timeout, in virtual time."""

    def scenario(rt: ControlledRuntime) -> tuple[bool, float]:
        words = rt.words(memoryview(bytearray(8)))
        return words.wait(0, 0, timeout=30.0), rt.now()

    assert outcomes(scenario) == {"(False, 30.0)"}
