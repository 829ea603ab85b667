"""The table of models in the README of the specs, generated from the manifest."""

from __future__ import annotations

from pathlib import Path

from omni_ipc.conformance.models import manifest as manifests
from omni_ipc.conformance.models.manifest import Manifest, Model
from omni_ipc.errors import UsageError
from omni_ipc.records import write_atomically

BEGIN = "<!-- models: generated from manifest.json -->\n"
END = "<!-- end of models -->\n"


def table(manifest: Manifest) -> str:
    """The models as a Markdown table."""
    rows = [
        "| model | TLC must find | states | depth |",
        "| --- | --- | ---: | ---: |",
        *(
            f"| [`{model.name}`]({model.cfg}) | {_expectation(model)} "
            f"| {model.distinct_states or ''} | {model.expect.depth or ''} |"
            for model in manifest.models
        ),
    ]
    return "\n".join(rows) + "\n"


def with_table(readme: str, manifest: Manifest) -> str:
    """A README whose table agrees with the manifest.

    Raises:
        UsageError: it has no place for the table.
    """
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise UsageError(f"The README of the specs has lost its table. Put {BEGIN.strip()} and {END.strip()} into it.")
    return before + BEGIN + table(manifest) + END + after


def update_readme(folder: Path | None = None) -> Path:
    """Write the table into the README beside the manifest.

    Raises:
        UsageError: the README is missing, has no place for the table, or cannot be written.
    """
    manifest = manifests.load(folder)
    path = manifest.folder / "README.md"
    try:
        readme = path.read_text()
    except OSError as error:
        raise UsageError(f"Cannot read '{path}': {error.strerror}. Restore it from version control.") from None
    return write_atomically(path, with_table(readme, manifest).encode())


def _expectation(model: Model) -> str:
    return f"{model.result}: `{model.expect.name}`" if model.expect.name else str(model.result)
