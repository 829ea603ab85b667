"""What a run knows of itself, and what objects ask of it without a point."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import Context
from typing import Any
from weakref import ref

from greenlet import getcurrent

from omni_ipc.records import Failure
from omni_ipc.testbed.clock import Clock
from omni_ipc.testbed.identity import Identities
from omni_ipc.testbed.kernel.roles import Chooser, Observer
from omni_ipc.testbed.operations import nothing
from omni_ipc.testbed.oracles.fairness import FIRST_LOOK, Recurrence
from omni_ipc.testbed.tasks import Group, Pool, Task

THE_END = "the end"
"""Daemon threads go on until a scenario ends: each of their steps may come before the end, or not at all."""


class RunState:
    """The state of one run of a scenario.

    Args:
        chooser: decides once ``prefix`` is used up.
        limit: steps after which the run counts as a livelock.
        prefix: indices of the tasks that take the first steps.

    Attributes:
        order: index of the task that took step k.
        reads, writes: bits of the objects that the step in progress has touched so far.
        read_log, write_log: the same of all steps: item 0 of main before its first point, item k + 1 of step k.
        living: tasks that have not ended, by index.
        unjoined: how many tasks but main there are, or were, whose end nobody has waited for.
        accompanied: called with the run when there is one such task, and had been none; and when none is left.
        last: the task that took the last step.
        current: the task that runs now.
        merges: a task may change something in a region, where it need not wait, without an operation: nobody has to be
            told, and nothing waits for it.
        time: bit of the clock, if timers may fire before their time.
        resumed: called with each task that goes on after another one; for what hides in the OS thread.
        starting: called with function and arguments of each thread that is started; for what threads share unseen.
        using: called with what code without points is about to change.
        library: called with what tells of objects in which the standard library keeps something for the process, with
            the attributes that it is about to use, and whether it is about to change them.
        running: called with the coroutine that an event loop is about to let go on, and when it has done so.
        closers: called once all tasks have ended.
        births: by index of a task, the step in which it began; -1 is before the first one.
        beside: how many asyncio tasks began while another one of their loop lived.
        jumps: numbers of steps that had been taken when time passed.
        refused: what was announced last when the run was ended: the task's index, what it reads and writes.
        agents: what takes steps beside the tasks, and is no part of the scenario; see `faults`.
        curtailed: what was left out of the run's continuations, and why: each a sentence's end.
        contexts: those of `contextvars` that were entered, by id, and the task that entered each first.
        retired: once a later run has begun, tells whether a task of that runs now.
    """

    __slots__ = (  # noqa: SIM905 - so many attributes would cost twice as much in a dictionary
        "__dict__ __weakref__ accompanied agents beside births chooser clock closers contexts current curtailed depth "
        "escape failure groups identities jumps known last library limit living max_steps merges numbered observer "
        "order outside over plumbing pool pruned read_log reads recurrence refused resumed retired running starter "
        "starting tasks time unjoined using write_log writes"
    ).split()

    keeps: list[Any] | None = None  # objects that outlive runs, if it is not one of a run

    def __init__(
        self, chooser: Chooser, *, pool: Pool, identities: Identities, limit: int, prefix: Sequence[int] = ()
    ) -> None:
        self.chooser = chooser
        self.pool = pool
        self.identities = identities
        self.clock = Clock()
        self.max_steps = limit
        self.limit = min(limit, FIRST_LOOK)
        self.order = list(prefix)
        self.known = len(self.order)
        self.depth = 0
        self.reads = self.writes = 0
        self.read_log: list[int] = []
        self.write_log: list[int] = []
        self.merges = True
        self.time = 0
        self.births: dict[int, int] = {}
        self.beside = 0
        self.jumps: list[int] = []
        self.refused: list[tuple[int, int, int]] = []
        self.agents: Sequence[Task] = ()
        self.curtailed: set[str] = set()
        self.recurrence: Recurrence | None = None
        self.groups: dict[str, Group] = {}
        self.plumbing = 0  # bits of locks and waiting lists: in them nothing is told to anybody
        self.numbered: dict[str, int] = {}  # names given so far, by template
        self.contexts: dict[int, tuple[ref[Context], Task]] = {}
        self.tasks: list[Task] = []
        self.living: list[Task] = []
        self.unjoined = -1
        self.accompanied: Callable[[Any], object] | None = None
        self.outside = Task("outside", -1, 0, nothing, ())
        self.outside.atomic = 1
        self.outside.switch = getcurrent().switch
        self.current = self.last = self.outside
        self.starter: Task | None = None
        self.over = False
        self.pruned = False
        self.failure: Failure | None = None
        self.escape: BaseException | None = None
        self.observer: Observer | None = None
        self.resumed: Callable[[Task], object] | None = None
        self.retired: Callable[[], bool] | None = None
        self.starting: Callable[..., object] | None = None
        self.using: Callable[[object], object] | None = None
        self.library: Callable[[Callable[[], Iterable[tuple[object, str]]], bool], object] | None = None
        self.running: Callable[[object], object] | None = None
        self.closers: list[Callable[[], object]] = []

    def now(self) -> float:
        """Read the clock."""
        self.reads |= self.time
        return self.clock.now

    def follow(self, resumed: Callable[[Task], object]) -> None:
        """Call this, too, with each task that goes on after another one."""
        before = self.resumed

        def both(task: Task) -> None:
            assert before is not None
            before(task)
            resumed(task)

        self.resumed = resumed if before is None else both

    def group(self, name: str) -> Group:
        """Return the tasks that live and die together under a name; there may be none yet."""
        if name not in self.groups:
            self.groups[name] = Group(name, self.identities["group", name])
        return self.groups[name]

    def identify(self) -> tuple[Task, int]:
        """Name an object that the current task makes: its maker, and its number among those that the maker made."""
        maker = self.current
        maker.made += 1
        return maker, maker.made

    def begin_region(self) -> bool:
        """Let what the current task does be one step, until it leaves the region."""
        self.current.atomic += 1
        return True

    def join(self, task: Task) -> None:
        """Take note that the current task has waited for the end of another one."""
        if task.joined:
            return
        task.joined = True
        self.unjoined -= 1
        if not self.unjoined and self.accompanied is not None:
            self.accompanied(self)

    def waiting(self) -> list[tuple[int, int, int]]:
        """Return the operations that were announced and not performed: the task's index, what they read and write."""
        if not self.living:
            return self.refused
        end = self.identities[THE_END] if any(task.daemon for task in self.living) else 0
        return self.refused + [
            (task.index, task.pending.reads | (end if task.daemon and task.ready() else 0), task.pending.writes)
            for task in self.living
            if task.pending is not None
        ]

    def is_needed(self) -> bool:
        """Tell whether anybody lives without whose end the run does not end."""
        for task in self.living:  # noqa: SIM110 - to make a generator costs more than the first look
            if not task.daemon:
                return True
        return False

    def cuts_off(self, task: Task) -> bool:
        """Tell whether the end of a task ends daemon threads that could go on."""
        can_go_on = False
        for other in self.living:  # in no generator, which costs more than most of them look at
            if other is not task:
                if not other.daemon:
                    return False
                can_go_on = can_go_on or other.ready()
        return can_go_on

    # What a kernel that knows faults or buffers does here

    def announce(self, made: object) -> None:
        """Take note of a new object that faults may be about; here there are none."""

    def begun(self, task: Task) -> None:
        """Take note of a new task before its first step."""

    def fence(self) -> None:
        """Let all see what the current task has stored, within its step; here they do already."""
