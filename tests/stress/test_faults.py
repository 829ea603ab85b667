"""Faults of real processes: what each does, that it ends, and who puts them in one after the other."""

from __future__ import annotations

import itertools
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from omni_ipc.errors import UnknownName
from omni_ipc.stress.faults import FAULTS, Target, descriptors, kill, memory, stop
from omni_ipc.stress.hog import HOG, LEAST_BYTES, MACHINE
from omni_ipc.stress.ledger import Latest
from omni_ipc.stress.saboteur import ENGINE, Blow, Saboteur

OBEDIENT = """
import sys
for line in sys.stdin:
    try:
        exec(line)
    except (MemoryError, OSError) as error:
        print(type(error).__name__, flush=True)
    else:
        print("done", flush=True)
"""
ALLOCATE = "held = bytearray(1 << 28)"
OPEN = "open('/dev/null').close()"


class Child:
    """A process that does what it is asked to, and says how that went."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", OBEDIENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.ask("pass") == "done"

    def ask(self, line: str) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(line, file=self.process.stdin, flush=True)
        return self.process.stdout.readline().strip()

    @property
    def state(self) -> str:
        """Of the process, as a letter of the kernel's: "T" is stopped."""
        return Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[0]

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def child() -> Iterator[Child]:
    child = Child()
    yield child
    child.end()


def saboteur(latest: object = lambda: Latest(0.0, 0.0), **settings: object) -> Saboteur:
    given = {"seed": 0, "kinds": (), "every_s": 0.01, "processes": dict, "since_s": time.monotonic(), **settings}
    return Saboteur(latest=latest, spare_bytes=lambda: LEAST_BYTES, **given)  # type: ignore[arg-type]


def test_a_process_without_memory_gets_none_and_gets_it_again(child: Child) -> None:
    """It is told, and goes on."""
    with Target(child.process.pid) as target:
        with memory(target):
            assert child.ask(ALLOCATE) == "MemoryError"
        assert child.ask(ALLOCATE) == "done"


def test_a_process_without_descriptors_opens_nothing_and_then_does_again(child: Child) -> None:
    """What it has stays usable: it still answers."""
    with Target(child.process.pid) as target:
        with descriptors(target):
            assert child.ask(OPEN) == "OSError"
        assert child.ask(OPEN) == "done"


def test_a_process_that_was_stopped_goes_on(child: Child) -> None:
    """Also if whoever stopped it fails in between."""

    def be_interrupted() -> None:
        with Target(child.process.pid) as target, stop(target):
            while child.state != "T":
                time.sleep(0.001)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        be_interrupted()
    assert child.ask("pass") == "done"


def test_a_process_that_was_killed_is_dead(child: Child) -> None:
    """And whatever else is to be done to it finds that out."""
    with Target(child.process.pid) as target:
        with kill(target):
            child.process.wait()
        assert child.process.returncode == -9
        for fault in FAULTS.values():
            with pytest.raises((ProcessLookupError, FileNotFoundError)), fault(target):
                pass


def test_a_fault_is_met_once_a_later_request_has_its_result(child: Child) -> None:
    """Those that were submitted before it prove nothing; what was told since is told once each."""
    times = itertools.count()
    begun = time.monotonic()

    def latest() -> Latest:
        if (looked := next(times)) < 3:
            return Latest(begun - 1, begun + 1)
        assert looked == 3
        return Latest(time.monotonic(), begun + 5)

    harming = saboteur(latest, since_s=begun - 10)
    harming.told("before")
    survived = harming.strike(Blow("stop", "worker 0", 0.01), child.process.pid)
    assert survived is not None
    assert (survived.fault, survived.target, survived.told) == ("stop", "worker 0", ())
    assert survived.recovered_s == pytest.approx(begun + 5 - (begun - 10) - survived.at_s)


def test_a_result_that_comes_while_a_fault_is_held_is_the_next_one(child: Child) -> None:
    """Nobody looks for later ones, and the fault is held to its end; where it disturbs nobody, it is met at once."""

    def limit() -> int:
        return resource.prlimit(child.process.pid, resource.RLIMIT_NOFILE)[0]

    before, looks = limit(), []
    begun = time.monotonic()

    def latest() -> Latest:
        looks.append(limit() < before)
        return Latest(time.monotonic(), begun + 5 * len(looks))

    survived = saboteur(latest, since_s=begun).strike(Blow("descriptors", "worker 0", 0.1), child.process.pid)
    assert survived is not None
    assert (looks, limit()) == ([True], before)
    assert survived.recovered_s == pytest.approx(5 - survived.at_s)


