"""Random small programs over all objects, and all that they can come to."""

from __future__ import annotations

import queue
import random
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, InvalidStateError

import msgspec

from omni_ipc.records import MemoryOrder
from omni_ipc.testbed import STRATEGIES, ControlledRuntime
from omni_ipc.testbed.failures import shape
from omni_ipc.testbed.faults.kernel import Fault
from omni_ipc.testbed.objects.task import ControlledTask
from omni_ipc.testbed.orders import signature
from omni_ipc.testbed.runner import Runner
from omni_ipc.testbed.strategies import Strategy
from tests.testbed.kernels import Counter

Program = tuple[tuple[str, ...], ...]
"""For each task, what it does."""


class World:
    """The objects that a program is about."""

    def __init__(self, rt: ControlledRuntime) -> None:
        self.rt = rt
        self.locks = (rt.lock(), rt.rlock())
        self.queue = rt.queue(1)
        self.future = rt.future()
        self.event = rt.event()
        self.condition = rt.condition()
        self.narrow = rt.condition(self.locks[0])
        self.tasks: list[ControlledTask] = []
        self.children = 0
        self.semaphore = rt.semaphore(1)
        self.words = rt.words(memoryview(bytearray(16)))
        self.shared = Counter()
        rt.watch(self.shared, None, "Shared")

    def increment(self) -> object:
        self.shared.value += 1
        return self.shared.value

    def nest(self, first: int) -> object:
        with self.locks[first], self.locks[1 - first]:
            return None

    def guarded(self, lock: int) -> object:
        with self.rt.region("Guarded", self.locks[lock]):
            self.shared.value += 1
            return self.shared.value

    def try_lock(self) -> object:
        if not self.locks[0].acquire(blocking=False):
            return "busy"
        self.locks[0].release()
        return "free"

    def timed_lock(self) -> object:
        if not self.locks[0].acquire(timeout=1.0):
            return "gave up"
        self.rt.sleep(2.0)
        self.locks[0].release()
        return "slept"

    def wait(self, timeout: float | None) -> object:
        with self.condition:
            return self.condition.wait(timeout)

    def wait_narrow(self) -> object:
        with self.narrow:
            return self.narrow.wait(timeout=1.0)

    def notify_narrow(self) -> object:
        with self.rt.region("Notify", self.narrow):
            self.narrow.notify_all()
            self.shared.value += 1
        return None

    def get_in_region(self) -> object:
        with self.rt.region("Get"):
            self.shared.value += 1
            return self.queue.get(timeout=1.0)

    def put_in_region(self) -> object:
        with self.rt.region("Put", self.locks[0]):
            return self.queue.put(3, timeout=1.0)

    def join_last(self) -> object:
        try:
            self.tasks[-1].join(timeout=1.0)
        except RuntimeError:
            return "that is me"
        return self.tasks[-1].is_alive()

    def notify(self) -> object:
        with self.condition:
            return self.condition.notify()

    def bell(self) -> object:
        self.words.store(0, self.words.load(0) + 1)
        return self.words.wake(0)

    def store_and_load(self, mine: int, theirs: int) -> object:
        self.words.store(mine, 1)
        return self.words.load(theirs)

    def publish(self) -> object:
        self.words.write(9, b"\1\2\3")
        return self.words.store(0, 1)

    def overlap(self) -> object:
        self.words.write(4, b"\1\2\3\4\5\6")
        return self.words.store(0, 2)

    def take(self) -> object:
        return self.words.load(0), bytes(self.words.read(7, 5))

    def store_in_region(self) -> object:
        with self.rt.region("Store"):
            self.words.store(0, 7)
            self.words.store(1, 7)
            return self.words.load(0)

    def store_and_fence_in_region(self) -> object:
        with self.rt.region("Fence"):
            self.words.store(1, 8)
            self.words.fence()
            return self.words.load(0)

    def store_under_lock(self) -> object:
        with self.rt.region("Store", self.locks[0]):
            self.words.store(0, self.words.load(0) + 1)
            return self.words.load(1)

    def beget(self, action: str) -> object:
        """Start a task that does something, and wait for its end."""
        seen: list[object] = []
        self.children += 1
        child = self.rt.spawn(lambda: seen.append(outcome_of(self, action)), name=f"child {self.children}")
        child.join()
        return seen

    def set_free(self, action: str) -> object:
        """Start a task that does something, and forget it; the scenario waits for its end."""
        self.children += 1
        self.tasks.append(self.rt.spawn(outcome_of, self, action, name=f"child {self.children}"))
        return None

    def pause(self) -> object:
        with self.semaphore:
            return self.rt.sleep(1.0)


