"""Virtual time: it stands still while any task can go on, and jumps to the next deadline when none can.

Quiescence. A poll with a timeout in a loop would let time pass for ever, and hide that somebody else waits in vain. So
the clock counts *quiet rounds*: from one jump to the next, no step wrote anything but locks and waiting lists, and no
task began or ended. In a long quiet spell the pollers' timers fire a little late, at most a tenth of the spell, so that
far deadlines and loops that read the clock get their chance in few rounds (a deadline that has not fired in the spell
is never passed over). After `QUIET_ROUNDS` of them, with every deadline fired at least once, the state of the tasks is
looked at: when it comes back, nothing can change any more, whoever waits without a deadline is stuck, and the pollers
are no progress. A task that counts its time-outs in private has a new state in each round, and gets its rounds.
"""

from __future__ import annotations

from collections.abc import Callable

from omni_ipc.testbed.operations import always
from omni_ipc.testbed.tasks import Task

QUIET_ROUNDS = 150
_STRETCH = 1.1  # how late, in relation to the spell, timers may fire in a quiet spell
_RESOLUTION_S = 1e-9  # deadlines are sums of floats: what differs by less is due at one moment
_UNSTRETCHED = 10  # rounds of a spell in which timers are on time


class Spin:
    """How a task reads the clock over and over.

    Attributes:
        seen: the time that it read last.
        reads: how often it read that.
        began: when it read it for the first time without having waited for anything else since.
    """

    __slots__ = ("began", "reads", "seen")

    def __init__(self, now: float) -> None:
        self.seen = self.began = now
        self.reads = 0


class Clock:
    """The time of one run.

    Attributes:
        now: virtual seconds since the run began.
        is_quiet: whether it found that only timers would fire for ever.
        quiet_rounds: jumps since the last step that told anybody anything.
        quiet_since: number of steps that had been taken when the quiet spell began.
        reads, read_depth: how often the clock was read in which step, by whoever reads it.
        spins: by index of the task, how it reads the clock over and over.
        yields: by index of the task, when it slept for no time last, and how often at that time.
    """

    __slots__ = (
        "_began",
        "_fired",
        "_seen",
        "is_quiet",
        "now",
        "quiet_rounds",
        "quiet_since",
        "read_depth",
        "reads",
        "spins",
        "yields",
    )

    def __init__(self) -> None:
        self.now = 0.0
        self.is_quiet = False
        self.quiet_rounds = 0
        self.quiet_since = 0
        self.reads = self.read_depth = 0
        self.spins: dict[int, Spin] = {}
        self.yields: dict[int, tuple[float, int]] = {}
        self._began = 0.0
        self._seen = 0
        self._fired: set[int] = set()

    def advance(self, living: list[Task], write_log: list[int], plumbing: int, comes_back: Callable[[], bool]) -> bool:
        """Jump to the next deadline, and let the tasks go on whose deadline has come.

        Args:
            write_log: what each step so far wrote.
            plumbing: bits that do not count as news.
            comes_back: asked once a round in a long quiet spell, whether all is as it was in an earlier round.

        Returns:
            False if nobody has a deadline, or if all is quiet for good.
        """
        waiting = [task for task in living if task.deadline is not None and task.ready is not always]
        self._listen(write_log, plumbing)
        unfired = [task.deadline for task in waiting if task.index not in self._fired and task.deadline is not None]
        if not waiting:
            return False
        if self.quiet_rounds > QUIET_ROUNDS and not unfired and comes_back():
            self.is_quiet = True
            return False
        self.now = max(self.now, self._next(waiting, unfired))
        self._fired.update(self._release(waiting))
        return True

    def is_awaited(self, living: list[Task]) -> bool:
        """Tell whether anybody waits for a deadline that has not come."""
        return any(task.deadline is not None and task.ready is not always for task in living)

    def fire(self, living: list[Task]) -> None:
        """Jump to the next deadline though somebody could go on."""
        waiting = [task for task in living if task.deadline is not None and task.ready is not always]
        self.now = max(self.now, min(task.deadline for task in waiting if task.deadline is not None))
        self._release(waiting)

    def _release(self, waiting: list[Task]) -> list[int]:
        """Let those go on whose deadline has come, and return their indices."""
        now = self.now + _RESOLUTION_S
        due = [task for task in waiting if task.deadline is not None and task.deadline <= now]
        for task in due:
            task.ready = always
        return [task.index for task in due]

    def _listen(self, write_log: list[int], plumbing: int) -> None:
        written = 0
        for bits in write_log[self._seen :]:
            written |= bits
        self._seen = len(write_log)
        if written & ~plumbing:
            self.quiet_rounds = 0
            self.quiet_since = self._seen - 1
            self._began = self.now
            self._fired.clear()
        self.quiet_rounds += 1

    def _next(self, waiting: list[Task], unfired: list[float]) -> float:
        deadline = min(task.deadline for task in waiting if task.deadline is not None)
        if self.quiet_rounds > _UNSTRETCHED:
            deadline = max(deadline, self._began + (self.now - self._began) * _STRETCH)
        return min(deadline, *unfired) if unfired else deadline
