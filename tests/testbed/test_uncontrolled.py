"""What is not under control is named, with its line and what to use instead, and never ignored."""

from __future__ import annotations

import asyncio
import concurrent.futures
import ctypes
import fcntl
import gc
import multiprocessing
import os
import queue
import random
import secrets
import select
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from time import process_time as spend

import numpy
import pytest

from omni_ipc.errors import Inconclusive, UsageError
from omni_ipc.records import Verdict
from omni_ipc.testbed import ControlledRuntime, Stepper, explore, watchdog
from omni_ipc.testbed.primitives import PRIMITIVES as KNOWN
from omni_ipc.testbed.uncontrolled import Guard
from tests.support.commands import Command

SOCKET = socket.socket(socket.AF_UNIX)
SOCKET.close()  # it is refused before anybody finds that out
CHANCE = random.SystemRandom()


class Own(threading.local):
    """A class of thread-local objects that was made before the exploration: tasks would share what it has."""

    value = 1


OWN = Own()
PRIMITIVES: list[tuple[str, Callable[[], object], str]] = [
    ("random.random()", lambda: random.random(), "random.Random(seed)"),
    ("random.choice()", lambda: random.choice([1]), "random.Random(seed)"),
    ("time.process_time()", lambda: time.process_time(), "rt.now()"),
    ("time.thread_time()", lambda: time.thread_time(), "rt.now()"),
    ("random.gauss()", lambda: random.gauss(0, 1), "random.Random(seed)"),
    ("random.seed()", lambda: random.seed(1), "random.Random(seed)"),
    ("random.choices()", lambda: random.choices([1]), "random.Random(seed)"),
    ("a random.Random without a seed", lambda: random.Random(), "random.Random(seed)"),
    ("a random.Random without a seed", lambda: random.SystemRandom(), "random.Random(seed)"),
    ("SystemRandom.getrandbits()", lambda: CHANCE.choice([1, 2]), "random.Random(seed)"),
    ("Random.seed()", lambda: random.Random(1).seed(), "random.Random(seed)"),
    ("numpy.random.rand()", lambda: numpy.random.rand(), "random.Random(seed)"),
    ("numpy.random.default_rng()", lambda: numpy.random.default_rng(), "random.Random(seed)"),
    ("a threading.local of class 'Own'", lambda: OWN.value, "made before the run"),
    ("secrets.token_hex()", lambda: secrets.token_hex(), "random.Random(seed)"),
    ("secrets.randbits()", lambda: secrets.randbits(8), "random.Random(seed)"),
    ("uuid.uuid1()", lambda: uuid.uuid1(), "random.Random(seed)"),
    ("uuid.uuid4()", lambda: uuid.uuid4(), "random.Random(seed)"),
    ("os.urandom()", lambda: os.urandom(1), "random.Random(seed)"),
    ("select.select()", lambda: select.select([], [], [], 0), "rt.queue()"),
    ("select.poll()", lambda: select.poll(), "rt.queue()"),
    ("select.epoll()", lambda: select.epoll(), "rt.queue()"),
    ("a real selector", lambda: selectors.DefaultSelector(), "rt.queue()"),
    ("a real socket.socket", lambda: socket.socket(), "rt.queue()"),
    ("a real socket.socket", lambda: socket.create_connection(("127.0.0.1", 9)), "rt.queue()"),
    ("socket.recv()", lambda: SOCKET.recv(1, socket.MSG_DONTWAIT), "rt.queue()"),
    ("socket.connect()", lambda: SOCKET.connect("nowhere"), "rt.queue()"),
    ("os.pipe()", lambda: os.pipe(), "rt.queue()"),
    ("os.mkfifo()", lambda: os.mkfifo("nowhere/pipe"), "rt.queue()"),
    ("os.openpty()", lambda: os.openpty(), "rt.queue()"),
    ("os.waitpid()", lambda: os.waitpid(-1, 0), "rt.spawn()"),
    ("os.waitid()", lambda: os.waitid(os.P_ALL, 0, os.WEXITED), "rt.spawn()"),
    ("fcntl.flock()", lambda: fcntl.flock(-1, fcntl.LOCK_EX), "rt.lock()"),
    ("fcntl.lockf()", lambda: fcntl.lockf(-1, fcntl.LOCK_EX), "rt.lock()"),
    ("a real process", lambda: multiprocessing.get_context("spawn").Process(target=print).start(), "rt.spawn()"),
    ("multiprocessing.Lock()", lambda: multiprocessing.Lock(), "rt.queue()"),
    ("BaseContext.Queue()", lambda: multiprocessing.get_context("spawn").Queue(), "rt.queue()"),
    ("a real process", lambda: subprocess.run(["true"], check=True), "rt.spawn()"),
    ("a real process", lambda: os.popen("true"), "rt.spawn()"),
    ("os.system()", lambda: os.system("true"), "rt.spawn()"),
    ("os.fork()", lambda: os.fork(), "rt.spawn()"),
    ("os.forkpty()", lambda: os.forkpty(), "rt.spawn()"),
    ("posix.fork()", lambda: sys.modules["posix"].fork(), "rt.spawn()"),
    ("os._exit()", lambda: os._exit(0), "raise"),
    ("os.abort()", lambda: os.abort(), "raise"),
    ("os.execv()", lambda: os.execl("/bin/true", "true"), "raise"),
    ("os.kill()", lambda: os.kill(os.getpid(), signal.SIGKILL), "rt.sleep()"),
    ("signal.raise_signal()", lambda: signal.raise_signal(signal.SIGKILL), "rt.sleep()"),
    ("signal.signal()", lambda: signal.signal(signal.SIGALRM, signal.SIG_IGN), "rt.sleep()"),
    ("signal.setitimer()", lambda: signal.setitimer(signal.ITIMER_REAL, 0), "rt.sleep()"),
    ("signal.alarm()", lambda: signal.alarm(0), "rt.sleep()"),
]


