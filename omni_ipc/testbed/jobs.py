"""One exploration by several processes, so that each core has one.

    parent ── what to explore, as JSON ──► job 1: searches      ──┐
           ── the same ──────────────────► job 2, ...: sample   ──┴─► progress, and at the end a report, a line each

Of the portfolio the first job searches systematically, and the others sample; what samples is shared out by the numbers
of its runs, and what searches by those of its subtrees, so that all jobs together run the same schedules as one would.
For that all must see the same steps: where one has found points that another has not, all begin anew with them. The
first failure ends all. A job inherits nothing but its arguments: it imports the scenario by name. So it may as well run
on another machine.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

import msgspec

from omni_ipc.errors import Inconclusive, UsageError
from omni_ipc.machines import Ended, Event, LocalMachines, Lost, Machines, Program, Retried, Said, Shards
from omni_ipc.records import Report, Verdict
from omni_ipc.testbed.merging import News, merged, missed
from omni_ipc.testbed.options import Options
from omni_ipc.testbed.tally import Progress

_LEAST_S = 0.01  # to spend, so that a job tells that it is spent
_RETRIES = 2
_JOB = "omni_ipc.testbed.job"
INSIDE = "OMNI_IPC_JOB"  # set in the environment of a job, which starts no others


class Order(msgspec.Struct, frozen=True):
    """What a job is told.

    Args:
        scenario: name of the function, and of what makes it, if there are arguments.
        path: where modules are found; empty for what is installed there.
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
    on: Machines | None = None,
    resume: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Explore with several processes.

    Args:
        scenario: name of the function; or name of a function that returns it first, and its arguments.
        on: machines, one of which may be lost: what its job was to do is done anew. By default this one.

    Raises:
        UsageError: this is itself a job, or a job cannot be given the scenario.
        Inconclusive: a job has died.
    """
    if INSIDE in os.environ:
        raise UsageError(
            "A job of an exploration explores with jobs of its own: it imports the file of the scenario, which calls "
            'explore(). Put that call under: if __name__ == "__main__":'
        )
    jobs = options.jobs
    machines = LocalMachines(jobs) if on is None else on
    orders = [
        Order(
            scenario=scenario[0] or "",
            arguments=tuple(scenario[1:]),
            path=machines.path,
            options=msgspec.structs.replace(options, job=job, jobs=jobs, runs=_part(options.runs, job, jobs)),
            resume=None if resume is None else str(resume.resolve()),
        )
        for job in range(jobs)
    ]
    with contextlib.closing(machines) if on is None else contextlib.nullcontext():
        return _explore(machines, 0 if on is None else _RETRIES, orders, progress)


def _explore(
    machines: Machines, retries: int, orders: Sequence[Order], progress: Callable[[Progress], None] | None
) -> Report:
    """Have the jobs explore until all know the same points."""
    began = perf_counter()
    while True:
        said = _Crew(machines, retries, orders, progress).work()
        report, points = merged(said, orders[0].options.strategy), missed(said)
        if not points or report.verdict not in (Verdict.HOLDS, Verdict.BOUNDED):
            return report
        orders = [_anew(order, points, perf_counter() - began) for order in orders]


def _anew(order: Order, points: tuple[str, ...], spent_s: float) -> Order:
    seconds = order.options.seconds
    left_s = None if seconds is None else max(seconds - spent_s, _LEAST_S)
    return msgspec.structs.replace(order, points=points, options=msgspec.structs.replace(order.options, seconds=left_s))


def _part(runs: int | None, job: int, jobs: int) -> int | None:
    return None if runs is None else max(runs // jobs + (job < runs % jobs), 1)


class _Crew:
    """The jobs of one exploration, and what each has said last.

    Args:
        retries: how often a job that was lost with its machine is done anew.
    """

    def __init__(
        self, machines: Machines, retries: int, orders: Sequence[Order], progress: Callable[[Progress], None] | None
    ) -> None:
        self._machines = machines
        self._retries = retries
        self._programs = [Program(_JOB, msgspec.json.encode(order)) for order in orders]
        self._progress = progress
        self._last = [News() for _ in orders]
        self._status: dict[int, int] = {}  # of jobs that have ended

    def work(self) -> list[News]:
        """Hear what the jobs say until all have ended, or one has an answer for all; then none of them runs.

        Returns:
            what each has said last.

        Raises:
            UsageError: a job was called wrong.
            Inconclusive: a job has died, or was lost too often.
        """
        began = perf_counter()
        with Shards(self._machines, self._programs, retries=self._retries) as shards:
            for event in shards.events():
                if event is not None and self._decides(event):
                    break
                if self._progress is not None:
                    self._progress(self._told(perf_counter() - began))
        self._require_whole()
        return self._last

    def _decides(self, event: Event | Retried) -> bool:
        """Take in what a job has said, or what became of it; tell whether that is the answer of all.

        Raises:
            Inconclusive: it was lost too often.
        """
        match event:
            case Said(shard=job, line=line):
                self._last[job] = msgspec.json.decode(line, type=News)
                return self._last[job].usage is not None or self._last[job].decides
            case Retried(shard=job):
                self._last[job] = News()
            case Ended(shard=job, status=status):
                self._status[job] = status
                return self._last[job].report is None
            case Lost(shard=job, how=how):
                raise Inconclusive(
                    f"Job {job + 1} of {len(self._last)} was lost, at the last of {self._retries + 1} attempts: {how}. "
                    "See to that machine, and explore again."
                )
        return False

    def _told(self, seconds: float) -> Progress:
        return Progress(
            schedules=sum(news.schedules for news in self._last),
            steps=sum(news.steps for news in self._last),
            seconds=seconds,
            left=self._last[0].left,
            doing=f"{len(self._last)} jobs",
        )

    def _require_whole(self) -> None:
        for news in self._last:
            if news.usage is not None:
                raise UsageError(news.usage)
        silent = [job for job, news in enumerate(self._last) if news.report is None]
        if silent and not any(news.decides for news in self._last):
            job = min(silent, key=lambda job: job not in self._status)  # the others were stopped because of it
            raise Inconclusive(
                f"Job {job + 1} of {len(self._last)} has ended with status {self._status[job]} before it was done; "
                "what it said stands above. Explore in one process: --jobs 1."
            )
