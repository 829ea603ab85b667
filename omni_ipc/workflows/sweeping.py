"""Mutants of the specs, searched for violations of what the specs claim."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from omni_ipc.conformance.claims.sweep import Swept, sweep
from omni_ipc.conformance.models.manifest import Role, load
from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.tlc.toolchain import Toolchain
from omni_ipc.errors import UsageError

Progress = Callable[[str, int, int], object]
"""Called with the model that comes next, how many are done, and how many there are."""


def sweep_models(names: Sequence[str] = (), *, progress: Progress = lambda *_: None) -> tuple[Swept, ...]:
    """Search the mutants of each design model whose name begins with ``names``, or of all.

    Raises:
        UnknownName: a name selects no model.
        UsageError: none of the selected models is a design; or a module or cfg is broken.
        EnvironmentMissing: there is no Java, or no TLC.
        Inconclusive: TLC did not come to its end.
    """
    manifest = load()
    chosen = manifest.select(names)
    models = [model for model in chosen if model.role is Role.DESIGN]
    if not models:
        raise UsageError(f"'{chosen[0].name}' is no design. Name one: omni-ipc spec mutants {chosen[0].spec}/design.")
    toolchain = Toolchain.find()
    swept = []
    with Children() as children:
        for done, model in enumerate(models):
            progress(model.name, done, len(models))
            swept.append(sweep(model, manifest, toolchain=toolchain, children=children))
    return tuple(swept)
