"""What all machines do alike; those of a Ray are shown in `make soak`, as it takes long to start."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from omni_ipc.errors import EnvironmentMissing, Inconclusive, UsageError
from omni_ipc.machines import Ended, Event, Lost, Machines, Program, Retried, Said, Shards, find
from tests.machines.cluster import running
from tests.machines.saying import program
from tests.support.commands import ROOT
from tests.support.waiting import until

NO_RAY = importlib.util.find_spec("ray") is None
KINDS = [
    "local:2",
    pytest.param("ray", marks=[pytest.mark.soak, pytest.mark.skipif(NO_RAY, reason="Ray is not installed")]),
]


@pytest.fixture(scope="module", params=KINDS)
def name(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of machines with two places."""
    if request.param == "local:2":
        yield request.param
        return
    with running() as ray:
        yield ray.name


@pytest.fixture
def machines(name: str) -> Iterator[Machines]:
    """Machines with two places."""
    with contextlib.closing(find(name)) as machines:
        yield machines


def ran(
    machines: Machines, *programs: Program, retries: int = 0
) -> tuple[dict[int, list[bytes]], list[Event | Retried]]:
    """Run programs; give what each said, and what became of them."""
    said: dict[int, list[bytes]] = {shard: [] for shard in range(len(programs))}
    ends: list[Event | Retried] = []
    with Shards(machines, programs, retries=retries) as shards:
        for event in shards.events():
            if isinstance(event, Said):
                said[event.shard].append(event.line)
            elif event is not None:
                ends.append(event)
    return said, ends


def test_each_program_says_its_lines_and_ends(machines: Machines) -> None:
    """Lines arrive in order, whole, and none but its own; what else it prints is none; those without a place wait."""
    long = "x" * 300_000
    said, ends = ran(
        machines,
        program(("say", 1), ("print", "not for you"), ("say", 2), ("exit", 0)),
        program(("say", long), ("exit", 3)),
        program(("say", 5)),
    )
    assert said == {0: [b"1", b"2"], 1: [f'"{long}"'.encode()], 2: [b"5"]}
    assert sorted(ends) == [Ended(0, 0), Ended(1, 3), Ended(2, 0)]
    assert len(machines) == 2


def test_a_program_that_is_killed_is_run_anew(machines: Machines, tmp_path: Path) -> None:
    """As often as is allowed, and told each time; what it said before counts no more."""
    once = ("say", 1), ("die", str(tmp_path / "once")), ("say", 2)
    said, ends = ran(machines, program(*once), program(("say", 3)), retries=1)
    assert said == {0: [b"1", b"1", b"2"], 1: [b"3"]}
    assert [end for end in ends if end.shard == 0] == [
        Retried(0, "its process was ended by SIGKILL"),
        Ended(0, 0),
    ]


def test_a_program_that_is_killed_too_often_is_lost(machines: Machines, tmp_path: Path) -> None:
    """The others go on."""
    twice = ("die", str(tmp_path / "once")), ("die", str(tmp_path / "twice")), ("say", 1)
    said, ends = ran(machines, program(*twice), program(("say", 2)), retries=1)
    assert said == {0: [], 1: [b"2"]}
    assert [type(end) for end in ends if end.shard == 0] == [Retried, Lost]


def test_programs_are_asked_to_end_and_their_last_words_heard(machines: Machines) -> None:
    """Whoever stops them gets what they say then; and nothing runs any more."""
    with Shards(machines, [program(("pid", 0), ("wait", "last words"))] * 2) as shards:
        pids = _first_lines(shards, 2)
        words = [event.line for event in shards.stop() if isinstance(event, Said)]
    assert words == [b'"last words"'] * 2
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_a_program_whose_starter_is_gone_before_it_runs_ends_by_itself() -> None:
    """The kernel tells of no death that came before it was asked to; what the starter was to read is read by nobody."""
    reads, writes = os.pipe()
    os.close(reads)
    orphan = subprocess.Popen(
        [sys.executable, "-m", "tests.machines.saying"], stdin=subprocess.PIPE, stdout=writes, cwd=ROOT
    )
    os.close(writes)
    with orphan:
        try:
            assert orphan.wait(timeout=60) == 1
        finally:
            orphan.kill()


def test_programs_that_do_not_end_are_killed(machines: Machines) -> None:
    """Once the patience is over."""
    with Shards(machines, [program(("pid", 0), ("wait", 1), ("wait", 2))], patience_s=0.2) as shards:
        (pid,) = _first_lines(shards, 1)
    until(lambda: not Path(f"/proc/{pid}").exists())
    assert ran(machines, program(("say", 1)))[0] == {0: [b"1"]}


def _first_lines(shards: Shards, count: int) -> Sequence[int]:
    lines: list[int] = []
    for event in shards.events():
        if isinstance(event, Said):
            lines.append(int(event.line))
        if len(lines) == count:
            break
    return lines


@pytest.mark.soak
@pytest.mark.skipif(NO_RAY, reason="Ray is not installed")
def test_a_node_of_a_ray_that_loses_its_worker_loses_its_program() -> None:
    """It is told, the program is gone with it, and another attempt is whole."""
    with running() as ray, contextlib.closing(find(ray.name)) as machines:
        killed, pids = False, []
        with Shards(machines, [program(("pid", 0), ("wait", "last words"))] * 2, retries=1) as shards:
            retried: list[Retried] = []
            for event in shards.events():
                if isinstance(event, Said):
                    pids.append(int(event.line))
                if isinstance(event, Retried):
                    retried.append(event)
                if len(pids) == 2 and not killed:
                    os.kill(_starter(pids[0]), signal.SIGKILL)
                    killed = True
                if len(pids) == 3:
                    break
            words = [event.line for event in shards.stop() if isinstance(event, Said)]
    assert len(retried) == 1
    assert "ActorDiedError" in retried[0].how
    assert words == [b'"last words"'] * 2
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def _starter(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_no_machine_left_is_told() -> None:
    """Programs that have not run are counted."""

    class Nothing:
        heard: Sequence[Event] = ()

        def __len__(self) -> int:
            return 0

        def kill(self) -> None: ...

    with pytest.raises(Inconclusive, match=r"No machine is left: 2 of 2 shards have not run"):
        ran(Nothing(), program(), program())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "name", ["", "local", "local:", "local:0", "local:-1", "local:x", "rays", "ray:", "ray://", "x:1"]
)
def test_machines_of_another_name_are_refused(name: str) -> None:
    """What there is is told."""
    with pytest.raises(UsageError, match=r"There are no machines .* Give local:2 .* ray://HOST:PORT"):
        find(name)


def test_more_processes_than_the_machine_can_use_are_refused() -> None:
    """They would take its memory."""
    with pytest.raises(UsageError, match="more processes than this machine can make use of"):
        find("local:100000")


def test_without_ray_the_command_that_brings_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it is installed here or not."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(EnvironmentMissing, match=r"pip install 'omni-ipc\[ray\]'"):
        find("ray://127.0.0.1:1")
