"""An engine with a field defect put back: what a soak must find, if it finds anything."""

from __future__ import annotations

from typing import NamedTuple

from omni_ipc.errors import UnknownName, UsageError
from omni_ipc.scenarios.defects import DEFECTS
from omni_ipc.scenarios.parts import Parts
from omni_ipc.serving.core import EngineCore, EngineParts
from omni_ipc.serving.engine import Engine


class Build(NamedTuple):
    """What an engine is made of: ``build.engine(config, pipeline, parts=build.parts)``."""

    engine: type[Engine]
    parts: EngineParts


def build(defect: str | None) -> Build:
    """Say what an engine with a defect is made of; without one, the reference.

    Raises:
        UnknownName: there is no such defect.
        UsageError: it lies in the way of results as it was before lanes, which no engine has any more.
    """
    if defect is None:
        return Build(Engine, EngineParts())
    if defect not in DEFECTS:
        raise UnknownName("defect", defect, DEFECTS)
    parts = DEFECTS[defect].parts
    if parts.link is not Parts().link:
        raise UsageError(
            f"The defect '{defect}' lies in a queue that engines have no more, so that none can be built with it. Its "
            f"own world has one: omni-ipc explore {DEFECTS[defect].scenario} --defect {defect}."
        )
    return Build(
        _engine(parts.engine),
        EngineParts(
            scheduler=parts.scheduler,
            stream=parts.stream,
            streams=parts.streams,
            timeout=parts.timeout,
            table=parts.table,
            pump=parts.pump,
            worker=parts.worker,
        ),
    )


def _engine(core: type[EngineCore]) -> type[Engine]:
    """Let an engine with processes do what a core does otherwise."""
    return Engine if core is EngineCore else type(core.__name__, (core, Engine), {})
