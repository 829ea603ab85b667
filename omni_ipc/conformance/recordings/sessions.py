"""Recordings of real processes, put together to sessions.

A session is an engine with its workers: the runtimes of all processes that share memory, directly or through others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from omni_ipc.conformance.recordings.logs import Log, read_logs
from omni_ipc.errors import Inconclusive
from omni_ipc.recordings import Begun, Change, Ended, Memory, Watched
from omni_ipc.records import Field


class Step(msgspec.Struct, frozen=True):
    """One region that a task went through.

    Args:
        process: its id.
        end_ns: None if the process was killed inside.
        inside_of: the regions around it, the outermost first.
        looked: names of the objects whose state was looked at when it ended.
        changes: how it has changed: (object, field) -> change.
        inner: the regions right inside of it, each with its own.
    """

    process: int
    task: str
    thread: int
    action: str
    fields: dict[str, Field]
    begin_ns: int
    end_ns: int | None
    error: str | None
    inside_of: tuple[str, ...]
    looked: tuple[str, ...]
    changes: dict[tuple[str, str], Change]
    inner: tuple[Step, ...] = ()

    def __str__(self) -> str:
        fields = ", ".join(f"{name}={value}" for name, value in self.fields.items())
        return f"{self.task} of process {self.process}: {self.action}({fields})"


class Session(msgspec.Struct, frozen=True):
    """An engine and its workers.

    Args:
        steps: of all tasks, in the order of their beginnings.
        killed: the processes that did not come to their end.
        doubles: names of objects of which there are several, so that their steps cannot be told apart.
        files: that it was read from.
        values: plain ones of objects, as they were first: (object, field) -> value.
        fields: object that was watched -> its fields of which anything was told; of one that was always empty, older
            recordings tell nothing.
        unshared: inodes of memory of which one process alone tells: whoever shared it, its recording is not here.
    """

    processes: tuple[int, ...]
    steps: tuple[Step, ...]
    killed: tuple[int, ...]
    doubles: tuple[str, ...]
    files: tuple[Path, ...] = ()
    values: dict[tuple[str, str], Field] = {}
    fields: dict[str, frozenset[str]] = {}
    unshared: tuple[int, ...] = ()

    def known_until_ns(self, process: int) -> int:
        """Tell until when what a process did was recorded; 0: it took no step."""
        return max((step.end_ns or step.begin_ns for step in self.steps if step.process == process), default=0)

    def __str__(self) -> str:
        return f"the session of {'process' if len(self.processes) == 1 else 'processes'} " + ", ".join(
            map(str, self.processes)
        )


def load(paths: Sequence[Path]) -> list[Session]:
    """Read recordings: files, or folders of them; what is given twice is read once.

    Raises:
        UsageError: there is none; or a file is no recording, or of another version.
        Inconclusive: a file is empty, damaged, or has a gap; tells the line.
    """
    return list(_sessions(read_logs(paths)))


def _sessions(logs: Sequence[Log]) -> Iterator[Session]:
    """Put together the runtimes that share memory, or look at each other's objects."""
    by_inode: dict[int, list[tuple[int, int]]] = defaultdict(list)
    looking: list[list[tuple[int, int]]] = []
    runtimes: dict[tuple[int, int], list[Step]] = {}
    objects: dict[tuple[int, int], list[Watched]] = defaultdict(list)
    for place, log in enumerate(logs):
        for line in log.lines:
            match line:
                case Memory(runtime=runtime, inode=inode):
                    by_inode[inode].append((place, runtime))
                case Watched(runtime=runtime):
                    objects[place, runtime].append(line)
        for runtime, step in reversed([*_steps(log)]):
            runtimes.setdefault((place, runtime), []).append(step)
        looking += [[(place, runtime) for runtime in pair] for pair in _looking(log)]
    for member in objects.keys() - runtimes.keys():  # who died before its first step
        if not _is_forked(member, logs, objects):
            runtimes[member] = []
    for member in (member for pair in looking for member in pair):
        runtimes.setdefault(member, [])
    unshared = dict(_unshared(by_inode, logs, objects))
    for members in _components(runtimes, [*by_inode.values(), *looking]):
        steps = sorted((step for member in members for step in runtimes[member]), key=lambda step: step.begin_ns)
        if not steps:
            continue
        watched = [line for member in members for line in objects[member]]
        names = [line.name for line in watched]
        whose = sorted({place for place, _ in members})
        yield Session(
            processes=tuple(logs[place].process.pid for place in whose),
            steps=tuple(steps),
            killed=tuple(logs[place].process.pid for place in whose if not logs[place].closed),
            doubles=tuple(sorted({name for name in names if names.count(name) > 1})),
            files=tuple(logs[place].path for place in whose),
            values={(o.name, c.field): c.value for o in watched for c in o.changes if c.value is not None},
            fields=_told_fields(watched, steps),
            unshared=tuple(inode for inode, member in unshared.items() if member in members),
        )


