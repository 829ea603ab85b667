"""A collection of traces: files and folders of them, each of which real workers can be led along."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from omni_ipc import scenarios
from omni_ipc.errors import UnknownName, UsageError
from omni_ipc.records import Trace
from omni_ipc.workflows.staging import schedule_of

SUFFIX = ".trace.json"


def find_traces(paths: Sequence[Path]) -> dict[Path, Trace]:
    """Read the traces of files and folders, also those of functions, which have no worker.

    Raises:
        UsageError: there are none, or one cannot be replayed here: it is damaged, of another version, or of a scenario
            or a defect that is unknown.
    """
    files: list[Path] = []
    for path in paths:
        found = sorted(path.rglob(f"*{SUFFIX}")) if path.is_dir() else [path]
        if not found:
            raise UsageError(
                f"There is no *{SUFFIX} in '{path}'. Give a folder that has some: omni-ipc explore SCENARIO --save DIR."
            )
        files += found
    traces = {file: Trace.load(file) for file in dict.fromkeys(files)}
    for file, trace in traces.items():
        if not is_of_function(trace):
            _check(file, trace)
    return traces


def is_of_function(trace: Trace) -> bool:
    """Tell whether a trace is one of somebody's own function: "path/to/file.py:function"."""
    return ":" in trace.scenario


def _check(file: Path, trace: Trace) -> None:
    try:
        scenario = scenarios.find(trace.scenario)
        if trace.defect is not None and trace.defect not in scenarios.KNOWN:
            raise UnknownName("defect", trace.defect, scenarios.KNOWN)
        scenario.parts(trace.defect)  # refuses a defect of another scenario
        schedule = schedule_of(trace, scenario, trace.defect)
    except UsageError as error:
        raise UsageError(f"The trace '{file}' cannot be replayed: {error}") from None
    if not schedule:
        raise UsageError(f"'{file}' has no steps that could be put in order. Make it anew: omni-ipc explore --save.")
