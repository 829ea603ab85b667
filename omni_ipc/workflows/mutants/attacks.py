"""What may notice a fault: the models that code is walked along, the scenarios that are explored, and the tests."""

from __future__ import annotations

import enum
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from omni_ipc.conformance.models import manifest as manifests
from omni_ipc.conformance.models.manifest import Role
from omni_ipc.conformance.processes.children import Children
from omni_ipc.report.endings import ExitCode
from omni_ipc.scenarios import SCENARIOS
from omni_ipc.workflows.mutants.catalogue import ROOMS
from omni_ipc.workflows.mutants.tree import Tree

_WALK_S = 4  # of computing, for one model: most are walked whole in less
_SCHEDULES = 500  # for one scenario: faults that are found at all are found in tens; what is exhausted ends before
_OVER_LANES = ("dual_writer_ring", "overflow")  # whose tasks share bytes, and so depend on fences
_EXPLORES = re.compile(
    r"^from (omni_ipc\.testbed|omni_ipc\.workflows\.exploring|tests\.\S*exhausting|tests\.support\.talks) import "
    r".*(explore|exhaust|sample)",
    re.M,
)
_TESTED = (*ROOMS, "scenarios")


class Kind(enum.StrEnum):
    """The three ways, in the order in which they are tried."""

    CONFORM = "conform"
    EXPLORE = "explore"
    TESTS = "tests"


class How(enum.StrEnum):
    """How an attack on a mutant ended."""

    NOTHING = "noticed nothing"
    FAILED = "failed"
    HANGS = "hangs"
    UNDECIDED = "undecided"  # by this attack; no kill


class Attack(msgspec.Struct, frozen=True):
    """One command; it exits with 0 on the product as it is."""

    name: str
    kind: Kind
    arguments: tuple[str, ...]  # of Python

    def run(self, tree: Tree, children: Children, *, timeout_s: float, under: tuple[str, ...] = ()) -> How:
        """Run it on a tree, as it is now.

        Args:
            under: a module that runs the module: ``("coverage", "run")``.
        """
        arguments = ["-m", *under, *self.arguments]
        ended = children.run([sys.executable, *arguments], cwd=tree.folder, env=tree.environment, timeout_s=timeout_s)
        if ended.timed_out:
            return How.HANGS
        if ended.exit_code == 0:
            return How.NOTHING
        return How.FAILED if self.is_of_tests or ended.exit_code == ExitCode.VIOLATED else How.UNDECIDED

    @property
    def is_of_tests(self) -> bool:
        """Whether it runs tests, which fail for reasons of the machine, too; a verdict tells those apart."""
        return self.kind is Kind.TESTS or "pytest" in self.arguments


def attacks(checkout: Path) -> tuple[Attack, ...]:
    """All that there are."""
    return (*_conform(checkout), *_explore(), *_tests(checkout))


def _conform(checkout: Path) -> Iterator[Attack]:
    for model in manifests.load(checkout / "spec").models:
        if model.role is Role.GRAPH:
            arguments = ("omni_ipc", "conform", model.spec, "--seconds", str(_WALK_S))
            yield Attack(f"conform {model.spec}", Kind.CONFORM, arguments)


def _explore() -> Iterator[Attack]:
    for name in SCENARIOS:
        yield _exploring(name)
    for name in _OVER_LANES:
        yield _exploring(name, "weak")


def _exploring(scenario: str, memory: str = "sc") -> Attack:
    arguments = ("explore", scenario, "--runs", str(_SCHEDULES), "--memory", memory, "--fresh")
    name = f"explore {scenario}" if memory == "sc" else f"explore {scenario} under {memory} memory"
    return Attack(name, Kind.EXPLORE, ("omni_ipc", *arguments))


def _tests(checkout: Path) -> Iterator[Attack]:
    for room in _TESTED:
        for file in sorted((checkout / "tests" / room).rglob("test_*.py")):
            named, text = file.relative_to(checkout).as_posix(), file.read_text()
            kind = Kind.EXPLORE if _EXPLORES.search(text) else Kind.TESTS
            arguments = ("pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not soak and not alone", named)
            yield Attack(f"pytest {named}", kind, arguments)