@pytest.mark.parametrize(("title", "use", "remedy"), PRIMITIVES)
def test_a_primitive_that_is_not_under_control_is_named(title: str, use: Callable[[], object], remedy: str) -> None:
    """The verdict is inconclusive; the reason tells what, where and what to use instead."""

    def scenario(rt: ControlledRuntime) -> None:
        rt.spawn(use, name="worker").join()

    report = explore(scenario)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.reason.startswith(f"Task 'worker' used {title}")
    assert " at test_uncontrolled.py:" in report.reason
    assert remedy in report.reason


PIPED: list[tuple[str, Callable[[int, int], object]]] = [
    ("os.read()", lambda reads, writes: os.read(reads, 1)),
    ("os.write()", lambda reads, writes: os.write(writes, b"a")),
    ("os.readv()", lambda reads, writes: os.readv(reads, [bytearray(1)])),
    ("os.writev()", lambda reads, writes: os.writev(writes, [b"a"])),
    ("os.eventfd_read()", lambda reads, writes: os.eventfd_read(reads)),
    ("os.sendfile()", lambda reads, writes: os.sendfile(writes, reads, 0, 1)),
    ("os.splice()", lambda reads, writes: os.splice(reads, writes, 1)),
]


@pytest.mark.parametrize(("title", "use"), PIPED)
def test_a_pipe_from_before_the_run_is_named_where_it_is_used(title: str, use: Callable[[int, int], object]) -> None:
    """The order of bytes in it depends on that of tasks, and one that reads may wait for one that writes."""
    pipe = os.pipe()
    try:
        report = explore(lambda rt: rt.spawn(lambda: use(*pipe), name="worker").join())
    finally:
        for descriptor in pipe:
            os.close(descriptor)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.reason.startswith(f"Task 'worker' used {title} at test_uncontrolled.py:")
    assert "rt.queue()" in report.reason


def test_descriptors_of_files_are_let_be() -> None:
    """Calls that wait for nobody are no cause for alarm; what is in files is an input."""

    def scenario(file: int) -> bytes:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(file, fcntl.LOCK_UN)
        os.write(file, b"a")
        os.lseek(file, 0, os.SEEK_SET)
        return os.read(file, 1)

    with tempfile.TemporaryFile() as file:
        report = explore(lambda rt: rt.spawn(lambda: scenario(file.fileno()), name="worker").join())
    assert report.verdict is Verdict.HOLDS


def run_in_a_pool() -> None:
    with concurrent.futures.ThreadPoolExecutor() as pool:
        pool.submit(os.fork)


def run_in_a_thread(make: Callable[[], threading.Thread]) -> None:
    thread = make()
    thread.start()
    thread.join()


def run_in_a_loop() -> None:
    async def main() -> None:
        asyncio.get_running_loop().call_soon(os.fork)
        await asyncio.sleep(0)

    asyncio.run(main())


def run_as_a_callback() -> None:
    future: concurrent.futures.Future[int] = concurrent.futures.Future()
    future.add_done_callback(os._exit)  # type: ignore[arg-type]
    future.set_result(0)


