"""Running TLC on a model, and what its ending means."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from omni_ipc.conformance.models.configuration import Configuration
from omni_ipc.conformance.models.manifest import Manifest, Model
from omni_ipc.conformance.processes.children import Children, Ended
from omni_ipc.conformance.tlc import labels
from omni_ipc.conformance.tlc.java import JavaRun, Span, run_java
from omni_ipc.conformance.tlc.output import parse_output
from omni_ipc.conformance.tlc.progress import Reached, Reports, extent
from omni_ipc.conformance.tlc.result import Kind, Place, Result
from omni_ipc.conformance.tlc.toolchain import Toolchain
from omni_ipc.errors import UsageError

# One worker and fixed seeds: the same run each time.
_TLC = ("-metadir", "states", "-fp", "0", "-seed", "1", "-workers", "1", "-tool")
_NIGHTLY = (  # of a flag that is there twice, TLC takes the later one
    *("-workers", str(len(os.sched_getaffinity(0)))),
    *("-fpmem", "0.5"),  # of the heap, for fingerprints
    *("-checkpoint", "0"),  # nobody goes on with one: what it has written goes with the run
)
# A fifth of the cost of a short run, and nearly half of the pace of a long one.
_COVERAGE = ("-coverage", "1")
_DUMP = ("-dump", "dot,actionlabels", "graph.dot")
_LABELLED = "Labelled"

Reaches = Callable[[Reached], object]
"""Called once a minute, with how far TLC has come."""


def run_model(
    model: Model, manifest: Manifest, *, toolchain: Toolchain, children: Children, reaches: Reaches | None = None
) -> Result:
    """Check a model as it stands.

    Returns:
        What TLC found; of kind TRUNCATED when it was killed, ran out of memory, or took longer than the model's budget.

    Raises:
        UsageError: a module or the cfg is broken; tells the file, the line, and TLC's first complaint.
        EnvironmentMissing: Java cannot be started, or there is no temporary folder.
    """
    configuration = Configuration.load(manifest.folder / model.cfg)
    files = {f"{model.module}.tla": module_text(model, manifest), "Model.cfg": configuration.text}
    return _run(model, manifest, model.module, configuration, files, toolchain, children, reaches)


def run_labelled(
    model: Model, manifest: Manifest, *, toolchain: Toolchain, children: Children, reaches: Reaches | None = None
) -> Result:
    """Check a model so that each step of a counterexample has its parameters.

    Returns, raises:
        As `run_model`.
    """
    configuration = Configuration.load(manifest.folder / model.cfg)
    known = labels.instances(model, manifest.specs[model.spec], configuration)
    files = _labelled_files(model, manifest, configuration)
    result = _run(model, manifest, _LABELLED, configuration, files, toolchain, children, reaches)
    return labels.restore(result, known)


def run_dump(
    model: Model, manifest: Manifest, *, toolchain: Toolchain, children: Children, flags: tuple[str, ...] = ()
) -> tuple[Result, str]:
    """Check a model, and dump its state graph; its steps are labelled with the operators of `labels.instances`.

    Args:
        flags: further ones for TLC; the last of a kind counts.

    Returns:
        What TLC found, as `run_model`; the dump, in the language of graphviz.

    Raises:
        As `run_model`.
    """
    configuration = Configuration.load(manifest.folder / model.cfg)
    files = _labelled_files(model, manifest, configuration)
    run = _start(model, manifest, _LABELLED, files, toolchain, children, flags=(*_DUMP, *flags))
    result = _parsed(run)
    return _settled(result, run.ended, model, manifest, configuration), run.files.get(_DUMP[-1], "")


def _labelled_files(model: Model, manifest: Manifest, configuration: Configuration) -> dict[str, str]:
    spec = manifest.specs[model.spec]
    known = labels.instances(model, spec, configuration)
    return {
        f"{_LABELLED}.tla": labels.labelled_module(_LABELLED, model, spec, configuration, known),
        "Model.cfg": labels.labelled_configuration(configuration),
    }


def _run(
    model: Model,
    manifest: Manifest,
    module: str,
    configuration: Configuration,
    files: dict[str, str],
    toolchain: Toolchain,
    children: Children,
    reaches: Reaches | None,
) -> Result:
    run = _start(model, manifest, module, files, toolchain, children, reaches=reaches)
    result = _parsed(run)
    return _settled(result, run.ended, model, manifest, configuration)


def _parsed(run: JavaRun) -> Result:
    result = parse_output(run.ended.output, seconds=run.seconds)
    return msgspec.structs.replace(result, is_kept=run.is_kept)


def _start(
    model: Model,
    manifest: Manifest,
    module: str,
    files: dict[str, str],
    toolchain: Toolchain,
    children: Children,
    *,
    flags: tuple[str, ...] = (),
    reaches: Reaches | None = None,
) -> JavaRun:
    suited = (*(_NIGHTLY if model.nightly else ()), *(_COVERAGE if model.counts_actions else ()))
    return run_java(
        "tlc2.TLC",
        (*_TLC, *suited, *model.flags, *flags, "-config", "Model.cfg", module),
        files,
        library=manifest.library(),
        toolchain=toolchain,
        children=children,
        budget_s=model.budget_s,
        keep=_DUMP[-1:],
        span=Span.HOURS if model.nightly else Span.SECONDS,
        hear=Reports(reaches).hear if reaches else None,
    )


def _settled(result: Result, ended: Ended, model: Model, manifest: Manifest, configuration: Configuration) -> Result:
    match result.kind:
        case Kind.SYNTAX if result.place and result.place.module == _LABELLED:
            raise UsageError(
                f"{manifest.folder / 'manifest.json'}: the actions of {model.spec} are not those of its module. "
                f"{result.message}. Correct the manifest."
            )
        case Kind.SYNTAX:
            raise UsageError(f"{located(result.place, manifest.library())}{result.message}. Correct the module.")
        case Kind.CONFIGURATION:
            raise UsageError(f"{manifest.folder / model.cfg}: {result.message} Correct the configuration.")
        case Kind.SUCCESS if ended.exit_code == 0:
            return result
        case Kind.SUCCESS | Kind.TRUNCATED:
            return msgspec.structs.replace(result, kind=Kind.TRUNCATED, message=_interruption(result, ended, model))
        case Kind.ACTION_PROPERTY | Kind.TEMPORAL if len(configuration.properties) == 1:
            # TLC names no temporal property, and a refinement's by its line only.
            return msgspec.structs.replace(result, name=configuration.properties[0])
        case Kind.EVALUATION:
            where = located(result.place, manifest.library())
            return msgspec.structs.replace(result, message=f"{where}{result.message}")
    return result


def _interruption(result: Result, ended: Ended, model: Model) -> str:
    far = f", at {extent(result.distinct, result.queue)}" if result.distinct else ""
    if ended.timed_out:
        return (
            f"TLC was stopped after its budget of {model.budget_s:g} s{far}. "
            "Raise budgetS in the manifest, or lower the bounds in the cfg."
        )
    how = f"signal {-ended.exit_code}" if ended.exit_code < 0 else f"exit code {ended.exit_code}"
    said = next((line for line in ended.errors.splitlines() if line.strip()), "nothing on its error output")
    return f"TLC ended before it had finished{far}, by {how}: {said.strip()}"


def located(place: Place | None, library: Sequence[Path]) -> str:
    """Write a place as the front of a sentence about it: file and line, as far as they are known."""
    if place is None:
        return ""
    files = (folder / f"{place.module}.tla" for folder in library)
    file = next((file for file in files if file.is_file()), Path(f"{place.module}.tla"))
    return f"{file}:{place.line}: " if place.line else f"{file}: "


def module_text(model: Model, manifest: Manifest) -> str:
    """Read the module that a model is in.

    Raises:
        UsageError: there is none.
    """
    for folder in manifest.library():
        if (file := folder / f"{model.module}.tla").is_file():
            return file.read_text()
    raise UsageError(
        f"{model.name}: there is no module '{model.module}.tla' in {manifest.folder}. Correct its name in the manifest."
    )
