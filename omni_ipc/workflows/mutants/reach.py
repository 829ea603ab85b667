"""Which attack comes to which line of the product: the only ones that may notice what is wrong there."""

from __future__ import annotations

import contextlib
import importlib.util
from pathlib import Path
from time import monotonic

import msgspec

from omni_ipc.conformance.processes.children import Children
from omni_ipc.errors import EnvironmentMissing
from omni_ipc.workflows.mutants.attacks import Attack, How
from omni_ipc.workflows.mutants.catalogue import ROOMS, Mutant
from omni_ipc.workflows.mutants.tree import Tree

_TRACED_S = 120.0  # for one attack under coverage, which slows it down


class Reach(msgspec.Struct, frozen=True):
    """One attack on the product as it is.

    Args:
        seconds: that it took, while its lines were counted.
        how: it ended; unless it noticed nothing, it is of no use.
        lines: path of a module -> its lines that were run.
    """

    attack: str
    seconds: float
    how: How
    lines: dict[str, list[int]]

    def reaches(self, mutant: Mutant) -> bool:
        """Whether the attack runs a line of the fault, or, where one goes, the line before it."""
        lines = self.lines.get(mutant.path, ())
        return any(line in lines for line in mutant.lines)


def measure(attack: Attack, tree: Tree, children: Children) -> Reach:
    """Run an attack on the product as it is, and note the lines.

    Raises:
        EnvironmentMissing: coverage is not installed.
    """
    if importlib.util.find_spec("coverage") is None:
        raise EnvironmentMissing(
            "Mutants are attacked by what runs their lines, which coverage tells.",
            "Run: pip install 'omni-ipc[mutants]'",
        )
    configuration = tree.scratch / "coverage.ini"
    configuration.write_text(_configuration(tree.folder, tree.scratch))
    began = monotonic()
    how = attack.run(tree, children, timeout_s=_TRACED_S, under=("coverage", "run", f"--rcfile={configuration}", "-m"))
    seconds = monotonic() - began
    return Reach(attack.name, seconds, how, lines_run(tree.folder, tree.scratch))


def _configuration(tree: Path, folder: Path) -> str:
    rooms = "\n".join(f"    {tree}/omni_ipc/{room}/*" for room in ROOMS)
    return (
        "[run]\nparallel = true\npatch = subprocess, _exit\nconcurrency = thread, greenlet\n"
        f"data_file = {folder}/lines\ninclude =\n{rooms}\n"
    )


def lines_run(tree: Path, folder: Path) -> dict[str, list[int]]:
    """Read which lines the processes of an attack ran, and remove what they left.

    A process that was killed while it wrote leaves a file that nobody can read, and is left out.

    Args:
        folder: where coverage has put a file of each process.
    """
    from coverage import CoverageData
    from coverage.exceptions import DataError

    found: dict[str, set[int]] = {}
    for file in folder.glob("lines.*"):
        data = CoverageData(str(file))
        with contextlib.suppress(DataError):
            data.read()
            for measured in data.measured_files():
                named = Path(measured).relative_to(tree).as_posix()
                found.setdefault(named, set()).update(data.lines(measured) or ())
        file.unlink()
    return {path: sorted(lines) for path, lines in found.items()}
