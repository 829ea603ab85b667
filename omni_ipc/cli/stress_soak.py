"""``omni-ipc stress soak``: a mixed load on real workers, with faults put in, and the account of it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from omni_ipc.cli.account import tell
from omni_ipc.cli.interrupts import answered
from omni_ipc.cli.options import Defect, Html, Json, On, Seed
from omni_ipc.errors import UnknownName, UsageError
from omni_ipc.report.output import Output, complain
from omni_ipc.report.targets import require_file, require_folder
from omni_ipc.stress.settings import FAULTS, SoakConfig

if TYPE_CHECKING:
    from omni_ipc.accounts import Account

_GIB = 1 << 30
_MOST_GIB = 1 << 32  # what processes tell each other ends at 64 bits


def soak(
    minutes: Annotated[float, typer.Option(metavar="MINUTES", help="How long to go on.")] = 1.0,
    workers: Annotated[int, typer.Option(metavar="N", help="Processes that compute.")] = 2,
    device: Annotated[
        str, typer.Option(metavar="DEVICE", help="Where they compute: cpu, cuda, cuda:1 or xpu.")
    ] = "cpu",
    seed: Seed = 0,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the account is kept, and what was found.")] = Path(
        "soak"
    ),
    memory: Annotated[
        float | None,
        typer.Option(
            metavar="GIB",
            help="What engine, clients and workers may take together, shared memory counted once, a device's libraries "
            "not counted; a hog takes half as much again at most. Shards on one machine share it. Default: half of "
            "what is free.",
        ),
    ] = None,
    clients: Annotated[
        int, typer.Option(metavar="N", help="Clients that ask, and requests that they see through at a time, at most.")
    ] = 64,
    faults: Annotated[
        str,
        typer.Option(
            metavar="KIND,...",
            help="What to put in: kill, stop, memory, descriptors, hog; or none.",
            show_default="all of them",
        ),
    ] = ",".join(FAULTS),
    fault_every: Annotated[float, typer.Option(metavar="SECONDS", help="Time between two faults, about.")] = 15.0,
    perturb: Annotated[bool, typer.Option(help="Let tasks rest before regions, at random.")] = True,
    record: Annotated[bool, typer.Option(help="Record some rounds, and hold them against the spec.")] = True,
    defect: Defect = None,
    on: On = None,
    shards: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Soaks on the machines of --on, each with a seed of its own; default: one a machine."
        ),
    ] = None,
    prometheus: Annotated[
        str | None, typer.Option(metavar="[HOST:]PORT", help="Serve metrics while it runs; port 0 is any that is free.")
    ] = None,
    html: Html = None,
    json: Json = None,
) -> int:
    """Run engines among clients on real workers, with faults put in, and account for each request and each byte."""
    from omni_ipc.shards import shards_in

    say = Output(json)
    if html is not None:
        require_file(html)
    require_folder(out)
    config = SoakConfig(
        seconds=minutes * 60,
        workers=workers,
        device=device,
        seed=seed,
        folder=str(out),
        memory_bytes=_bytes(memory),
        clients=clients,
        faults=_kinds(faults),
        fault_every_s=fault_every,
        perturb=perturb,
        defect=defect,
        record=record,
    )
    with answered(), _watched(prometheus) as on_sample:
        account = _soaked(config, on, shards, on_sample)
    return tell(say, "stress soak", account, shards_in(out) if on else {}, html)


def _soaked(config: SoakConfig, on: str | None, shards: int | None, on_sample: Callable[[Account], object]) -> Account:
    if on is None:
        from omni_ipc.workflows.soaking import soak

        if shards is not None:
            raise UsageError(f"--shards {shards} needs machines. Name them, as in: --on local:{shards}.")
        return soak(config, on_sample=on_sample)
    from omni_ipc.workflows.soak_sharding import soak_on

    return soak_on(on, config, count=shards, on_sample=on_sample)


@contextlib.contextmanager
def _watched(prometheus: str | None) -> Iterator[Callable[[Account], object]]:
    """Show accounts on the terminal as they come, and to Prometheus if that is asked for."""
    from omni_ipc.report.soak.live import watching

    with contextlib.ExitStack() as stack:
        showing = []
        if prometheus is not None:
            from omni_ipc.stress.metrics import serving_metrics

            metrics = stack.enter_context(serving_metrics(prometheus))
            complain(f"metrics are at {metrics.address}")
            showing.append(metrics.show)
        showing.append(stack.enter_context(watching()))
        yield lambda account: [show(account) for show in showing]


def _kinds(faults: str) -> tuple[str, ...]:
    """Give the kinds of faults that an option names."""
    if faults == "none":
        return ()
    kinds = tuple(dict.fromkeys(kind.strip() for kind in faults.split(",")))
    if "none" in kinds:
        raise UsageError(f"--faults {faults}: 'none' stands alone. Give it without others, or leave it out.")
    for kind in kinds:
        if kind not in FAULTS:
            raise UnknownName("fault", kind, (*FAULTS, "none"))
    return kinds


def _bytes(gib: float | None) -> int | None:
    if gib is None:
        return None
    if not 0 < gib < _MOST_GIB:
        raise UsageError(f"--memory {gib:g} is no size. Give GiB, as in: --memory 4.")
    return int(gib * _GIB)