DIRECT: dict[str, tuple[str, Callable[..., object]]] = {
    "a thread": ("os.fork()", lambda: run_in_a_thread(lambda: threading.Thread(target=os.fork))),
    "a timer": ("os.fork()", lambda: run_in_a_thread(lambda: threading.Timer(1, os.fork))),
    "chance": ("random.random()", lambda: run_in_a_thread(lambda: threading.Thread(target=random.random))),
    "a pool": ("os.fork()", run_in_a_pool),
    "a task": ("os.fork()", lambda rt: rt.spawn(os.fork, name="fork").join()),
    "a loop": ("os.fork()", run_in_a_loop),
    "a future": ("os._exit()", run_as_a_callback),
}


@pytest.mark.parametrize(("title", "scenario"), DIRECT.values(), ids=DIRECT)
def test_a_primitive_is_named_though_no_line_of_the_scenario_calls_it(
    title: str, scenario: Callable[[], object]
) -> None:
    """It is what a thread, a pool, a loop or a future was given to run: a fork would double the exploration."""
    report = explore(scenario)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert f" used {title} at " in report.reason


def test_code_that_catches_everything_does_not_hide_it() -> None:
    """The run ends at the next point at the latest."""

    def scenario(rt: ControlledRuntime) -> None:
        try:
            time.process_time()
        except BaseException:
            rt.event().set()

    assert explore(scenario).verdict is Verdict.INCONCLUSIVE


def test_a_stepper_tells_it_too() -> None:
    """It raises, as there is no report."""

    def scenario(rt: ControlledRuntime) -> None:
        rt.event().set()
        time.process_time()

    with Stepper(scenario) as stepper, pytest.raises(Inconclusive, match=r"time\.process_time"):
        stepper.take("main")


def test_what_libraries_keep_to_themselves_is_let_be() -> None:
    """The standard library's own locks, a seeded random.Random and numpy are no cause for alarm."""

    def scenario(rt: ControlledRuntime) -> tuple[float, int]:
        import logging

        logging.getLogger("test").debug("a record reads the clock")
        numpy.random.default_rng(1).random()  # has a lock of its own
        return random.Random(1).random(), int(numpy.arange(3).sum())

    assert explore(lambda rt: rt.spawn(lambda: scenario(rt), name="a").join()).verdict is Verdict.HOLDS


def test_primitives_are_put_back() -> None:
    """Whatever comes of the exploration, the process is as before, and names are bound as before."""
    before = state()
    for use in (lambda: None, lambda: time.process_time(), lambda: spend(), lambda: 1 / 0):
        explore(lambda rt, use=use: use())  # type: ignore[misc]
    assert state() == before


def state() -> list[object]:
    """Everything of the process that a guard changes."""
    owners = [(vars(owner), primitive.name) for primitive in KNOWN if (owner := primitive.find()) is not None]
    handlers = [signal.getsignal(number) for number in (signal.SIGALRM, signal.SIGINT)]
    return [*(names.get(name) for names, name in owners), *handlers, spend, Bound.clock, taken_by_default.__defaults__]


class Bound:
    """Takes a clock for itself."""

    clock = time.process_time


def taken_by_default(clock: Callable[[], float] = time.process_time) -> float:
    return clock()


