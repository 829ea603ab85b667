"""A comparison of explorers as a picture: how many kernels' bugs each had found after so many milliseconds of each."""

from __future__ import annotations

from pathlib import Path

from omni_ipc.workflows.bench.explore_goals import figures
from omni_ipc.workflows.bench.plot import save
from omni_ipc.workflows.bench.rows import Results


def draw(results: Results, path: Path) -> None:
    """Draw into a file.

    Raises:
        UsageError: it cannot be written.
    """
    from matplotlib import colormaps
    from matplotlib.figure import Figure as Drawing

    drawing = Drawing(figsize=(12, 7), layout="constrained")
    axes = drawing.subplots()
    axes.set_prop_cycle(color=colormaps["tab20"].colors)
    for subject in dict.fromkeys(name for name, _ in results.lines()):
        times = sorted(max(figure.median, 1e-2) for _, figure in figures(results, subject, "first"))
        style = "-" if subject.startswith("omni_ipc") else "--"
        if times:
            axes.step(times, range(1, len(times) + 1), style, where="post", label=subject)
    axes.set(xscale="log", xlabel="ms to the first bug", ylabel="kernels whose bug was found in that time")
    axes.grid(alpha=0.3)
    drawing.legend(loc="outside right upper", fontsize="small")
    save(drawing, path)
