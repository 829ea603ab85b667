"""The controlled runtime: the seam's contract over the kernel, in one OS thread and virtual time."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from omni_ipc.errors import UsageError
from omni_ipc.records import Field
from omni_ipc.seam import api
from omni_ipc.testbed.buffering import BufferingKernel
from omni_ipc.testbed.faults.hook import ask
from omni_ipc.testbed.faults.kernel import FaultingKernel
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.objects.buffered_words import BufferedWords
from omni_ipc.testbed.objects.condition import ControlledCondition
from omni_ipc.testbed.objects.event import ControlledEvent
from omni_ipc.testbed.objects.future import ControlledFuture
from omni_ipc.testbed.objects.lock import ControlledLock, PlainLock
from omni_ipc.testbed.objects.memory import Memories
from omni_ipc.testbed.objects.process import ControlledProcess
from omni_ipc.testbed.objects.queue import ControlledQueue
from omni_ipc.testbed.objects.region import ControlledRegion
from omni_ipc.testbed.objects.resource import Resource
from omni_ipc.testbed.objects.rlock import ControlledRLock
from omni_ipc.testbed.objects.semaphore import ControlledSemaphore
from omni_ipc.testbed.objects.task import ControlledTask
from omni_ipc.testbed.objects.watched import Watch
from omni_ipc.testbed.objects.words import ControlledWords
from omni_ipc.testbed.operations import Operation
from omni_ipc.testbed.sharing import Sharing
from omni_ipc.testbed.standard import clock
from omni_ipc.testbed.tasks import Group, Task

_NO_REGION: AbstractContextManager[Any, bool | None] = nullcontext()


class ControlledRuntime:
    """The world of one run; each operation on what it makes is a step.

    Args:
        transparent: names of regions that are no steps of their own, so that the regions inside them are.
        sharing: looks through what each new task can reach; None if the scenario declares all that its tasks share.
    """

    def __init__(self, kernel: Kernel, transparent: Collection[str] = (), sharing: Sharing | None = None) -> None:
        self._kernel = kernel
        self._transparent = frozenset(transparent)
        self._memories = Memories()
        self._watches: list[Watch] = []
        self._processes: dict[str, ControlledProcess] = {}
        self._regions: dict[str, ControlledRegion] = {}  # that are nothing but a name
        if sharing is not None:
            kernel.starting = lambda fn, *args: sharing.look(fn, args, [watch.target for watch in self._watches])

    def spawn(self, fn: Callable[..., object], *args: object, name: str) -> ControlledTask:
        """Start ``fn(*args)`` as a task, in a step of the parent; it runs up to its own first point.

        Raises:
            ValueError: a living task has that name.
        """
        return self._spawn(fn, args, name)

    @property
    def kernel(self) -> Kernel:
        """The kernel of the run, for objects that are made outside of this room."""
        return self._kernel

    def process(self, name: str) -> ControlledProcess:
        """Make a process of tasks, which a fault may kill all at once."""
        process = self._processes[name] = ControlledProcess(self._kernel, name, self._spawn)
        return process

    def this_process(self) -> ControlledProcess | None:
        """Return the process that the current task belongs to; None is the one of the scenario itself."""
        group = self._kernel.current.group
        return None if group is None else self._processes.get(group.name)

    def resource(self, name: str) -> Resource:
        """Make an oracle for what must be released exactly once."""
        return Resource(self._kernel, name)

    def fault(self, name: str) -> bool:
        """Tell whether a fault of that name happens here; a point only if `faults.Hook` makes it possible."""
        return isinstance(self._kernel, FaultingKernel) and ask(self._kernel, name)

    def _spawn(
        self, fn: Callable[..., object], args: tuple[object, ...], name: str, group: Group | None = None
    ) -> ControlledTask:
        kernel = self._kernel
        if kernel.starting is not None:
            kernel.starting(fn, *args)

        def launch() -> Task:
            for task in kernel.living:
                if task.name == name:
                    raise ValueError(f"A task named '{name}' is alive. Give each living task a name of its own.")
            return kernel.launch(name, fn, args, group)

        return ControlledTask(kernel, kernel.perform(Operation("task.spawn", None, launch, extra={"task": name})))

    def lock(self) -> ControlledLock:
        return PlainLock(self._kernel)

    def rlock(self) -> ControlledRLock:
        return ControlledRLock(self._kernel)

    def condition(self, lock: api.Lock | None = None) -> ControlledCondition:
        return ControlledCondition(self._kernel, None if lock is None else _controlled(lock))

    def event(self) -> ControlledEvent:
        return ControlledEvent(self._kernel)

    def semaphore(self, value: int = 1) -> ControlledSemaphore:
        return ControlledSemaphore(self._kernel, value)

    def queue(self, maxsize: int = 0) -> ControlledQueue:
        return ControlledQueue(self._kernel, maxsize)

    def future(self) -> ControlledFuture:
        return ControlledFuture(self._kernel)

    def words(self, buffer: memoryview) -> ControlledWords:
        if isinstance(self._kernel, BufferingKernel):
            return BufferedWords(self._kernel, self._memories, buffer)
        return ControlledWords(self._kernel, self._memories, buffer)

    def now(self) -> float:
        """Return virtual seconds since the run began; no point, because time passes only while all tasks wait."""
        return clock.read(self._kernel)

    def sleep(self, seconds: float) -> None:
        """Wait until all other tasks wait, too, and time has passed; in zero seconds others may go on, or not."""
        clock.sleep(self._kernel, seconds)

    def region(
        self, action: str, lock: api.Lock | api.Condition | None = None, /, **fields: Field
    ) -> AbstractContextManager[Any, bool | None]:
        if lock is None and not fields and (known := self._regions.get(action)) is not None:
            return known
        inner = None if lock is None else _controlled(lock)
        if action in self._transparent:
            return _NO_REGION if inner is None else inner
        region = ControlledRegion(self._kernel, action, inner, fields)
        if lock is None and not fields:
            self._regions[action] = region
        return region

    def watch(self, target: object, guard: api.Lock | api.Condition | None, name: str) -> None:
        """From now on, hold each use of the object's state against its guard; see `objects.watched`.

        Args:
            guard: None makes each use of a field outside of a region a step.
            name: of the object, in messages.

        Raises:
            UsageError: the object's class is not written in Python.
        """
        self._watches.append(Watch(self._kernel, target, None if guard is None else _controlled(guard), name))

    def pending(self, task: str) -> tuple[str, dict[str, Field]] | None:
        """Return what a living task, by name, will do next: (action, fields); a program counter for projections."""
        for living in self._kernel.living:
            if living.name == task and living.pending is not None:
                return living.pending.action, living.pending.fields()
        return None

    def close(self) -> None:
        """Stop watching."""
        for watch in self._watches:
            watch.end()


def _controlled(lock: object) -> ControlledLock:
    """Return the lock under control behind a lock or a condition."""
    if isinstance(lock, ControlledCondition):
        return lock.lock
    if isinstance(lock, ControlledLock):
        return lock
    raise UsageError(
        f"A {type(lock).__name__} that this runtime did not make is not under its control. "
        "Take locks and conditions from the runtime: rt.lock(), rt.condition()."
    )


if TYPE_CHECKING:

    def _keeps_the_contract(rt: ControlledRuntime) -> api.Runtime:
        return rt
