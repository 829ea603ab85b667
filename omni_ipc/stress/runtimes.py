"""Which runtimes the processes of a round run on: perturbed and measured ones, or plain ones."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from omni_ipc.seam.api import Runtime
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.stress.perturbed import Perturbation, PerturbedRuntime
from omni_ipc.stress.settings import SoakConfig

ROUNDS = "rounds"
"""The folder, in a soak's own, of what the processes of each round measure and take down."""


class Runtimes(NamedTuple):
    """Of one round.

    Args:
        engine: of the process that asks.
        workers: settings of an `EngineConfig`, which say that of the workers.
    """

    engine: Runtime
    workers: dict[str, Any]


def folder_of(config: SoakConfig, number: int) -> Path:
    """Say where the processes of a round leave what they measure and take down."""
    return Path(config.folder).absolute() / ROUNDS / str(number)


@contextlib.contextmanager
def runtimes(config: SoakConfig, number: int, *, record: bool) -> Iterator[Runtimes]:
    """Make those of a round; what they measured is written at the end."""
    if not (config.perturb or record):
        yield Runtimes(NativeRuntime(), {})
        return
    perturbation = Perturbation(folder=str(folder_of(config, number)), seed=config.seed + number, record=record)
    if not config.perturb:
        perturbation = msgspec.structs.replace(perturbation, share=0.0, slow=0.0)
    with contextlib.closing(PerturbedRuntime(perturbation)) as engine:
        yield Runtimes(engine, perturbation.of_workers())
