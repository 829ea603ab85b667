"""Who explores the kernels, and the processes in which they do."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from omni_ipc.errors import EnvironmentMissing
from omni_ipc.interrupts import postponed
from omni_ipc.workflows.bench import environments
from omni_ipc.workflows.bench.child import Child
from omni_ipc.workflows.bench.environments import Recipe
from omni_ipc.workflows.bench.explorers.serving import UNABLE, Answer, Question

_START_S = 60.0
_PATIENCE_S = 10.0  # beyond the seconds of a question
_ROOT = Path(__file__).parents[3]
_EXPLORERS = "omni_ipc.workflows.bench.explorers"


class Contestant(NamedTuple):
    """An explorer in one of its modes.

    Args:
        explorer: a module of `explorers`, or, with dots, any other.
        mode: what its process is told.
        loops: whether it takes kernels with an event loop.
        recipe: of its environment; None for this one's.
        under: a program of the environment that runs it.
        quick: whether it takes part in a quick run, too.
    """

    name: str
    explorer: str
    mode: str = ""
    loops: bool = True
    recipe: Recipe | None = None
    under: str = ""
    quick: bool = False


_INTERLEAVE = Recipe("interleave-test", ((3, 12), (3, 13)), ("interleave-test==0.1.0",))
_FRONTRUN = Recipe("frontrun", ((3, 11),), ("frontrun==0.7.0", "greenlet>=3.1"))

CONTESTANTS = (
    Contestant("omni_ipc, portfolio", "ours", "portfolio", quick=True),
    Contestant("omni_ipc, dpor", "ours", "dpor", quick=True),
    *(Contestant(f"omni_ipc, {mode}", "ours", mode) for mode in ("delay-bounded", "surw", "pos", "pct", "urw")),
    Contestant("omni_ipc, random", "ours", "random", quick=True),
    Contestant("frontrun, DPOR", "frontrun", "dpor", False, _FRONTRUN, "frontrun", quick=True),
    Contestant("frontrun, DPOR, no bound", "frontrun", "unbounded", False, _FRONTRUN, "frontrun"),
    Contestant("frontrun, random", "frontrun", "random", False, _FRONTRUN, "frontrun"),
    Contestant("interleave-test, random", "interleave", "random", False, _INTERLEAVE, quick=True),
    Contestant("interleave-test, PCT", "interleave", "pct", False, _INTERLEAVE),
    Contestant("interleave-test, DFS", "interleave", "dfs", False, _INTERLEAVE, quick=True),
    Contestant("plain threads", "stress", quick=True),
)


class Process:
    """A contestant's process, which is started anew when it has died, hangs, or could not end what it ran."""

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        self._command = command
        self._environment = environment
        self._child: Child | None = None

    def ask(self, question: Question) -> Answer:
        """Have a kernel explored."""
        child = self._started()
        child.write(msgspec.json.encode(question))
        line = child.read(question.seconds + _PATIENCE_S)
        answer = Answer(*msgspec.json.decode(line)) if line else Answer(UNABLE, "its process died, or hangs", 0, 0.0)
        if answer.verdict == UNABLE:
            self.end()
        return answer

    def end(self) -> None:
        """End it; the next question starts it again."""
        if self._child is not None:
            self._child.end()
            self._child = None

    def _started(self) -> Child:
        if self._child is None:
            with postponed():
                self._child = Child(self._command, self._environment)
            self._child.read(_START_S)
        return self._child


def prepare(contestants: Sequence[Contestant]) -> tuple[dict[str, Path | None], dict[str, str]]:
    """Make the environments: a folder of programs for each contestant that can take part, and why others cannot."""
    folders: dict[str, Path | None] = {}
    left_out: dict[str, str] = {}
    failed: dict[Recipe, str] = {}
    for contestant in contestants:
        recipe = contestant.recipe
        try:
            if recipe in failed:
                raise EnvironmentMissing(failed[recipe], "")
            folders[contestant.name] = None if recipe is None else environments.prepare(recipe)
        except EnvironmentMissing as error:
            left_out[contestant.name] = str(error).strip()
            if recipe is not None:
                failed[recipe] = left_out[contestant.name]
    return folders, left_out


@contextlib.contextmanager
def started(
    contestants: Sequence[Contestant], folders: dict[str, Path | None], kernels: Path
) -> Iterator[dict[str, Process]]:
    """Give a process for each; all of them end with the context.

    Args:
        kernels: folder in which their modules are found.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(dict.fromkeys((str(_ROOT), str(kernels))))}
    with contextlib.ExitStack() as stack:
        processes = {}
        for contestant in contestants:
            process = Process(_command(contestant, folders[contestant.name]), environment)
            stack.callback(process.end)
            processes[contestant.name] = process
        yield processes


def _command(contestant: Contestant, folder: Path | None) -> list[str]:
    python = sys.executable if folder is None else str(folder / "python")
    under = [str(folder / contestant.under)] if folder is not None and contestant.under else []
    mode = [contestant.mode] if contestant.mode else []
    explorer = contestant.explorer
    return [*under, python, "-m", explorer if "." in explorer else f"{_EXPLORERS}.{explorer}", *mode]
