"""The table of the kernels, of a run: python -m tests.kernels.table writes docs/kernels.md."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from omni_ipc.records import Report, Verdict
from tests.kernels import exploring
from tests.kernels.kernel import Kernel
from tests.kernels.registry import KERNELS

PATH = Path(__file__).parents[2] / "docs" / "kernels.md"
_TITLES = {
    "sctbench": "After SCTBench and its like: threads",
    "goker": "After GoKer: channels, mutexes and groups",
    "asyncio_threads": "Event loops and threads",
    "field": "Faults of the field",
}
_INTRODUCTION = """\
# Kernels

Small concurrent programs, each with one known fault, and each with a twin that lacks it. They are the yardstick of the
testbed: a fault that it does not find is a miss, a twin that it accuses is a false alarm, and both must be none. They
are written anew after what is named beside them; [the code](../tests/kernels) is ordinary Python.

This file is written by `python -m tests.kernels.table`; a test holds its verdicts against a run. A fault is sought by
the default strategy until it is found, a twin by `dpor` until no order of conflicting steps is left: `holds` says that
none was. Schedules and milliseconds are those until the failure, on one loaded machine; what they are
worth beside other tools is measured by `omni-ipc bench explore`.
"""
_HEAD = (
    "| kernel | fault | found | schedules | ms | twin | traces | after |\n"
    "| --- | --- | --- | ---: | ---: | --- | ---: | --- |"
)


class Line(NamedTuple):
    """What a run says of one kernel."""

    kernel: Kernel
    fault: Report
    twin: Report

    @property
    def verdicts(self) -> tuple[str, str]:
        """What does not depend on the machine: how the fault shows, and what is said of the twin."""
        as_meant = exploring.is_as_meant(self.kernel, self.fault)
        return self.kernel.kind if as_meant else "**missed**", self.twin.verdict.value

    def __str__(self) -> str:
        kernel, fault, (found, twin) = self.kernel, self.fault, self.verdicts
        described = (kernel.scenario.__doc__ or "").partition("\n")[0]
        cost = f"{fault.schedules + fault.begun_anew:,} | {fault.searched_s * 1e3:.1f}"
        return f"| `{kernel.name}` | {described} | {found} | {cost} | {twin} | {self.twin.traces:,} | {kernel.source} |"


def line(kernel: Kernel) -> Line:
    """Explore a kernel and its twin."""
    return Line(kernel, exploring.fault_of(kernel), exploring.twin_of(kernel))


def committed() -> dict[str, tuple[str, str]]:
    """Read the verdicts that the file has, by the names of kernels."""
    rows = [row.split(" | ") for row in PATH.read_text().splitlines() if row.startswith("| `")]
    return {row[0].strip("| `"): (row[2], row[5]) for row in rows}


def _document(lines: list[Line]) -> Iterator[str]:
    misses = sum(line.verdicts[0] != line.kernel.kind for line in lines)
    alarms = sum(line.twin.verdict is Verdict.VIOLATED for line in lines)
    yield _INTRODUCTION
    yield f"{len(lines)} kernels: {misses} missed, {alarms} false alarms."
    for family, group in itertools.groupby(lines, lambda line: line.kernel.family):
        yield f"\n## {_TITLES[family]}\n\n{_HEAD}"
        yield from map(str, group)


def main() -> None:
    """Write the file."""
    for kernel in KERNELS:
        exploring.run(kernel, kernel.scenario, runs=1)  # loads it
    PATH.write_text("\n".join(_document([line(kernel) for kernel in KERNELS])) + "\n")


if __name__ == "__main__":
    main()
