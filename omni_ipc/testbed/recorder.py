"""Records the steps of a run in words, for the one schedule that is worth it.

It looks on at each decision (`Kernel.observer`): then the step before is over, so the values that it left behind can be
read, and the chosen task still stands at its point, so its line can. What of all that other tasks touch, too, is known
only at the end: the accesses of the steps are put together then.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType

import msgspec

from omni_ipc.records import Access, Step, Switch, Why
from omni_ipc.testbed.buffering import Drain
from omni_ipc.testbed.failures import place
from omni_ipc.testbed.faults.agent import Agent
from omni_ipc.testbed.holders import called
from omni_ipc.testbed.instrument.shown import Shown
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.locations import Column, Locations, bits_of, root, title
from omni_ipc.testbed.objects.base import Controlled
from omni_ipc.testbed.operations import Subject
from omni_ipc.testbed.strategies.default import default_choice
from omni_ipc.testbed.tasks import Task
from omni_ipc.testbed.where import product_frame


class Recorder:
    """Notes the decisions of one run."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._locations = Locations()
        self._steps: list[Step] = []
        self._values: list[Mapping[int, str]] = [{}]  # that were left behind, by bit: item k + 1 by step k
        self._pending: list[tuple[int, Step, int, int]] = []  # at the end: by whom, and what it would read and write
        self._is_settled = False
        self._called: dict[tuple[int, str], str] = {}  # by task, and by the name that the runtime gives
        self._nameless: set[tuple[str, CodeType]] = set()  # where looking again would find no more
        self._before: Task | None = None
        self._now = 0.0
        kernel.observer = self
        kernel.merges = False

    def step(self, kernel: Kernel, chosen: Task) -> None:
        """Take note of a decision."""
        if self._steps:
            self._values.append(self._show(len(self._steps)))
        assert chosen.pending is not None, "who is chosen has announced what it will do"
        self._locations.meet_all(chosen.pending)
        self._call(chosen.pending.subject, chosen)
        ready = kernel.enabled()
        step = describe_step(chosen, chosen.where if isinstance(chosen, Drain) else place(chosen))
        self._steps.append(
            msgspec.structs.replace(
                step,
                switch=self._switch(chosen, ready),
                others=tuple(task.name for task in ready if task is not chosen),
                expired=not chosen.pending.enabled() and step.action != "sleep",
                time=self._passed(kernel.clock.now),
            )
        )
        self._before = chosen

    def meet(self, subject: Subject) -> None:
        """Take note of something that a step touches beside the subject of its operation."""
        self._locations.meet(subject)
        self._call(subject, self._kernel.current)

    def settle(self) -> None:
        """Read what the last step has left behind, and who waits; the first call counts."""
        if self._is_settled:
            return
        self._is_settled = True
        if self._steps:
            self._values.append(self._show(len(self._steps)))
        for task in self._kernel.living:
            operation = task.pending
            if operation is not None and not isinstance(task, Drain):
                self._locations.meet_all(operation)
                self._call(operation.subject, task)
                self._pending.append((task.index, describe_step(task, place(task)), operation.reads, operation.writes))

    def steps(self, order: Sequence[int]) -> tuple[Step, ...]:
        """Return the steps that were taken."""
        return self._with_accesses(order)[: len(order)]

    def pending(self, order: Sequence[int]) -> tuple[tuple[int, Step], ...]:
        """Return what living tasks, by index, would have done next at the end."""
        steps = self._with_accesses(order)[len(order) :]
        return tuple((index, step) for (index, *_), step in zip(self._pending, steps, strict=True))

    def _with_accesses(self, order: Sequence[int]) -> tuple[Step, ...]:
        steps = [*self._steps[: len(order)], *(step for _, step, _, _ in self._pending)]
        tasks = [*order, *(index for index, *_ in self._pending)]
        accesses: dict[int, dict[str, Access]] = defaultdict(dict)
        after = self._values[1 : len(order) + 1]
        for name, bits, column in self._locations.groups(self._contended(steps, len(order)), after, self._kernel.tasks):
            for index, writes in column:
                values = after[index] if index < len(order) else {}
                value = next(filter(None, map(values.get, bits)), None)
                known = accesses[index].get(name, Access(name))  # several bits may be parts of one thing
                called = self._called.get((tasks[index], root(name)))
                accesses[index][name] = Access(name, known.writes or writes, known.value or value, called)
        return tuple(
            msgspec.structs.replace(step, accesses=tuple(accesses[index].values())) for index, step in enumerate(steps)
        )

    def _contended(self, steps: Sequence[Step], taken: int) -> dict[int, Column]:
        """Give the locations that more than one task uses and at least one changes, with the steps that do."""
        kernel = self._kernel
        logs = list(zip(kernel.read_log[1:], kernel.write_log[1:], strict=True))[:taken]
        uses = [*logs, *[(0, 0)] * (taken - len(logs)), *((reads, writes) for _, _, reads, writes in self._pending)]
        columns: dict[int, list[tuple[int, bool]]] = defaultdict(list)
        for index, (reads, writes) in enumerate(uses):
            for bit in bits_of(reads | writes):
                columns[bit].append((index, bool(writes & bit)))
        return {
            bit: tuple(column)
            for bit, column in columns.items()
            if any(writes for _, writes in column) and len({steps[index].task for index, _ in column}) > 1
        }

    def _show(self, item: int) -> dict[int, str]:
        kernel = self._kernel
        is_over = item < len(kernel.read_log)
        touched = kernel.read_log[item] | kernel.write_log[item] if is_over else kernel.reads | kernel.writes
        values: dict[int, str] = {}
        with _looking_on(kernel):
            for bit in bits_of(touched):
                subject: object = self._locations.subject(bit)
                if (shown := getattr(subject, "shown", None)) is not None:  # what it holds now: "held by 'pump'"
                    values[bit] = shown()
        return values

    def _call(self, subject: Subject | None, user: Task) -> None:
        """Take note of what the code of a task calls an object that it uses."""
        used: object
        if isinstance(subject, Controlled):
            name, used = subject.name, subject
        elif isinstance(subject, Shown) and subject.container is not None:
            name, used = root(title(subject)), subject.container
        else:
            return
        frame = product_frame(user.frame())
        if frame is None or (user.index, name) in self._called or (name, frame.f_code) in self._nameless:
            return
        if (found := called(used, frame)) is not None:
            self._called[user.index, name] = found
        else:
            self._nameless.add((name, frame.f_code))

    def _passed(self, now: float) -> float | None:
        passed = now > self._now
        self._now = now
        return round(now, 9) if passed else None

    def _switch(self, chosen: Task, ready: Sequence[Task]) -> Switch | None:
        """Say why the task before does not go on, if it does not."""
        before = self._before
        if before is chosen or before is None:
            return None
        usual = default_choice(self._kernel, list(ready))
        over = None if usual is chosen else usual.name
        if before in ready:
            action = f" with {before.pending.action}" if before.pending else ""
            return Switch(Why.PREEMPTED, f"'{before.name}' could have gone on{action}", over)
        if isinstance(before, Agent):
            return Switch(
                Why.ENDED, f"'{before.name}' has happened" if before.name != "time" else "time has passed", over
            )
        if before.ended or before.pending is None or isinstance(before, Drain):
            end = "have all arrived" if isinstance(before, Drain) else "has ended"
            return Switch(Why.ENDED, f"'{before.name}' {end}", over)
        until = "" if before.deadline is None else f", until {before.deadline:g} s at most"
        return Switch(Why.BLOCKED, f"'{before.name}' waits for {before.pending.blocked_on()}{until}", over)


def describe_step(task: Task, where: str | None = None) -> Step:
    """Put the pending operation of a task into words."""
    assert task.pending is not None
    return Step(task.name, task.pending.action, task.pending.fields(), where)


@contextlib.contextmanager
def _looking_on(kernel: Kernel) -> Iterator[None]:
    """Let the code of shown values run outside of the run: no points, and nothing of it counts."""
    kept = kernel.current, kernel.reads, kernel.writes
    kernel.current = kernel.outside
    try:
        yield
    finally:
        kernel.current, kernel.reads, kernel.writes = kept
