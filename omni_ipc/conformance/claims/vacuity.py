"""Whether each claim of a model can fail: one that holds whatever the code does claims nothing.

A claim is an invariant of a design model, or a property of a live or refining one. It is alive if a bug model fails on
it, be its defect one of the field, or a mutant made for the purpose. `TypeOK` is no claim about behaviour: it gives
each variable its values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from omni_ipc.conformance.models.configuration import Configuration
from omni_ipc.conformance.models.manifest import Manifest, Model, Role
from omni_ipc.conformance.models.source import Source
from omni_ipc.conformance.tlc.syntax import last_sentence
from omni_ipc.records import write_atomically

TYPES = "TypeOK"
PAGE = "CLAIMS.md"
_CLAIMING = (Role.DESIGN, Role.LIVE, Role.REFINE)
_EXTENDS = re.compile(r"^EXTENDS (.*)", re.MULTILINE)
_INSTANCE = re.compile(r"^Abs == INSTANCE (\w+)", re.MULTILINE)


class Claim(msgspec.Struct, frozen=True):
    """An invariant or property that a spec is checked for."""

    spec: str
    name: str
    sentence: str  # in English
    models: tuple[str, ...]  # that claim it
    fails_in: tuple[str, ...]  # bug models that fail on it


def claims(manifest: Manifest) -> tuple[Claim, ...]:
    """Each claim of each spec, with the bug models that fail on it, in the order of the manifest.

    Raises:
        UsageError: a cfg is broken.
    """
    claiming: dict[tuple[str, str], list[Model]] = {}
    for model in manifest.models:
        for name in _claimed(model, manifest):
            claiming.setdefault((model.spec, name), []).append(model)
    return tuple(
        Claim(
            spec=spec,
            name=name,
            sentence=sentence_of(name, models[0].module, manifest),
            models=tuple(model.name for model in models),
            fails_in=tuple(_failing(spec, name, manifest)),
        )
        for (spec, name), models in claiming.items()
    )


def claims_page(manifest: Manifest) -> str:
    """The claims as a page of Markdown."""
    lines = [
        "# What the specs claim, and where each claim fails",
        "",
        "Generated from manifest.json, the cfgs and the comments above the claims: `omni-ipc spec sync`. A claim that",
        "no defect and no mutant makes false would claim nothing; so each has at least one model that must fail on it.",
        "`TypeOK`, which gives each variable its values, is left out.",
    ]
    for spec in manifest.specs:
        own = [claim for claim in claims(manifest) if claim.spec == spec]
        if own:
            lines += ["", f"## {spec}", "", "| claim | says | fails in |", "| --- | --- | --- |"]
            lines += [f"| `{claim.name}` | {claim.sentence} | {_listed(claim)} |" for claim in own]
    return "\n".join(lines) + "\n"


def update_claims_page(manifest: Manifest) -> None:
    """Write the page beside the manifest.

    Raises:
        UsageError: it cannot be written.
    """
    write_atomically(manifest.folder / PAGE, claims_page(manifest).encode())


def _claimed(model: Model, manifest: Manifest) -> Iterator[str]:
    if model.role in _CLAIMING:
        configuration = Configuration.load(manifest.folder / model.cfg)
        yield from (name for name in (*configuration.invariants, *configuration.properties) if name != TYPES)


def _failing(spec: str, name: str, manifest: Manifest) -> Iterator[str]:
    return (
        model.name
        for model in manifest.models
        if model.role is Role.BUG and model.spec == spec and model.expect.name == name
    )


def _listed(claim: Claim) -> str:
    return ", ".join(f"`{name.removeprefix(f'{claim.spec}/bug/')}`" for name in claim.fails_in) or "**nowhere**"


def sentence_of(name: str, module: str, manifest: Manifest) -> str:
    """The sentence above a claim, in the module or in one that it extends; of a refinement, what is implemented."""
    for text in _texts(module, manifest):
        if name == "RefinesProp" and (abstract := _INSTANCE.search(text)):
            file = _file(abstract[1], manifest)
            where = file.relative_to(manifest.folder).as_posix() if file is not None else f"{abstract[1]}.tla"
            return f"It does what `{where}` allows and promises."
        if found := re.search(rf"^{name} ==", text, re.MULTILINE):
            return last_sentence(Source(text).comment_above(text.count("\n", 0, found.start()) + 1))
    return ""


def _texts(module: str, manifest: Manifest) -> Iterator[str]:
    """The text of a module, then of those that it extends; not of the standard library's."""
    if (file := _file(module, manifest)) is None:
        return
    text = file.read_text()
    yield text
    for names in _EXTENDS.findall(text):
        for name in re.findall(r"\w+", names):
            yield from _texts(name, manifest)


def _file(module: str, manifest: Manifest) -> Path | None:
    """Where a module is; None for one of the standard library's."""
    files = (folder / f"{module}.tla" for folder in manifest.library())
    return next((file for file in files if file.is_file()), None)
