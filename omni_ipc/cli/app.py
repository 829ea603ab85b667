"""The commands, by name, each with an example."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, NoReturn

import typer

from omni_ipc import __version__
from omni_ipc.cli import bench, spec, stress
from omni_ipc.cli.check import check
from omni_ipc.cli.conform import conform
from omni_ipc.cli.demo import demo
from omni_ipc.cli.doctor import doctor
from omni_ipc.cli.ending import end
from omni_ipc.cli.explore import explore
from omni_ipc.cli.mutants import mutants
from omni_ipc.cli.record import record
from omni_ipc.cli.replay import replay
from omni_ipc.cli.show import show
from omni_ipc.cli.stress_check import check as stress_check
from omni_ipc.cli.stress_reduce import reduce as stress_reduce
from omni_ipc.cli.stress_report import report as stress_report
from omni_ipc.cli.stress_soak import soak as stress_soak
from omni_ipc.cli.validate import validate

app = typer.Typer(
    help="Find, replay and rule out the races of an inference engine's asynchronous output path.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
spec_app = typer.Typer(no_args_is_help=True, context_settings=app.info.context_settings)
bench_app = typer.Typer(no_args_is_help=True, context_settings=app.info.context_settings)
stress_app = typer.Typer(no_args_is_help=True, context_settings=app.info.context_settings)


def _add(command: Callable[..., int], example: str, *, to: typer.Typer = app) -> None:
    """Add a command; it returns the exit code, and may raise whatever it likes."""

    @functools.wraps(command)
    def ending(**arguments: object) -> NoReturn:
        raise typer.Exit(end(functools.partial(command, **arguments)))

    to.command(epilog=f"Example: {example}")(ending)


def _tell_version(wanted: bool) -> None:
    if wanted:
        print(f"omni-ipc {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Show the version, and end.")
    ] = False,
) -> None:
    pass


def run() -> int:
    """Run the command that this process was called with, and return its exit code."""
    try:
        app(prog_name="omni-ipc")
    except SystemExit as ending:  # so does each of them end
        return int(ending.code or 0)
    return 0


_add(check, "omni-ipc check SplitMap/design SplitMap/bug --jobs 2")
_add(conform, "omni-ipc conform SplitMap --defect late_split_map --save traces")
_add(explore, "omni-ipc explore split_map --defect late_split_map --save traces")
_add(
    replay,
    "omni-ipc replay traces/split_map.late_split_map.trace.json --defect late_split_map --on processes",
)
_add(show, "omni-ipc show traces/split_map.late_split_map.trace.json --html split_map.html")
_add(record, "omni-ipc record --to recorded -- omni-ipc demo")
_add(validate, "omni-ipc validate recorded --spec SplitMap")
_add(mutants, "omni-ipc mutants 'serving/outputs.py:*' --by conform")
_add(demo, "omni-ipc demo --keep traces")
_add(doctor, "omni-ipc doctor --json doctor.json")
app.add_typer(spec_app, name="spec", help="Keep what is generated from the specs true; see what of them matters.")
_add(spec.sync, "omni-ipc spec sync --check", to=spec_app)
_add(spec.mutants, "omni-ipc spec mutants SplitMap", to=spec_app)
app.add_typer(bench_app, name="bench", help="Measure, beside what else does the same, in one run.")
_add(bench.transport, "omni-ipc bench transport --quick --plot transport.svg", to=bench_app)
_add(bench.serving, "omni-ipc bench serving --quick --json serving.json", to=bench_app)
_add(bench.explore, "omni-ipc bench explore --quick --plot explore.svg", to=bench_app)
app.add_typer(stress_app, name="stress", help="The product on real worker processes, and real devices.")
_add(stress.replay, "omni-ipc stress replay tests/bugs --device cpu --repeat 3", to=stress_app)
_add(
    stress_reduce,
    "omni-ipc stress reduce 'soak/findings/round 3' --defect late_split_map --save traces",
    to=stress_app,
)
_add(stress_soak, "omni-ipc stress soak --minutes 30 --workers 2 --out soak --html soak.html", to=stress_app)
_add(stress_check, "omni-ipc stress check --device cuda --out check", to=stress_app)
_add(stress_report, "omni-ipc stress report soak --html soak.html", to=stress_app)
