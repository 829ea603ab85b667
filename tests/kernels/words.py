"""Small algorithms on shared words, each as it is right and with one thing left out or exchanged."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

from omni_ipc.records import MemoryOrder
from omni_ipc.seam.api import Words
from omni_ipc.testbed import ControlledRuntime

SC, TSO, RELEASE, WEAK = MemoryOrder


@dataclasses.dataclass(slots=True)
class Room:
    """Where only one task may be."""

    inside: int = 0


def side_by_side(rt: ControlledRuntime, *bodies: Callable[[Words], None]) -> None:
    """Run bodies as tasks on eight words of zero, and wait for them."""
    words = rt.words(memoryview(bytearray(64)))
    with rt.region("Start"):
        tasks = [rt.spawn(body, words, name=name) for name, body in zip("abc", bodies, strict=False)]
    for task in tasks:
        task.join()


def peterson(rt: ControlledRuntime, *, fence: bool = True, turn_first: bool = False) -> None:
    """Two tasks want to enter a room; each one tries once.

    Source: G. L. Peterson, "Myths about the mutual exclusion problem", 1981.
    """
    room = Room()
    rt.watch(room, None, "Room")
    turn = 2

    def enter(me: int, words: Words) -> None:
        wants = [(me, 1), (turn, 1 - me)]
        for index, value in reversed(wants) if turn_first else wants:
            words.store(index, value)
        if fence:
            words.fence()
        if words.load(1 - me) == 0 or words.load(turn) == me:
            with rt.region("Enter"):
                room.inside += 1
                assert room.inside == 1, "both are in the room"
            with rt.region("Leave"):
                room.inside -= 1
            words.store(me, 0)

    side_by_side(rt, lambda words: enter(0, words), lambda words: enter(1, words))


def sequence_lock(rt: ControlledRuntime, *, before: bool = True, behind: bool = True) -> None:
    """A writer makes the number odd, changes the bytes and makes it even; who reads under one even number is right."""
    number, data = 0, 8

    def write(words: Words) -> None:
        words.store(number, 1)
        if before:
            words.fence()
        words.write(data, b"ab")
        words.write(data + 8, b"ab")
        if behind:
            words.fence()
        words.store(number, 2)

    def read(words: Words) -> None:
        first = words.load(number)
        halves = words.read(data, 2), words.read(data + 8, 2)
        if first == words.load(number) and first % 2 == 0:
            assert halves[0] == halves[1] == (b"ab" if first else b"\0\0"), f"read {halves} under {first}"

    side_by_side(rt, write, read)


def queue(rt: ControlledRuntime, *, publish_first: bool = False, free_first: bool = False) -> None:
    """One producer, one consumer, a ring of one cell and two indices; both sides poll a few times.

    Source: L. Lamport, "Specifying concurrent program modules", 1983.
    """
    head, tail, cell = 0, 1, 2

    def produce(words: Words) -> None:
        made = 0
        for _ in range(3):
            if made - words.load(tail) < 1 and made < 2:
                made += 1
                steps = [(cell, made), (head, made)]
                for index, value in reversed(steps) if publish_first else steps:
                    words.store(index, value)

    def consume(words: Words) -> None:
        taken = 0
        for _ in range(3):
            if words.load(head) > taken:
                taken += 1
                if free_first:
                    words.store(tail, taken)
                found = words.load(cell)
                assert found == taken, f"took {found} in place of {taken}"
                words.store(tail, taken)

    side_by_side(rt, produce, consume)


def handover(rt: ControlledRuntime, *, sleep_first: bool = False, fences: bool = True) -> None:
    """A sleeper says that it sleeps, looks again and waits; a ringer tells, looks whether it sleeps, and wakes it."""
    asleep, news = 0, 1

    def sleep(words: Words) -> None:
        if not sleep_first or words.load(news) == 0:
            words.store(asleep, 1)
            if fences:
                words.fence()
            if sleep_first or words.load(news) == 0:
                words.wait(asleep, 1, timeout=float("inf"))
        assert words.load(news) == 1

    def ring(words: Words) -> None:
        words.store(news, 1)
        if fences:
            words.fence()
        if words.load(asleep):
            words.store(asleep, 0)
            words.wake(asleep)

    side_by_side(rt, sleep, ring)


class Kernel(NamedTuple):
    """An algorithm, and a way to break it."""

    scenario: Callable[..., None]
    broken: dict[str, bool]
    first: MemoryOrder  # in which it shows that it is broken
    last: MemoryOrder = WEAK  # in which it is right


KERNELS = {
    "peterson without a fence": Kernel(peterson, {"fence": False}, TSO, RELEASE),
    "peterson with the turn first": Kernel(peterson, {"turn_first": True}, SC, RELEASE),
    "sequence lock without the first fence": Kernel(sequence_lock, {"before": False}, RELEASE),
    "sequence lock without the second fence": Kernel(sequence_lock, {"behind": False}, WEAK),
    "queue that publishes first": Kernel(queue, {"publish_first": True}, SC, RELEASE),
    "queue that frees first": Kernel(queue, {"free_first": True}, SC, RELEASE),
    "handover without a second look": Kernel(handover, {"sleep_first": True}, SC),
    "handover without fences": Kernel(handover, {"fences": False}, TSO),
}
