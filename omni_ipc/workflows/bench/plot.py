"""A comparison as a picture: one line a subject, latency over size, both logarithmic; bars are quartiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from omni_ipc.errors import EnvironmentMissing, UsageError
from omni_ipc.workflows.bench.rows import Results
from omni_ipc.workflows.bench.tables import size_name

_ENDINGS = (".png", ".svg")


def check(path: Path) -> None:
    """Refuse what could not be drawn, before minutes go into measuring it.

    Raises:
        UsageError: the file is neither PNG nor SVG by its name.
        EnvironmentMissing: matplotlib is not installed.
    """
    if path.suffix not in _ENDINGS:
        raise UsageError(f"Cannot draw '{path}': no picture ends in '{path.suffix}' here. Use {' or '.join(_ENDINGS)}.")
    try:
        import matplotlib  # noqa: F401 - is it there?
    except ImportError:
        raise EnvironmentMissing("A plot needs matplotlib.", "pip install 'omni-ipc[bench]'") from None


def draw(results: Results, path: Path) -> None:
    """Draw latencies into a file.

    Raises:
        UsageError: it cannot be written.
    """
    from matplotlib import colormaps
    from matplotlib.figure import Figure as Drawing

    sizes = results.sizes()
    drawing = Drawing(figsize=(12, 7), layout="constrained")
    axes = drawing.subplots()
    axes.set_prop_cycle(color=colormaps["tab20"].colors)
    for subject, work in results.lines():
        points = [(size, figure) for size in sizes if (figure := results.figure(subject, work, size, "p50"))]
        if points:
            medians = [figure.median for _, figure in points]
            spread = [[f.median - f.low for _, f in points], [f.high - f.median for _, f in points]]
            style = "-o" if subject.startswith("omni_ipc") else ":x" if subject.startswith("limit") else "--."
            axes.errorbar([size for size, _ in points], medians, yerr=spread, fmt=style, label=f"{subject}, {work}")
    axes.set(xscale="log", yscale="log", xlabel="bytes of a message", ylabel="one-way p50, µs")
    axes.set_xticks(sizes, [size_name(size) for size in sizes])
    axes.grid(alpha=0.3)
    drawing.legend(loc="outside right upper", fontsize="small")
    save(drawing, path)


def save(drawing: Any, path: Path) -> None:
    """Write a drawing into a file; folders are made.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        drawing.savefig(path)
    except OSError as error:
        raise UsageError(
            f"Cannot write '{path}': {error.strerror}. Free some space there, or choose another."
        ) from None