def _looking(log: Log) -> set[tuple[int, int]]:
    """Give the runtime of each region with that of an object that it looked at."""
    watching = {line.object: line.runtime for line in log.lines if isinstance(line, Watched)}
    begun = {line.step: line.runtime for line in log.lines if isinstance(line, Begun)}
    endings = (line for line in log.lines if isinstance(line, Ended) and line.step in begun)
    return {(begun[line.step], watching[each]) for line in endings for each in line.looked}


def _told_fields(watched: Sequence[Watched], steps: Sequence[Step]) -> dict[str, frozenset[str]]:
    told: dict[str, set[str]] = {each.name: set() for each in watched}
    for each in watched:
        told[each.name].update(change.field for change in each.changes)
    for name, field in (named for step in steps for named in step.changes):
        told[name].add(field)
    return {name: frozenset(fields) for name, fields in told.items()}


def _unshared(
    by_inode: Mapping[int, Sequence[tuple[int, int]]],
    logs: Sequence[Log],
    objects: Mapping[tuple[int, int], Sequence[Watched]],
) -> Iterator[tuple[int, tuple[int, int]]]:
    """Give the memory of which one process alone tells, and its runtime; what a fork has copied tells nothing."""
    for inode, members in by_inode.items():
        telling = [member for member in members if not _is_forked(member, logs, objects)]
        if len({place for place, _ in telling}) == 1:
            yield inode, telling[0]


def _is_forked(
    member: tuple[int, int], logs: Sequence[Log], objects: Mapping[tuple[int, int], Sequence[Watched]]
) -> bool:
    """Tell whether a runtime is a copy of its parent process's, and so are its objects."""
    place, runtime = member
    names = [line.name for line in objects[member]]
    parents = (other for other, log in enumerate(logs) if log.process.pid == logs[place].process.parent)
    return any(names == [line.name for line in objects.get((parent, runtime), ())] for parent in parents)


def _components(
    runtimes: Iterable[tuple[int, int]], shared: Iterable[Sequence[tuple[int, int]]]
) -> Iterator[list[tuple[int, int]]]:
    above = {runtime: runtime for runtime in runtimes}

    def root(member: tuple[int, int]) -> tuple[int, int]:
        while above[member] != member:
            member = above[member]
        return member

    for members in shared:
        known = [member for member in members if member in above]
        for member in known[1:]:
            above[root(member)] = root(known[0])
    groups: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for runtime in above:
        groups[root(runtime)].append(runtime)
    return iter(groups.values())


def _steps(log: Log) -> Iterator[tuple[int, Step]]:
    """Pair beginnings with endings, thread by thread, the last first; each with its runtime."""
    names = {line.object: line.name for line in log.lines if isinstance(line, Watched)}
    endings = {line.step: line for line in log.lines if isinstance(line, Ended)}
    _require_known(names.keys(), endings.values(), log.path)
    inner: dict[int, list[Step]] = defaultdict(list)
    for line, around in reversed([*_nested(log, endings)]):
        ending = endings.get(line.step)
        step = Step(
            process=log.process.pid,
            task=line.task,
            thread=line.thread,
            action=line.action,
            fields=line.fields,
            begin_ns=line.time_ns,
            end_ns=ending.time_ns if ending else None,
            error=ending.error if ending else None,
            inside_of=tuple(outer.action for outer in around),
            looked=tuple(names[each] for each in ending.looked) if ending else (),
            changes={(names[c.object], c.field): c for c in ending.changes} if ending else {},
            inner=tuple(reversed(inner.pop(line.step, []))),
        )
        if around:
            inner[around[-1].step].append(step)
        yield line.runtime, step


def _require_known(objects: Collection[int], endings: Iterable[Ended], path: Path) -> None:
    """See that of each object that was looked at it was told which that is."""
    for ending in endings:
        if unknown := {*ending.looked, *(change.object for change in ending.changes)} - {*objects}:
            raise Inconclusive(
                f"The recording '{path}' is damaged: step {ending.step} looked at object {min(unknown)}, of which "
                "nothing is told. Restore it, or record anew."
            )


def _nested(log: Log, endings: Mapping[int, Ended]) -> Iterator[tuple[Begun, tuple[Begun, ...]]]:
    """Give each beginning with those around it, the outermost first."""
    inside: dict[int, list[Begun]] = defaultdict(list)  # by thread
    for line in log.lines:
        if not isinstance(line, Begun):
            continue
        around = inside[line.thread]
        while around and not _holds(around[-1], line, endings):
            around.pop()
        yield line, tuple(around)
        around.append(line)


def _holds(outer: Begun, inner: Begun, endings: Mapping[int, Ended]) -> bool:
    ending = endings.get(outer.step)
    return ending is None or ending.number > inner.number
