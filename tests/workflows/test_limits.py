"""Limits of control groups and memory, read from both versions of the hierarchy."""

from __future__ import annotations

from pathlib import Path

import pytest

from omni_ipc.workflows.limits import available_bytes, memory_limit_bytes, oom_kills, spare_bytes

GIB = 1 << 30


@pytest.mark.parametrize(
    ("groups", "files", "limit"),
    [
        ("0::/a/b", {"memory.max": "max", "a/memory.max": f"{2 * GIB}", "a/b/memory.max": f"{3 * GIB}"}, 2 * GIB),
        ("0::/", {"memory.max": "max"}, None),
        ("0::/a", {}, None),
        ("9:pids:/a\n4:cpu,memory:/a", {"memory/a/memory.limit_in_bytes": f"{GIB}"}, GIB),
        ("4:memory:/a\n0::/", {"memory/a/memory.limit_in_bytes": "9223372036854771712"}, None),
        ("", {}, None),
    ],
    ids=["the tightest above", "max", "no file", "version 1", "version 1 without limit", "no groups"],
)
def test_the_tightest_limit_counts(groups: str, files: dict[str, str], limit: int | None, tmp_path: Path) -> None:
    """A limit of any group above binds; "max", a huge number or nothing at all means none."""
    _write(tmp_path / "proc/self/cgroup", groups)
    for name, text in files.items():
        _write(tmp_path / "sys/fs/cgroup" / name, text + "\n")
    assert memory_limit_bytes(tmp_path) == limit


def test_available_memory_is_read_in_bytes(tmp_path: Path) -> None:
    """The kernel writes kB; where it writes nothing, nothing is known."""
    assert available_bytes(tmp_path) is None
    _write(tmp_path / "proc/meminfo", "MemTotal:       2048 kB\nMemAvailable:   1024 kB\n")
    assert available_bytes(tmp_path) == 1 << 20


@pytest.mark.parametrize(
    ("groups", "files", "spare"),
    [
        ("", {}, 8 * GIB),
        ("0::/a", {"a/memory.max": "max", "a/memory.current": f"{3 * GIB}"}, 8 * GIB),
        ("0::/a/b", {"a/memory.max": f"{4 * GIB}", "a/memory.current": f"{3 * GIB}"}, GIB),
        (
            "0::/a",
            {
                "a/memory.max": f"{4 * GIB}",
                "a/memory.current": f"{3 * GIB}",
                "a/memory.stat": f"anon 7\ninactive_file {GIB}",
            },
            2 * GIB,
        ),
        (
            "4:memory:/a",
            {
                "memory/a/memory.limit_in_bytes": f"{4 * GIB}",
                "memory/a/memory.usage_in_bytes": f"{4 * GIB}",
                "memory/a/memory.stat": f"inactive_file 7\ntotal_inactive_file {GIB // 2}",
            },
            GIB // 2,
        ),
    ],
    ids=["the machine", "no limit", "a group above", "files make room", "version 1, at its limit"],
)
def test_what_can_be_spared_is_what_machine_and_groups_leave(
    groups: str, files: dict[str, str], spare: int, tmp_path: Path
) -> None:
    """The least of them; files that nobody looks at give way to whoever needs the memory."""
    _write(tmp_path / "proc/self/cgroup", groups)
    _write(tmp_path / "proc/meminfo", f"MemAvailable: {8 * GIB >> 10} kB\n")
    for name, text in files.items():
        _write(tmp_path / "sys/fs/cgroup" / name, text + "\n")
    assert spare_bytes(tmp_path) == spare


@pytest.mark.parametrize(
    ("groups", "files", "counts"),
    [
        ("0::/a/b", {"a/b/memory.events": "low 0\noom 4\noom_kill 3", "a/memory.events": "oom_kill 5"}, [3, 5, 9]),
        ("4:memory:/a", {"memory/a/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2"}, [2, 9]),
        ("4:memory:/a", {"memory/a/memory.oom_control": "oom_kill_disable 0\nunder_oom 0"}, [9]),
        ("0::/", {}, [9]),
    ],
    ids=["version 2", "version 1", "an old one", "the root"],
)
def test_kills_for_want_of_memory_are_counted_the_nearest_first(
    groups: str, files: dict[str, str], counts: list[int], tmp_path: Path
) -> None:
    """Those of the own groups, and those of the machine; where the kernel counts none, there is none."""
    _write(tmp_path / "proc/self/cgroup", groups)
    for name, text in files.items():
        _write(tmp_path / "sys/fs/cgroup" / name, text + "\n")
    assert [*oom_kills(tmp_path).values()] == counts[:-1]
    _write(tmp_path / "proc/vmstat", "pgfault 17\noom_kill 9\n")
    assert [*oom_kills(tmp_path).values()] == counts


def test_where_nothing_is_told_nothing_is_known_to_spare(tmp_path: Path) -> None:
    """Neither of the machine nor of any group."""
    assert spare_bytes(tmp_path) is None


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
