"""What modules make when they are imported is there for each run, as the import left it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

from omni_ipc.testbed.runner import Runner
from omni_ipc.testbed.standard.kept import Kept
from omni_ipc.testbed.strategies.base import Run
from omni_ipc.testbed.strategies.default import DefaultOrder

SOURCE = """
import concurrent.futures, queue, threading

lock, rlock = threading.Lock(), threading.RLock()
condition = threading.Condition(lock)
event, semaphore = threading.Event(), threading.BoundedSemaphore(2)
items, simple = queue.Queue(), queue.SimpleQueue()
items.put("first")
with items.mutex:
    items.queue.append("second")
future = concurrent.futures.Future()
executor = concurrent.futures.ThreadPoolExecutor(1)
local = threading.local()
local.value = "imported"
thread = threading.Thread(target=event.set)
semaphore.acquire()
"""


def runs(use: Callable[[Any], object], source: str = SOURCE, count: int = 3) -> list[Run]:
    """Import a module, and use it in several runs."""
    module: Any = ModuleType("kept_module")
    kept = Kept()

    def scenario(rt: Any) -> object:
        return use(module)

    with Runner(scenario) as runner:
        with kept:
            exec(compile(source, __file__, "exec"), vars(module))
        done = []
        for _ in range(count):
            kernel, rt = runner.begin(DefaultOrder())
            kept.begin(kernel)
            runner.start(kernel, rt)
            done.append(runner.finish(kernel, rt))
    return done


def use_all(module: Any) -> object:
    """Change the state of everything, and tell what it was."""
    seen = [module.local.value, module.event.is_set(), module.lock.locked(), module.items.qsize()]
    module.local.value = "changed"
    module.thread.start()
    module.event.wait()
    module.thread.join()
    with module.condition:
        module.condition.notify_all()
    with module.rlock, module.rlock:
        module.items.put("third")
    module.simple.put(1)
    module.lock.acquire()
    seen += [module.semaphore.acquire(blocking=False), module.semaphore.acquire(blocking=False)]
    seen += [module.items.get(), module.simple.qsize(), module.executor.submit(pow, 2, 3).result()]
    module.future.set_result(5)
    return [*seen, module.future.result()]


def test_each_run_finds_what_the_import_left() -> None:
    """State, identities and steps are the same in each run, and all is under control."""
    done = runs(use_all)
    assert [run.failure for run in done] == [None] * 3
    assert done[0].value == ["imported", False, False, 2, True, False, "first", 1, 8, 5]
    assert [run.value for run in done] == [done[0].value] * 3
    assert [(run.reads, run.writes) for run in done] == [(done[0].reads, done[0].writes)] * 3


def test_a_module_may_be_imported_within_a_run() -> None:
    """What it makes belongs to the run at once, and to those that follow."""
    kept = Kept()
    module: Any = ModuleType("late_module")

    def scenario(rt: Any) -> object:
        if not hasattr(module, "lock"):
            with kept:
                exec(compile("import threading\nlock = threading.Lock()", __file__, "exec"), vars(module))
        thread = threading.Thread(target=module.lock.acquire)
        thread.start()
        thread.join()
        return module.lock.locked()

    with Runner(scenario) as runner:
        for _ in range(2):
            kernel, rt = runner.begin(DefaultOrder())
            kept.begin(kernel)
            runner.start(kernel, rt)
            run = runner.finish(kernel, rt)
            assert (run.value, run.failure) == (True, None)


def test_what_waits_at_import_is_told() -> None:
    """Nobody could end the wait."""
    module: Any = ModuleType("waiting_module")
    kept = Kept()
    seen = []
    with Runner(lambda rt: None), kept:
        try:
            exec(compile("import threading\nthreading.Event().wait()", __file__, "exec"), vars(module))
        except Exception as error:
            seen.append(str(error))
    assert len(seen) == 1
    assert "'event.wait' would wait for event1 to be set, but no task runs it." in seen[0]