def test_a_fault_without_a_result_after_it_is_unanswered_unless_time_is_up(
    child: Child, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With time left it is told among those; at the end of the soak nobody knows what would have come."""
    blow = Blow("stop", "worker 0", 0.0)
    hurried = saboteur()
    hurried._over.set()
    late = hurried.strike(blow, child.process.pid)
    assert late is not None
    assert (late.recovered_s, late.cut_off, hurried.unanswered) == (None, True, ())
    monkeypatch.setattr("omni_ipc.stress.saboteur.PATIENCE_S", 0.01)
    harming = saboteur()
    survived = harming.strike(blow, child.process.pid)
    assert survived is not None
    assert (survived.recovered_s, survived.cut_off) == (None, False)
    assert harming.unanswered == (survived,)


def test_a_hog_is_put_into_the_machine_and_met_like_any_other_fault() -> None:
    """It needs no process; where there is nothing to be taken, that is told."""
    harming = saboteur(lambda: Latest(time.monotonic(), time.monotonic()))
    survived = harming.strike(Blow(HOG, MACHINE, 0.05))
    assert survived is not None
    assert (survived.fault, survived.target, harming.failed) == (HOG, MACHINE, ())
    harming._spare_bytes = lambda: 0
    assert harming.strike(Blow(HOG, MACHINE, 0.05)) is None
    assert harming.failed == ("The fault 'hog' could not be put into machine: Cannot allocate memory.",)


def test_what_is_told_meanwhile_belongs_to_the_fault(child: Child) -> None:
    """Once each, in the order of its first time."""
    harming = saboteur()

    def latest() -> Latest:
        for what in ("PeerDied", "Timeout", "PeerDied"):
            harming.told(what)
        return Latest(time.monotonic(), time.monotonic())

    harming._latest = latest
    survived = harming.strike(Blow("kill", "worker 1", 0.0), child.process.pid)
    assert survived is not None
    assert survived.told == ("PeerDied", "Timeout")


def test_a_process_that_is_gone_already_is_no_fault_survived(child: Child) -> None:
    """It may have ended since it was named."""
    child.end()
    harming, blow = saboteur(), Blow("kill", "worker 0", 0.0)
    assert harming.strike(blow, child.process.pid) is None
    assert [each for _, each in harming.blows] == [blow]


def test_a_saboteur_puts_in_what_it_was_asked_for_until_it_is_left(child: Child) -> None:
    """One fault after the other, and nothing stays stopped or limited behind it."""
    with saboteur(
        lambda: Latest(time.monotonic(), time.monotonic()),
        kinds=("stop", "memory", "descriptors"),
        processes=lambda: {"worker 0": child.process.pid},
    ) as harming:
        while len({each.fault for each in harming.survived}) < 2:
            time.sleep(0.01)
    assert not harming.failed
    assert [each.target for each in harming.survived] == ["worker 0"] * len(harming.survived)
    assert [child.ask(ALLOCATE), child.ask(OPEN)] == ["done", "done"]


def test_the_same_seed_chooses_the_same_blows() -> None:
    """Memory is not taken from who checks the outputs, and a hog hits nobody alone."""
    drawn = [
        [one._draw({ENGINE: 1, "worker 0": 2, "worker 1": 3}) for _ in range(200)]
        for one in (saboteur(kinds=(*FAULTS, HOG)), saboteur(kinds=(*FAULTS, HOG)))
    ]
    assert drawn[0] == drawn[1]
    pairs = {(blow.fault, blow.target) for blow in drawn[0] if blow is not None}
    everybody = {*itertools.product(FAULTS, (ENGINE, "worker 0", "worker 1"))}
    assert pairs == everybody - {("memory", ENGINE)} | {(HOG, MACHINE)}


def test_no_fault_is_drawn_for_nobody() -> None:
    """As while an engine is started anew: then a hog would be felt by nobody, either."""
    assert saboteur(kinds=("memory",))._draw({ENGINE: 1}) is None
    assert saboteur(kinds=(HOG,))._draw({}) is None


def test_a_fault_that_nobody_knows_is_refused() -> None:
    """With those that there are."""
    with pytest.raises(UnknownName, match=r"no fault 'rain'\. Known: descriptors, hog, kill, memory, stop"):
        saboteur(kinds=("rain",))
