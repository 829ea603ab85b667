"""TLC's configuration files: what a model assigns, swaps and claims."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from omni_ipc.conformance.models.parts import parts
from omni_ipc.conformance.models.values import literal, parse
from omni_ipc.errors import FormatError, UsageError
from omni_ipc.values import Value, show

_COMMENT = re.compile(r"\\\*[^\n]*|\(\*.*?\*\)", re.DOTALL)
_SECTION = re.compile(
    r"\b(SPECIFICATION|INIT|NEXT|CONSTANTS?|INVARIANTS?|PROPERT(?:Y|IES)|CONSTRAINTS?|ACTION_CONSTRAINTS?|SYMMETRY|VIEW)\b"
)
_REDUCTIONS = {"CONSTRAINT", "ACTION_CONSTRAINT", "SYMMETRY", "VIEW"}
_ASSIGNMENT = re.compile(r"(\w+)\s*(=|<-)\s*")
_STRING_OR_NAME = re.compile(r'"(?:[^"\\]|\\.)*"|\b[A-Za-z_]\w*')
_TWIN = "_Bug"


class Configuration(msgspec.Struct, frozen=True):
    """One cfg file."""

    text: str
    specification: str | None
    constants: dict[str, Value]  # Outputs = {"a"}
    assigned: dict[str, str]  # the same, as the file has it: a model value is no string there
    overrides: dict[str, str]  # PumpUnpack <- PumpUnpack_Bug
    invariants: tuple[str, ...]
    properties: tuple[str, ...]
    reductions: tuple[str, ...] = ()  # keywords by which TLC leaves states or steps out: CONSTRAINT, SYMMETRY, VIEW

    @classmethod
    def load(cls, path: Path) -> Configuration:
        """Read a cfg file.

        Raises:
            UsageError: it cannot be read, does not name the behaviours, or assigns something that is no value.
        """
        try:
            text = path.read_text()
            sections = list(_sections(_COMMENT.sub(" ", text)))
            assignments = [found for word, body in sections if word == "CONSTANT" for found in _assignments(body)]
            assigned = {name: value for name, sign, value in assignments if sign == "="}
            constants = {name: parse(value) for name, value in assigned.items()}
        except OSError as error:
            raise UsageError(f"Cannot read '{path}': {error.strerror}. Correct its path in the manifest.") from None
        except FormatError as error:
            raise UsageError(f"'{path}' assigns a constant badly. {error} Correct it there.") from None
        named = {word for word, _ in sections}
        if "SPECIFICATION" not in named and not {"INIT", "NEXT"} <= named:
            raise UsageError(f"'{path}' has no SPECIFICATION. Name the module's behaviours there: SPECIFICATION Spec.")
        return cls(
            text=text,
            specification=next((body.strip() for word, body in sections if word == "SPECIFICATION"), None),
            constants=constants,
            assigned=assigned,
            overrides={name: value for name, sign, value in assignments if sign == "<-"},
            invariants=tuple(name for word, body in sections if word == "INVARIANT" for name in body.split()),
            properties=tuple(name for word, body in sections if word == "PROPERTY" for name in body.split()),
            reductions=tuple(word for word, _ in sections if word in _REDUCTIONS),
        )

    @property
    def bounds(self) -> str:
        """What makes the model finite, as the file says it."""
        assigned = [f"{name} = {show(value)}" for name, value in self.constants.items()]
        return ", ".join([*assigned, *(f"{name} <- {value}" for name, value in self.overrides.items())])

    @property
    def model_values(self) -> frozenset[str]:
        """The names that stand for themselves."""
        words = (word for text in self.assigned.values() for word in _STRING_OR_NAME.findall(text))
        return frozenset(word for word in words if not word.startswith('"') and word not in ("TRUE", "FALSE"))

    @property
    def undeclared(self) -> tuple[str, ...]:
        """Model values that no constant is called like: a module that speaks of them has to declare them."""
        return tuple(sorted(self.model_values - self.assigned.keys()))

    def literal(self, value: Value) -> str:
        """Write a value as a module says it; a string that is called like a model value is taken for that."""
        return literal(value, self.model_values)

    @property
    def twins(self) -> frozenset[str]:
        """The operators that the file swaps for a historical twin."""
        return frozenset(name for name, value in self.overrides.items() if value.endswith(_TWIN))


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """Keyword (in the singular) and body of each section."""
    for start, body in parts(_SECTION, text):
        yield "PROPERTY" if start[1] == "PROPERTIES" else start[1].removesuffix("S"), body


def _assignments(body: str) -> Iterator[tuple[str, str, str]]:
    for start, value in parts(_ASSIGNMENT, body):
        yield start[1], start[2], value.strip()
