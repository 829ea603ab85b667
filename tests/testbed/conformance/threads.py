"""Thread, Timer, local, and who the current thread is."""

from __future__ import annotations

import contextvars
import re
import threading
import time
from typing import Any


def _run(thread: threading.Thread) -> threading.Thread:
    thread.start()
    thread.join()
    return thread


def _nothing() -> None:
    return None


def thread_runs_its_target() -> object:
    seen: list[object] = []
    _run(threading.Thread(target=lambda *args, **options: seen.append((args, options)), args=(1,), kwargs={"a": 2}))
    return seen


def thread_without_a_target() -> object:
    return _run(threading.Thread()).is_alive()


def thread_has_a_name() -> object:
    unnamed = [re.sub(r"\d+", "N", threading.Thread(target=target).name) for target in (None, _nothing)]
    return unnamed, threading.Thread(name="mine").name, threading.Thread(name=7).name  # type: ignore[arg-type]


def thread_is_renamed() -> object:
    thread = threading.Thread(name="before")
    thread.name = "after"
    return thread.name, _run(thread).name


def thread_starts_once() -> object:
    return _run(threading.Thread(target=_nothing)).start()


def thread_is_not_joined_before_its_start() -> object:
    return threading.Thread(target=_nothing).join()


def thread_does_not_join_itself() -> object:
    return threading.current_thread().join()


def thread_is_joined_twice() -> object:
    thread = _run(threading.Thread(target=_nothing))
    return thread.join(), thread.join(0), thread.join(-1)


def thread_join_times_out() -> object:
    event = threading.Event()
    thread = threading.Thread(target=event.wait)
    thread.start()
    left = thread.join(0.01), thread.is_alive(), thread.join(timeout=0), thread.join(-1)
    event.set()
    thread.join()
    return left, thread.is_alive()


def thread_lives() -> object:
    event = threading.Event()
    thread = threading.Thread(target=event.wait)
    before = thread.is_alive()
    thread.start()
    during = thread.is_alive()
    event.set()
    thread.join()
    return before, during, thread.is_alive()


def thread_has_an_identity() -> object:
    thread = threading.Thread(target=_nothing)
    before = thread.ident, thread.native_id
    _run(thread)
    return before, isinstance(thread.ident, int), isinstance(thread.native_id, int), bool(thread.ident)


def thread_knows_itself() -> object:
    seen: list[object] = []

    def look() -> None:
        thread = threading.current_thread()
        seen.append((thread is one, threading.get_ident() == one.ident, thread in threading.enumerate()))
        seen.append(thread is threading.main_thread())

    one = threading.Thread(target=look)
    _run(one)
    return seen


def thread_main() -> object:
    main = threading.main_thread()
    return main is threading.current_thread(), main.name, main.daemon, main.is_alive(), main in threading.enumerate()


def thread_main_has_its_class() -> object:
    main = threading.main_thread()
    return type(main).__name__, main.ident == threading.get_ident(), main.native_id == threading.get_native_id()


def thread_counts() -> object:
    before = threading.active_count()
    event = threading.Event()
    thread = threading.Thread(target=event.wait)
    unstarted = threading.active_count() - before
    thread.start()
    during = threading.active_count() - before, thread in threading.enumerate()
    event.set()
    thread.join()
    return unstarted, during, threading.active_count() - before, thread in threading.enumerate()


def thread_inherits_daemon() -> object:
    seen: list[bool] = []
    plain = threading.Thread(target=lambda: seen.append(threading.Thread().daemon))
    daemon = threading.Thread(target=lambda: seen.append(threading.Thread().daemon), daemon=True)
    _run(plain)
    _run(daemon)
    return seen, plain.daemon, daemon.daemon


def thread_becomes_a_daemon_before_its_start() -> object:
    thread = threading.Thread(target=_nothing)
    thread.daemon = True
    return _run(thread).daemon


def thread_does_not_become_a_daemon_later() -> object:
    thread = _run(threading.Thread(target=_nothing))
    thread.daemon = True


def thread_has_no_group() -> object:
    return threading.Thread(1)  # type: ignore[arg-type]


class _Worker(threading.Thread):
    def __init__(self, number: int) -> None:
        threading.Thread.__init__(self, name=f"worker {number}", daemon=True)
        self.number = number
        self.result = 0

    def run(self) -> None:
        time.sleep(0.001)
        self.result = self.number * 2

    def join(self, timeout: float | None = None) -> int:  # type: ignore[override]
        super().join(timeout)
        return self.result