def test_a_primitive_that_was_exchanged_between_two_explorations_is_the_one_that_others_get(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What stands in for primitives is kept for the next exploration, and made anew for another original."""
    with Guard():
        assert time.process_time() > 0

    def mine() -> float:
        return -7.0

    monkeypatch.setattr(time, "process_time", mine)
    with Guard():
        assert time.process_time is not mine
        assert time.process_time() == -7.0
    assert time.process_time is mine


def test_a_name_that_was_bound_before_is_told_where_it_is_used() -> None:
    """Globals, classes, defaults and closures keep no primitive of their own."""
    clock = time.process_time

    def taken_by_closure(rt: ControlledRuntime) -> float:
        return clock()

    for scenario in (taken_by_closure, lambda rt: Bound.clock(), lambda rt: taken_by_default()):
        report = explore(scenario)
        assert report.verdict is Verdict.INCONCLUSIVE
        assert report.reason.startswith("Task 'main' used time.process_time() at test_uncontrolled.py:")
    assert clock is time.process_time


def test_a_name_that_was_bound_while_exploring_is_told_in_the_next_exploration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a module takes that is imported by a scenario outlives the exploration, and its innocence does not."""
    (tmp_path / "late_module.py").write_text("from time import process_time\n")
    monkeypatch.syspath_prepend(tmp_path)

    def imports(rt: ControlledRuntime) -> None:
        import late_module  # type: ignore[import-not-found]

        assert late_module.process_time

    def spends(rt: ControlledRuntime) -> None:
        import late_module

        late_module.process_time()

    assert explore(lambda rt: rt.spawn(lambda: imports(rt), name="a").join()).verdict is Verdict.HOLDS
    assert explore(spends).verdict is Verdict.INCONCLUSIVE


def test_code_that_catches_everything_cannot_end_the_process(tmp_path: Path) -> None:
    """Nor double it: what is fatal is refused even after the run has ended, and one verdict is told."""
    for act in ("os._exit(0)", "os.fork()"):
        text = f"import os\n\ndef dying(rt):\n    try:\n        {act}\n    finally:\n        {act}\n"
        (tmp_path / "mine.py").write_text(text)
        with Command("explore", "mine.py:dying", cwd=tmp_path) as command:
            ended = command.end()
        assert ended.code == 3
        assert ended.out.count("mine.py:dying: inconclusive") == 1


def test_two_threads_cannot_explore_at_a_time() -> None:
    """The second one is refused, and the process is as before once the first one is done."""
    before = state()
    with concurrent.futures.ThreadPoolExecutor(1) as other, Stepper(lambda rt: rt.event().set()):
        with pytest.raises(UsageError, match="Another thread of this process explores already"):
            other.submit(explore, lambda rt: None).result()
    assert state() == before
    with concurrent.futures.ThreadPoolExecutor(1) as other:
        assert other.submit(explore, lambda rt: time.process_time()).result().verdict is Verdict.INCONCLUSIVE
    assert state() == before


def test_explorations_of_one_thread_may_be_nested_or_overlap() -> None:
    """Whichever ends first, the other stays guarded, and in the end the process is as before."""
    before = state()
    assert explore(lambda rt: explore(lambda inner: None).traces).outcomes == ("1",)

    def scenario(rt: ControlledRuntime) -> None:
        rt.event().set()
        spend()

    first, second = Stepper(scenario), Stepper(scenario)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    with pytest.raises(Inconclusive, match=r"time\.process_time"):
        second.take("main")
    second.__exit__(None, None, None)
    assert state() == before


def test_a_timer_that_somebody_else_has_set_is_given_back() -> None:
    """Test runners bound tests by the same timer."""
    delay, _ = signal.getitimer(signal.ITIMER_REAL)
    explore(lambda rt: None)
    after, _ = signal.getitimer(signal.ITIMER_REAL)
    assert (after > 0) == (delay > 0)
    assert after <= delay


class Held:
    """What was made before the exploration, where no name leads to it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.rlock = threading.RLock()
        self.condition = threading.Condition()
        self.event = threading.Event()
        self.queue = queue.Queue[int]()
        self.simple_queue = queue.SimpleQueue[int]()
        self.future = concurrent.futures.Future[int]()
        self.semaphore = threading.Semaphore()
        self.thread = threading.Thread(target=print)


HELD = (Held(),)


def _within(lock: threading.Lock) -> None:
    with lock:
        pass


@pytest.mark.parametrize(
    ("use", "title"),
    [
        (lambda held: held.lock.acquire(), "a real lock"),
        (lambda held: held.lock.__enter__(), "a real lock"),
        (lambda held: held.lock.locked(), "a real lock"),
        (lambda held: _within(held.lock), "a real lock"),
        (lambda held: threading.Thread(target=held.lock.acquire).start(), "a real lock"),
        (lambda held: held.rlock.acquire(), "a real lock"),
        (lambda held: held.condition.__enter__(), "a real lock"),
        (lambda held: held.condition.notify(), "a real condition"),
        (lambda held: held.event.set(), "a real lock"),
        (lambda held: held.event.is_set(), "a real event"),
        (lambda held: held.queue.put(1), "a real lock"),
        (lambda held: held.simple_queue.put(1), "a real queue.SimpleQueue"),
        (lambda held: held.future.done(), "a real lock"),
        (lambda held: held.semaphore.acquire(), "a real lock"),
        (lambda held: held.thread.start(), "thread 'Thread-"),
    ],
)
def test_what_was_made_before_the_run_is_told_when_it_is_used(use: Callable[[Held], object], title: str) -> None:
    """Wherever it was kept: it is named by the line that uses it, before anything can block."""
    report = explore(lambda rt: use(HELD[0]))
    assert report.verdict is Verdict.INCONCLUSIVE
    assert f" used {title}" in report.reason
    assert "made before the run, at " in report.reason
    assert not HELD[0].lock.locked()


def test_a_step_that_blocks_for_real_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """What blocks in C code is not seen until it does; then it is named by its line."""
    monkeypatch.setattr(watchdog, "STALL_S", 0.2)
    reading, writing = os.pipe()
    pipe = os.fdopen(reading, "rb", buffering=0)

    def scenario(rt: ControlledRuntime) -> None:
        rt.spawn(lambda: pipe.read(1), name="a")

    report = explore(scenario)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.reason.startswith(
        "Task 'a' has not come to a point for over 0.2 s of real time, at test_uncontrolled.py:"
    )
    assert "`rt.spawn(lambda: pipe.read(1)" in report.reason
    pipe.close()
    os.close(writing)


def test_a_call_of_c_that_goes_on_in_time_is_not_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever looks for blocked steps sends no signal before: the call would return early, and pass for done."""
    monkeypatch.setattr(watchdog, "STALL_S", 30.0)
    monkeypatch.setattr(watchdog, "_LOOKS", 300)
    libc = ctypes.CDLL(None)

    def scenario(rt: ControlledRuntime) -> int:
        results: list[int] = []
        rt.spawn(lambda: results.append(libc.poll(None, 0, 500)), name="a").join()
        return results[0]  # -1 if a signal came

    assert explore(scenario, strategy="random", runs=1).outcomes == ("0",)


def test_a_step_does_not_count_as_blocked_while_nobody_could_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the whole process stands still, here by a call that keeps the interpreter's lock, it just goes on."""
    monkeypatch.setattr(watchdog, "STALL_S", 0.5)
    monkeypatch.setattr(watchdog, "_LOOKS", 1_000)
    libc = ctypes.PyDLL(None)

    def stand_still() -> None:
        for pause_us in (0, 600_000, 0):
            libc.usleep(pause_us)
            for _ in range(300_000):  # in which somebody looks
                pass

    def scenario(rt: ControlledRuntime) -> None:
        rt.spawn(stand_still, name="a").join()

    report = explore(scenario, strategy="random", runs=1)
    assert report.verdict is Verdict.BOUNDED, report.reason


def test_a_run_in_which_a_call_of_c_was_cut_short_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal that ends it makes it return early, and code that does not look goes on as if it were done."""
    monkeypatch.setattr(watchdog, "STALL_S", 0.2)
    libc = ctypes.CDLL(None)

    def scenario(rt: ControlledRuntime) -> None:
        rt.spawn(lambda: libc.sleep(100), name="a").join()

    report = explore(scenario)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "`rt.spawn(lambda: libc.sleep(100)" in report.reason


def test_a_step_that_computes_for_ever_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop without a point would hang the exploration."""
    monkeypatch.setattr(watchdog, "STALL_S", 0.2)

    def scenario(rt: ControlledRuntime) -> None:
        while True:
            pass

    assert explore(scenario).verdict is Verdict.INCONCLUSIVE


def test_state_kept_between_runs_is_nondeterminism() -> None:
    """A scenario that does something else the second time is not certified."""
    calls = []

    def scenario(rt: ControlledRuntime) -> None:
        calls.append(1)
        event, other = rt.event(), rt.event()
        (event if len(calls) == 1 else other).is_set()
        rt.spawn(event.set, name="setter")
        event.is_set()

    report = explore(scenario)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert report.reason.startswith("Uncontrolled nondeterminism")


@pytest.mark.parametrize("strategy", ["portfolio", "random", "dpor"])
def test_state_that_grows_from_run_to_run_is_nondeterminism(strategy: str) -> None:
    """Also behind the last step that two runs share, and where nothing compares runs while they are sampled."""
    calls: list[int] = []

    def scenario(rt: ControlledRuntime) -> None:
        calls.append(1)
        event = rt.event()
        setter = rt.spawn(event.set, name="setter")
        event.is_set()
        setter.join()
        for _ in calls:
            event.is_set()

    report = explore(scenario, strategy=strategy, runs=20, declared=True)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "run again in the end" in report.reason


def test_a_failure_that_does_not_repeat_is_nondeterminism() -> None:
    """A failure is run again twice before it is reported."""
    calls = []

    def scenario(rt: ControlledRuntime) -> None:
        calls.append(1)
        assert len(calls) > 1

    report = explore(scenario)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "a good end" in report.reason


def test_a_clock_read_by_somebody_on_each_garbage_collection_is_none_of_the_scenarios() -> None:
    """Profilers and test tools time the collector, which may run in the middle of any task."""

    def timed(phase: str, info: dict[str, int]) -> None:
        time.perf_counter()

    def scenario(rt: ControlledRuntime) -> str:
        gc.collect()
        return "collected"

    gc.callbacks.append(timed)
    try:
        assert explore(scenario).outcomes == ("'collected'",)
    finally:
        gc.callbacks.remove(timed)
