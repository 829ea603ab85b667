"""One exploration by several processes, so that each core has one.

    parent ── what to explore, as JSON ──► job 1: searches      ──┐
           ── the same ──────────────────► job 2, ...: sample   ──┴─► progress, and at the end a report, a line each

Of the portfolio the first job searches systematically, and the others sample; what samples is shared out by the numbers
of its runs, and the reduction by those of its subtrees, so that all jobs together run the same schedules as one would.
For that all must see the same steps: where one has found points that another has not, all begin anew with them. The
first failure ends all. A job inherits nothing but its arguments: it imports the scenario by name.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import selectors
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import IO

import msgspec

from omni_ipc.errors import Inconclusive, UsageError
from omni_ipc.interrupts import postponed
from omni_ipc.records import Report, Verdict
from omni_ipc.testbed.merging import News, merged, missed
from omni_ipc.testbed.options import Options
from omni_ipc.testbed.strategies import can_be_shared
from omni_ipc.testbed.tally import Progress

_LEAST_S = 0.01  # to spend, so that a job tells that it is spent
_PATIENCE_S = 10.0  # a run ends before a job saves
INSIDE = "OMNI_IPC_JOB"  # set in the environment of a job, which starts no others


class Order(msgspec.Struct, frozen=True):
    """What a job is told.

    Args:
        scenario: name of the function, and of what makes it, if there are arguments.
        path: where modules are found.
        resume: folder to go on from.
        points: accesses that are known to be points.
    """

    scenario: str
    arguments: tuple[str | None, ...]
    path: tuple[str, ...]
    options: Options
    resume: str | None
    points: tuple[str, ...] = ()


def explore_in_jobs(
    scenario: Sequence[str | None],
    options: Options,
    *,
    resume: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Explore with several processes.

    Args:
        scenario: name of the function; or name of a function that returns it first, and its arguments.

    Raises:
        UsageError: this is itself a job, or a job cannot be given the scenario.
        Inconclusive: a job has died.
    """
    if INSIDE in os.environ:
        raise UsageError(
            "A job of an exploration explores with jobs of its own: it imports the file of the scenario, which calls "
            'explore(). Put that call under: if __name__ == "__main__":'
        )
    jobs = options.jobs if can_be_shared(options.strategy) else 1
    orders = [
        Order(
            scenario=scenario[0] or "",
            arguments=tuple(scenario[1:]),
            path=tuple(sys.path),
            options=msgspec.structs.replace(options, job=job, jobs=jobs, runs=_part(options.runs, job, jobs)),
            resume=None if resume is None else str(resume.resolve()),
        )
        for job in range(jobs)
    ]
    began = perf_counter()
    while True:
        with _Crew(orders, progress) as crew:
            crew.work()
            said = _said(crew.jobs)
        report, points = merged(said, options.strategy), missed(said)
        if not points or report.verdict is not Verdict.HOLDS:
            return report
        orders = [_anew(order, points, perf_counter() - began) for order in orders]


def _anew(order: Order, points: tuple[str, ...], spent_s: float) -> Order:
    seconds = order.options.seconds
    left_s = None if seconds is None else max(seconds - spent_s, _LEAST_S)
    return msgspec.structs.replace(order, points=points, options=msgspec.structs.replace(order.options, seconds=left_s))


def _part(runs: int | None, job: int, jobs: int) -> int | None:
    return None if runs is None else max(runs // jobs + (job < runs % jobs), 1)


@dataclasses.dataclass(slots=True)
class _Job:
    number: int
    process: subprocess.Popen[bytes]
    out: IO[bytes]
    last: News = dataclasses.field(default_factory=News)
    rest: bytes = b""


class _Crew:
    """The processes of one exploration; none outlives it."""

    def __init__(self, orders: Sequence[Order], progress: Callable[[Progress], None] | None) -> None:
        self.jobs: list[_Job] = []
        self._orders = orders
        self._progress = progress
        self._selector = selectors.DefaultSelector()
        self._seconds = 0.0

    def __enter__(self) -> _Crew:
        try:
            for number, order in enumerate(self._orders):
                with postponed():
                    self._start(number, order)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _start(self, number: int, order: Order) -> None:
        process = subprocess.Popen(
            [sys.executable, "-m", "omni_ipc.testbed.job"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, INSIDE: str(number), "PYTHONPATH": os.pathsep.join(sys.path)},
            process_group=0,  # the terminal's Ctrl-C is for the parent alone, whatever a job is doing then
        )
        assert process.stdin is not None
        assert process.stdout is not None
        self.jobs.append(_Job(number, process, process.stdout))
        with contextlib.suppress(BrokenPipeError), process.stdin:  # a job that is gone is told by how it ended
            process.stdin.write(msgspec.json.encode(order))
        os.set_blocking(process.stdout.fileno(), False)
        self._selector.register(process.stdout, selectors.EVENT_READ, self.jobs[-1])

    def _end(self) -> None:
        """Ask the jobs to end, and wait while they save where they are; a second Ctrl-C kills them."""
        self._selector.close()
        try:
            for job in self.jobs:
                job.process.terminate()
            until = perf_counter() + _PATIENCE_S
            for job in self.jobs:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    job.process.wait(max(until - perf_counter(), 0.0))
        finally:
            for job in self.jobs:
                job.process.kill()
                job.process.wait()
                job.out.close()

    def work(self) -> None:
        """Hear what the jobs say until all have ended, or one has an answer for all."""
        began = perf_counter()
        while self._selector.get_map():
            for key, _ in self._selector.select():
                if not self._hear(key.data):
                    self._selector.unregister(key.fileobj)
            if any(_is_final(job) for job in self.jobs):
                return
            if self._progress is not None:
                self._progress(self._told(perf_counter() - began))

    def _hear(self, job: _Job) -> bool:
        """Take in what a job has said; False once it says no more."""
        data = job.out.read()
        if data is None:
            return True
        if not data:
            job.process.wait()
            return False
        *lines, job.rest = (job.rest + data).split(b"\n")
        for line in lines:
            job.last = msgspec.json.decode(line, type=News)
        return True

    def _told(self, seconds: float) -> Progress:
        return Progress(
            schedules=sum(job.last.schedules for job in self.jobs),
            steps=sum(job.last.steps for job in self.jobs),
            seconds=seconds,
            left=self.jobs[0].last.left,
            doing=f"{len(self.jobs)} jobs",
        )


def _is_final(job: _Job) -> bool:
    """Tell whether what a job has found is the answer of all."""
    return job.last.usage is not None or (job.process.poll() or 0) != 0 or job.last.decides


def _said(jobs: Sequence[_Job]) -> list[News]:
    """Return what the jobs have said last.

    Raises:
        UsageError: a job was called wrong.
        Inconclusive: a job has died.
    """
    for job in jobs:
        if job.last.usage is not None:
            raise UsageError(job.last.usage)
        if job.last.report is None and job.process.poll() is not None:
            raise Inconclusive(
                f"Job {job.number + 1} of {len(jobs)} has ended with status {job.process.returncode} before it was "
                "done; what it said stands above. Explore in one process: --jobs 1."
            )
    return [job.last for job in jobs]