def thread_of_a_class_of_ones_own() -> object:
    workers = [_Worker(number) for number in range(3)]
    for worker in workers:
        worker.start()
    return [worker.join() for worker in workers], type(workers[0]) is _Worker, isinstance(workers[0], threading.Thread)


class _Careless(threading.Thread):
    def __init__(self) -> None:
        pass


def thread_that_was_not_initialized_is_not_started() -> object:
    return _Careless().start()


def thread_that_was_not_initialized_is_not_joined() -> object:
    return _Careless().join()


def thread_repr() -> object:
    thread = threading.Thread(target=_nothing, name="mine", daemon=True)
    before = repr(thread)
    _run(thread)
    return before, re.sub(r"\d+", "N", repr(thread))


def thread_hook_is_told_of_an_exit() -> object:
    seen: list[object] = []

    def leave() -> None:
        raise SystemExit(3)

    before, threading.excepthook = threading.excepthook, lambda args: seen.append(args.exc_type)
    try:
        return _run(threading.Thread(target=leave)).is_alive(), seen
    finally:
        threading.excepthook = before


def thread_hook_is_told_of_an_exception() -> object:
    seen: list[object] = []

    def note(args: Any) -> None:
        seen.append((args.exc_type.__name__, str(args.exc_value), args.thread.name, args.exc_traceback is not None))

    def fail() -> None:
        raise KeyError("lost")

    before, threading.excepthook = threading.excepthook, note
    try:
        _run(threading.Thread(target=fail, name="failing"))
    finally:
        threading.excepthook = before
    return seen


def timer_fires() -> object:
    seen: list[object] = []
    timer = threading.Timer(0.01, lambda *args, **options: seen.append((args, options)), [1], {"a": 2})
    _run(timer)
    return seen, timer.is_alive(), isinstance(timer, threading.Thread)


def timer_is_cancelled() -> object:
    seen: list[int] = []
    timer = threading.Timer(30, seen.append, (1,))
    timer.start()
    timer.cancel()
    timer.join()
    return seen, timer.finished.is_set()


def timer_is_cancelled_too_late() -> object:
    seen: list[int] = []
    timer = threading.Timer(0, seen.append, (1,))
    _run(timer)
    timer.cancel()
    return seen


def local_is_each_threads_own() -> object:
    local = threading.local()
    local.value = "main"
    seen: list[object] = []

    def look() -> None:
        seen.append(hasattr(local, "value"))
        local.value = "other"
        seen.append(local.value)

    _run(threading.Thread(target=look))
    return seen, local.value, sorted(vars(local))


def local_is_kept_while_others_run() -> object:
    local = threading.local()
    barrier = threading.Barrier(3)
    seen: list[int] = []

    def look(number: int) -> None:
        local.number = number
        barrier.wait()
        seen.append(local.number)

    threads = [threading.Thread(target=look, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    look(2)
    for thread in threads:
        thread.join()
    return sorted(seen)


def local_of_a_class_of_ones_own() -> object:
    class Context(threading.local):
        def __init__(self, start: int) -> None:
            self.value = start

        @property
        def double(self) -> int:
            return self.value * 2

    context = Context(5)
    context.value = 6
    seen: list[int] = []
    _run(threading.Thread(target=lambda: seen.append(context.double)))
    return seen, context.double, isinstance(context, threading.local)


def local_takes_no_arguments() -> object:
    return threading.local(1)


def local_lacks_what_was_deleted() -> object:
    local = threading.local()
    local.value = 1
    del local.value
    return local.value


def local_has_a_fixed_dict() -> object:
    local = threading.local()
    local.__dict__ = {}
    return local


def context_of_a_thread_is_new() -> object:
    variable = contextvars.ContextVar("variable", default="default")
    variable.set("main")
    seen: list[str] = []

    def look() -> None:
        seen.append(variable.get())
        variable.set("other")

    _run(threading.Thread(target=look))
    return seen, variable.get()


def context_is_handed_over() -> object:
    variable = contextvars.ContextVar("variable", default="default")
    variable.set("main")
    seen: list[str] = []
    _run(threading.Thread(target=contextvars.copy_context().run, args=(lambda: seen.append(variable.get()),)))
    return seen
