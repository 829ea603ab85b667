"""Programs that read the state of locks, queues, futures and threads by attribute, or share a context."""

from __future__ import annotations

from tests.testbed.instrument.hidden import together

BODIES = {
    "queue_unfinished": """
import queue
def main():
    q = queue.Queue(); q.put(1); q.put(1); out = []
    def a(): q.get(); q.task_done()
    def b(): out.append(q.unfinished_tasks)
    run(a,b); return out
""",
    "queue_of_a_subclass": """
import queue
class Q(queue.Queue): pass
def main():
    q = Q(); q.put(1); out = []
    def a(): q.get(); q.task_done()
    def b(): out.append(q.unfinished_tasks)
    run(a,b); return out
""",
    "queue_items": """
import queue
def main():
    q = queue.Queue(); out = []
    def a(): q.put(1); q.put(2)
    def b(): out.append(list(q.queue))
    run(a,b); return out
""",
    "queue_emptied": """
import queue
def main():
    q = queue.Queue(); q.put(1); out = []
    def a(): q.queue.clear()
    def b(): out.append(q.qsize())
    run(a,b); return out
""",
    "queue_bounded": """
import queue
def main():
    q = queue.Queue(); out = []
    def a(): q.maxsize = 1
    def b():
        try: q.put_nowait(1); q.put_nowait(2)
        except queue.Full: out.append("full")
    run(a,b); return out
""",
    "semaphore_value": """
def main():
    s = threading.Semaphore(1); out = []
    def a():
        with s: pass
    def b(): out.append(s._value)
    run(a,b); return out
""",
    "event_of_a_subclass": """
class Flag(threading.Event): pass
def main():
    flag = Flag(); out = []
    def b(): out.append(flag.is_set())
    run(flag.set,b); return out
""",
    "future_state": """
from concurrent.futures import Future
def main():
    f = Future(); out = []
    def a(): f.set_running_or_notify_cancel(); f.set_result(1)
    def b(): out.append(f._state)
    run(a,b); return out
""",
    "barrier_waiting": """
def main():
    s = threading.Barrier(2); out = []
    def a(): s.wait()
    def b(): out.append(s.n_waiting); s.wait()
    run(a,b); return out
""",
    "thread_name": """
def main():
    out = []
    def a(): out.append(threading.current_thread().name)
    t = threading.Thread(target=a, name="x"); t.start(); t.name = "y"; t.join(); return out
""",
    "thread_ident": """
def main():
    out = []
    t = threading.Thread(target=int)
    def b(): out.append(t.ident is None)
    run(t.start,b); t.join(); return out
""",
    "context_entered_twice": """
import contextvars
v = contextvars.ContextVar("v", default=0)
def main():
    ctx = contextvars.copy_context(); out = []
    def add(): v.set(v.get() + 1)
    def a():
        try: ctx.run(add)
        except RuntimeError as e: out.append(str(e)[:20])
    run(a,a); return ctx.get(v), out
""",
    "context_read_beside": """
import contextvars
v = contextvars.ContextVar("v", default=0)
def main():
    ctx = contextvars.copy_context(); out = []
    def a(): ctx.run(lambda: (v.set(1), v.set(2)))
    def b(): out.append(ctx[v] if v in ctx else 0)
    run(a,b); return out
""",
}
PROGRAMS = {name: together(body) for name, body in BODIES.items()}

TWINS = {
    "a queue looked into under its lock": (
        """
import queue
def main():
    q = queue.Queue(); q.put(1); out = []
    def a(): q.get(); q.task_done()
    def b():
        with q.mutex: out.append(q.unfinished_tasks - len(q.queue) in (0, 1))
    run(a,b); return out
""",
        "[True]",
    ),
    "a semaphore looked at when all is over": (
        """
def main():
    s = threading.Semaphore(1)
    def a():
        with s: pass
    run(a,a); return s._value
""",
        "1",
    ),
    "a context under a lock": (
        """
import contextvars
v = contextvars.ContextVar("v", default=0)
def main():
    ctx = contextvars.copy_context(); lock = threading.Lock()
    def a():
        with lock: ctx.run(lambda: v.set(v.get() + 1))
    run(a,a); return ctx[v]
""",
        "2",
    ),
    "a context for each": (
        """
import contextvars
v = contextvars.ContextVar("v", default=0)
def main():
    def a(): contextvars.copy_context().run(v.set, 1)
    run(a,a); return v.get()
""",
        "0",
    ),
}
"""Good uses of the same, and what each comes to in all orders."""
