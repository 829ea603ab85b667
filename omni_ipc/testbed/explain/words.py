"""Steps in words."""

from __future__ import annotations

from omni_ipc.explanations import whose_value
from omni_ipc.records import Access, Step

_LONGEST = 60  # characters of a value in a sentence

_VERBS = {
    "lock.acquire": "took",
    "lock.release": "released",
    "lock.locked": "looked at",
    "rlock.acquire": "took",
    "rlock.release": "released",
    "queue.put": "put into",
    "queue.get": "took from",
    "queue.empty": "looked into",
    "queue.full": "looked into",
    "queue.qsize": "looked into",
    "queue.join": "waited for the tasks of",
    "queue.task_done": "was done with a task of",
    "queue.shutdown": "shut down",
    "simple_queue.put": "put into",
    "simple_queue.get": "took from",
    "simple_queue.empty": "looked into",
    "simple_queue.qsize": "looked into",
    "event.set": "set",
    "event.clear": "cleared",
    "event.wait": "waited for",
    "event.wake": "woke up from",
    "event.is_set": "looked at",
    "condition.wait": "began to wait for",
    "condition.wake": "woke up from",
    "condition.notify": "notified",
    "condition.notify_all": "notified all of",
    "future.set_running_or_notify_cancel": "began to run",
    "future.set_result": "settled",
    "future.set_exception": "settled",
    "future.cancel": "cancelled",
    "future.cancelled": "looked at",
    "future.done": "looked at",
    "future.running": "looked at",
    "future.exception": "took the outcome of",
    "future.result": "took the result of",
    "future.add_done_callback": "added a callback to",
    "semaphore.acquire": "took",
    "semaphore.release": "released",
    "words.load": "loaded",
    "words.store": "stored",
    "words.wait": "went to sleep on",
    "words.wake": "woke the sleepers of",
    "task.spawn": "started",
    "task.join": "waited for the end of",
    "task.is_alive": "looked at",
    "thread.start": "started",
    "thread.join": "waited for the end of",
    "thread.is_alive": "looked at",
    "thread.ident": "looked at",
    "context.enter": "entered",
    "context.set": "set a variable in",
    "context.leave": "left",
    "executor.submit": "gave work to",
    "executor.take": "took work from",
    "executor.shutdown": "shut down",
    "loop.call_soon_threadsafe": "sent a callback to",
    "loop.close": "closed",
    "loop.run": "ran a callback of",
}
"""Of operations whose first field names what they are about."""


def is_region(step: Step) -> bool:
    """Tell a region, named after its actor ("Pump.Deliver"), from a primitive operation ("queue.get")."""
    return step.action[:1].isupper()


def access_to(step: Step, target: str | None) -> Access | None:
    """Return what a step did to a target."""
    return next((access for access in step.accesses if access.target == target), None)


def did(step: Step, target: str | None = None) -> str:
    """Say what a step did, and what it saw or left at a target: "'a' read Counter.value (0, races.py:26)"."""
    if step.action.startswith("fault."):
        return f"the fault {step.action.removeprefix('fault.')} came"
    access = access_to(step, target)
    value = _short(access.value) if access is not None and access.value is not None else None
    notes = [note for note in (None if target is None else value, place(step)) if note]
    verb, of = _verb(step, target)
    if access is not None and value is not None and is_region(step):
        notes[0] = f"{target} = {value}"
    elif access is not None and value is not None and (whole := whose_value(step, access)) != access.target:
        notes[0] = f"{whole} = {value}"
    elif access is not None and access.writes and value is not None and step.action.endswith(".write"):
        of, notes = f"{of} to {value}", notes[1:]
    noted = f" ({', '.join(notes)})" if notes else ""
    return f"'{step.task}' {verb} {of}{noted}"


def place(step: Step) -> str | None:
    """Give the file and line of a step."""
    return step.where.partition(" in ")[0] if step.where else None


def _verb(step: Step, target: str | None) -> tuple[str, str]:
    kind, _, what = step.action.partition(".")
    if what in ("read", "write") and target is not None and kind != "words":
        return ("read" if what == "read" else "set"), target
    if step.action == "task.end":
        return "came to", "its end"
    if step.action in _VERBS and step.fields:
        first = next(iter(step.fields.values()))
        index = step.fields.get("index")
        verb = "gave up on" if step.expired else _VERBS[step.action]
        return verb, f"{first}[{index}]" if index is not None else str(first)
    return "gave up on" if step.expired else "did", _call(step)


def _call(step: Step) -> str:
    fields = ", ".join(f"{name}={value}" for name, value in step.fields.items())
    return f"{step.action}({fields})" if fields else step.action


def _short(value: str) -> str:
    return value if len(value) <= _LONGEST else f"{value[: _LONGEST - 1]}…"
