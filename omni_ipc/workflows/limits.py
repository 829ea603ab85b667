"""What this machine, its container and this process may use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath


def memory_limit_bytes(root: Path = Path("/")) -> int | None:
    """Give the memory that this process's control groups allow to it; None if they set no limit.

    Args:
        root: where ``proc`` and ``sys`` are mounted.
    """
    limits = [limit for file in _limit_files(root) if (limit := _limit(file)) is not None]
    return min(limits, default=None)


def available_bytes(root: Path = Path("/")) -> int | None:
    """Give the memory that can be had without swapping; None where the kernel does not tell."""
    for line in _read(root / "proc/meminfo").splitlines():
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return int(value.split()[0]) * 1024
    return None


def spare_bytes(root: Path = Path("/")) -> int | None:
    """Give the memory that may still be taken: what can be had, or what a control group leaves, if that is less.

    Of what a group has taken, files that nobody has looked at for long do not count: they make room.
    """
    there = [available_bytes(root)]
    for file in _limit_files(root):
        if (limit := _limit(file)) is not None:
            taken = _read(file.with_name(_TAKEN[file.name])).strip()
            there.append(max(0, limit - int(taken or 0) + _idle(file.with_name("memory.stat"))))
    return min((each for each in there if each is not None), default=None)


def oom_kills(root: Path = Path("/")) -> dict[str, int]:
    """Count what the kernel has killed for want of memory: in this process's control groups, and on the machine.

    Returns:
        file -> count; those that concern this process most nearly come first, and none where the kernel does not tell.
    """
    files = [*(file.with_name(_EVENTS[file.name]) for file in _limit_files(root)), root / "proc/vmstat"]
    return {str(file): int(count) for file in files if (count := _counts(file).get("oom_kill")) is not None}


def _idle(stat: Path) -> int:
    counts = _counts(stat)
    return int(counts.get("total_inactive_file", counts.get("inactive_file", 0)))


def _counts(file: Path) -> dict[str, str]:
    return dict(line.split(" ", 1) for line in _read(file).splitlines() if " " in line)


def _limit_files(root: Path) -> Iterator[Path]:
    """Give the files that limit this process: its own groups and those above, in both hierarchies."""
    groups = root / "sys/fs/cgroup"
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        above = [PurePosixPath(path), *PurePosixPath(path).parents]
        if not controllers:
            yield from (groups / group.relative_to("/") / "memory.max" for group in above)
        elif "memory" in controllers.split(","):
            yield from (groups / "memory" / group.relative_to("/") / "memory.limit_in_bytes" for group in above)


def _limit(file: Path) -> int | None:
    text = _read(file).strip()
    limit = int(text) if text.isdecimal() else None
    return limit if limit is not None and limit < _NO_LIMIT else None


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""


_TAKEN = {"memory.max": "memory.current", "memory.limit_in_bytes": "memory.usage_in_bytes"}
_EVENTS = {"memory.max": "memory.events", "memory.limit_in_bytes": "memory.oom_control"}
_NO_LIMIT = 1 << 60
"""The first version of the hierarchy writes a number near 2**63 for "no limit"."""
