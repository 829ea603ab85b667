"""``omni-ipc stress check``: all that a device is checked for, in a few minutes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from omni_ipc.cli.ending import working
from omni_ipc.cli.options import Json
from omni_ipc.device.api import require_device
from omni_ipc.records import Verdict
from omni_ipc.report.endings import ExitCode
from omni_ipc.report.output import Output, complain, table
from omni_ipc.report.targets import require_folder
from omni_ipc.report.verdicts import sign
from omni_ipc.workflows.checking_device import Checked, Steps, check_device

_STEPS = 4
_TRACES = (Path("tests/bugs"), Path("tests/workflows/kills"))


def check(
    device: Annotated[str, typer.Option(metavar="DEVICE", help="What to check: cuda, cuda:1, xpu or cpu.")] = "cuda",
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where results and logs are kept.")] = Path("check"),
    tests: Annotated[
        list[Path] | None, typer.Option(metavar="PATH", help="Tests; default: all that are marked for the device.")
    ] = None,
    traces: Annotated[
        list[Path] | None, typer.Option(metavar="DIR", help="Traces to replay; default: the collection, and kills.")
    ] = None,
    repeat: Annotated[int, typer.Option(metavar="N", help="Runs of each trace.")] = 2,
    soak_minutes: Annotated[float, typer.Option(metavar="MINUTES", help="How long to soak.")] = 0.5,
    limit: Annotated[float, typer.Option(metavar="MINUTES", help="What all steps may take, beside the soak.")] = 5.0,
    json: Json = None,
) -> int:
    """Run a device's tests, the collection of traces and a short soak; no step stops the others, or takes for ever."""
    require_folder(out)
    output = Output(json)
    done: list[Checked] = []
    steps = Steps(device, out, tests, traces or _TRACES, repeat, 60 * soak_minutes, 60 * limit)
    require_device(device)  # refuses here what this machine does not have
    out.mkdir(parents=True, exist_ok=True)
    try:
        with working("looking at the device") as show_progress:
            for each in check_device(steps):
                done.append(each)
                show_progress(f"after {each.step}", len(done), _STEPS)
    except KeyboardInterrupt:
        complain(f"Interrupted: {len(done)} of {_STEPS} steps are done.")
    titles = ("", "step", "what came of it", "s")
    output.say(table(titles, [(sign(each.verdict), each.step, each.told, f"{each.seconds:,.0f}") for each in done]))
    return output.write("stress check", _worst(done), {"device": device, "steps": done})


def _worst(done: list[Checked]) -> ExitCode:
    verdicts = {each.verdict for each in done}
    if Verdict.VIOLATED in verdicts:
        return ExitCode.VIOLATED
    whole = len(done) == _STEPS and Verdict.INCONCLUSIVE not in verdicts
    return ExitCode.AS_CLAIMED if whole else ExitCode.INCONCLUSIVE