ACTIONS: dict[str, Callable[[World], object]] = {
    "increment": World.increment,
    "decide": lambda world: "odd" if world.shared.value % 2 else "even",
    "nest 0": lambda world: world.nest(0),
    "nest 1": lambda world: world.nest(1),
    "guarded 0": lambda world: world.guarded(0),
    "guarded 1": lambda world: world.guarded(1),
    "try lock": World.try_lock,
    "timed lock": World.timed_lock,
    "put": lambda world: world.queue.put(1),
    "put 1 s": lambda world: world.queue.put(2, timeout=1.0),
    "get": lambda world: world.queue.get(),
    "get 1 s": lambda world: world.queue.get(timeout=1.0),
    "get now": lambda world: world.queue.get_nowait(),
    "size": lambda world: world.queue.qsize(),
    "resolve": lambda world: world.future.set_result("resolved"),
    "cancel": lambda world: world.future.cancel(),
    "result": lambda world: world.future.result(),
    "result 1 s": lambda world: world.future.result(timeout=1.0),
    "call back": lambda world: world.future.add_done_callback(lambda _: world.increment()),
    "set": lambda world: world.event.set(),
    "clear": lambda world: world.event.clear(),
    "is set": lambda world: world.event.is_set(),
    "await": lambda world: world.event.wait(),
    "await 1 s": lambda world: world.event.wait(timeout=1.0),
    "wait": lambda world: world.wait(None),
    "wait 1 s": lambda world: world.wait(1.0),
    "notify": World.notify,
    "wait narrow": World.wait_narrow,
    "notify narrow": World.notify_narrow,
    "get in region": World.get_in_region,
    "put in region": World.put_in_region,
    "last alive": lambda world: world.tasks[-1].is_alive(),
    "join last": World.join_last,
    "bell": World.bell,
    "listen": lambda world: world.words.wait(0, 0, timeout=1.0),
    "pause": World.pause,
    "x then y": lambda world: world.store_and_load(0, 1),
    "y then x": lambda world: world.store_and_load(1, 0),
    "take": World.take,
    "publish": World.publish,
    "overlap": World.overlap,
    "fence": lambda world: world.words.fence(),
    "store in region": World.store_in_region,
    "fence in region": World.store_and_fence_in_region,
    "store under lock": World.store_under_lock,
    "now": lambda world: world.rt.now(),
    "fill": lambda world: "full" if world.rt.fault("memory full") else "fits",
}


THEMES = (
    ("increment", "decide", "guarded 0", "guarded 1", "call back"),
    ("nest 0", "nest 1", "guarded 0", "try lock", "timed lock", "pause", "now"),
    ("put", "put 1 s", "get", "get 1 s", "get now", "size", "get in region", "put in region"),
    ("resolve", "cancel", "result", "result 1 s", "call back"),
    ("set", "clear", "is set", "await", "await 1 s"),
    ("wait", "wait 1 s", "notify", "wait narrow", "notify narrow", "try lock"),
    ("bell", "listen", "decide", "increment"),
    ("last alive", "join last", "now", "pause", "increment"),
)


FAMILIES = (
    ("beget", "increment", "decide", "guarded 0"),
    ("set free", "get", "get 1 s", "size"),
    ("free increment", "increment", "decide", "nest 0"),
)
"""What is about tasks that start others."""


STORES = (
    ("x then y", "y then x", "store in region"),
    ("publish", "overlap", "take", "fence in region"),
    ("x then y", "y then x", "fence", "store under lock"),
    ("publish", "take", "bell", "listen", "join last", "increment"),
)
"""What is about stores that are seen late."""


FAULTY = (
    *THEMES,
    ("fill", "increment", "decide", "put 1 s"),
)
"""What is about faults, as well as all else."""


def outcome_of(world: World, action: str) -> object:
    """Do something, and return what comes of it."""
    try:
        return ACTIONS[action](world)
    except (queue.Empty, queue.Full, TimeoutError, CancelledError, InvalidStateError) as error:
        return type(error).__name__


def draw(seed: int, themes: Sequence[tuple[str, ...]] = THEMES) -> Program:
    """Draw a program of two or three tasks, small enough for brute force, that meet at one or two objects."""
    chance = random.Random(seed)
    actions = (*chance.choice(themes), *chance.choice(themes))
    sizes = chance.choice([(1, 1), (2, 1), (2, 2), (3, 1), (1, 1, 1), (2, 1, 1)])
    return tuple(tuple(chance.choice(actions) for _ in range(size)) for size in sizes)


def scenario_of(program: Program) -> Callable[[ControlledRuntime], object]:
    """Make the scenario that runs a program, and returns what each task has seen."""

    def scenario(rt: ControlledRuntime) -> object:
        world = World(rt)
        seen: list[list[object]] = [[] for _ in program]

        def perform(actions: tuple[str, ...], into: list[object]) -> None:
            into.extend(outcome_of(world, action) for action in actions)

        with rt.region("Start"):
            for number, (actions, into) in enumerate(zip(program, seen, strict=True)):
                world.tasks.append(rt.spawn(perform, actions, into, name=f"t{number}"))
        for task in world.tasks:
            task.join()
        return seen, world.shared.value, rt.now()

    return scenario


class Everything(msgspec.Struct, frozen=True):
    """All that a search saw; it does not stop at a failure."""

    outcomes: set[str]
    failures: set[tuple[str, str]]
    orders: set[int]
    whole: int  # runs that ended well and were not cut short
    exhausted: bool
    curtailed: bool = False  # some continuations were left out


def everything(
    program: Program,
    strategy: str,
    *,
    runs: int,
    seed: int = 0,
    memory: MemoryOrder = MemoryOrder.SC,
    faults: Sequence[Fault] = (),
) -> Everything:
    """Search all schedules of a program, or so many."""
    with Runner(scenario_of(program), memory=memory, faults=faults) as runner:
        return all_that(runner, STRATEGIES[strategy](seed), runs)


def all_that(runner: Runner, search: Strategy, runs: int) -> Everything:
    """Search all schedules, or so many, in an exploration that is open: to open one takes longer than many runs."""
    search.allot(runs, None)
    outcomes: set[str] = set()
    failures: set[tuple[str, str]] = set()
    orders: set[int] = set()
    whole = done = 0
    curtailed = False
    while (prefix := search.next_prefix()) is not None and done < runs:
        run = runner.run(search, prefix)
        search.learn(run)
        done += 1
        curtailed |= bool(run.curtailed)
        if run.failure is not None:
            failures.add(shape(run.failure))
        elif not run.pruned:
            whole += 1
            outcomes.add(repr(run.value))
            orders.add(signature(run, runner.identities.name))
    return Everything(outcomes, failures, orders, whole, prefix is None, curtailed)
