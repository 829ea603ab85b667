"""``omni-ipc bench``: measurements, beside what else does the same."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from omni_ipc.cli.ending import working
from omni_ipc.cli.options import Json, Plot, Quick
from omni_ipc.report.endings import ExitCode
from omni_ipc.report.output import Output
from omni_ipc.report.text import counted


def transport(quick: Quick = False, plot: Plot = None, json: Json = None) -> int:
    """Compare ways between two processes: latency, messages a second, idle readers; a report, whatever it finds."""
    from omni_ipc.workflows.bench import plot as plots
    from omni_ipc.workflows.bench import tables
    from omni_ipc.workflows.bench.transport import FULL, QUICK, compare

    out = Output(json)
    if plot is not None:
        plots.check(plot)
    with working("starting") as show_progress:
        comparison = compare(QUICK if quick else FULL, progress=show_progress)
    out.say(*tables.parts(comparison), "", _effort(comparison.repetitions, comparison.seconds))
    if plot is not None:
        plots.draw(comparison.results, plot)
    out.write_rows(comparison.results.rows())
    return ExitCode.AS_CLAIMED


def serving(quick: Quick = False, json: Json = None) -> int:
    """Compare the output path with the old way: overhead of a request, copies, requests a second; a report."""
    from omni_ipc.workflows.bench import serving_tables
    from omni_ipc.workflows.bench.serving import FULL, QUICK, compare

    out = Output(json)
    with working("starting") as show_progress:
        comparison = compare(QUICK if quick else FULL, progress=show_progress)
    out.say(*serving_tables.parts(comparison), "", _effort(comparison.repetitions, comparison.seconds))
    out.write_rows(comparison.results.rows())
    return ExitCode.AS_CLAIMED


def explore(
    quick: Annotated[bool, typer.Option("--quick", help="Take 50 seconds, and a third of the kernels.")] = False,
    plot: Plot = None,
    kernels: Annotated[Path, typer.Option(metavar="DIR", help="A checkout, which has tests/kernels.")] = Path(),
    json: Json = None,
) -> int:
    """Compare what looks for races, on the same kernels: what is found, how soon, and what is said falsely."""
    from omni_ipc.workflows.bench import explore_plot, explore_tables
    from omni_ipc.workflows.bench import plot as plots
    from omni_ipc.workflows.bench.explore import FULL, QUICK, compare, find_kernels

    out = Output(json)
    if plot is not None:
        plots.check(plot)
    folder = kernels.resolve()
    found = find_kernels(folder)
    with working("starting") as show_progress:
        comparison = compare(QUICK if quick else FULL, kernels=found, folder=folder, progress=show_progress)
    out.say(*explore_tables.parts(comparison), "", _effort(comparison.repetitions, comparison.seconds))
    if plot is not None:
        explore_plot.draw(comparison.results, plot)
    out.write_rows(comparison.results.rows())
    return ExitCode.AS_CLAIMED


def _effort(repetitions: int, seconds: float) -> str:
    return f"{counted(repetitions, 'repetition')} in {seconds:.0f} s"
