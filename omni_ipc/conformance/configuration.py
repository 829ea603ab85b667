"""TLC's configuration files: what a model assigns, swaps and claims."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from omni_ipc.conformance.values import parse
from omni_ipc.errors import FormatError, UsageError
from omni_ipc.values import Value, show

_COMMENT = re.compile(r"\\\*[^\n]*|\(\*.*?\*\)", re.DOTALL)
_SECTION = re.compile(
    r"\b(SPECIFICATION|INIT|NEXT|CONSTANTS?|INVARIANTS?|PROPERT(?:Y|IES)|CONSTRAINTS?|ACTION_CONSTRAINTS?|SYMMETRY|VIEW)\b"
)
_ASSIGNMENT = re.compile(r"(\w+)\s*(=|<-)\s*")


class Configuration(msgspec.Struct, frozen=True):
    """One cfg file."""

    text: str
    specification: str | None
    constants: dict[str, Value]  # Outputs = {"a"}
    overrides: dict[str, str]  # PumpUnpack <- PumpUnpack_Bug
    invariants: tuple[str, ...]
    properties: tuple[str, ...]

    @classmethod
    def load(cls, path: Path) -> Configuration:
        """Read a cfg file.

        Raises:
            UsageError: it cannot be read, or assigns something that is no value.
        """
        try:
            text = path.read_text()
            sections = list(_sections(_COMMENT.sub(" ", text)))
            assignments = [found for word, body in sections if word == "CONSTANT" for found in _assignments(body)]
            constants = {name: parse(value) for name, sign, value in assignments if sign == "="}
        except OSError as error:
            raise UsageError(f"Cannot read '{path}': {error.strerror}. Correct its path in the manifest.") from None
        except FormatError as error:
            raise UsageError(f"'{path}' assigns a constant badly. {error} Correct it there.") from None
        return cls(
            text=text,
            specification=next((body.strip() for word, body in sections if word == "SPECIFICATION"), None),
            constants=constants,
            overrides={name: value for name, sign, value in assignments if sign == "<-"},
            invariants=tuple(name for word, body in sections if word == "INVARIANT" for name in body.split()),
            properties=tuple(name for word, body in sections if word == "PROPERTY" for name in body.split()),
        )

    @property
    def bounds(self) -> str:
        """What makes the model finite, as the file says it."""
        assigned = [f"{name} = {show(value)}" for name, value in self.constants.items()]
        return ", ".join([*assigned, *(f"{name} <- {value}" for name, value in self.overrides.items())])


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """Keyword (in the singular) and body of each section."""
    starts = list(_SECTION.finditer(text))
    for start, after in zip(starts, [*starts[1:], None], strict=True):
        keyword = "PROPERTY" if start[1] == "PROPERTIES" else start[1].removesuffix("S")
        yield keyword, text[start.end() : after.start() if after else len(text)]


def _assignments(body: str) -> Iterator[tuple[str, str, str]]:
    starts = list(_ASSIGNMENT.finditer(body))
    for start, after in zip(starts, [*starts[1:], None], strict=True):
        yield start[1], start[2], body[start.end() : after.start() if after else len(body)].strip()
