"""JSON that is kept in a checkout or a folder of specs: of one type as a whole, or refused in a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from omni_ipc.errors import UsageError

T = TypeVar("T")


def read_document(path: Path, kind: type[T], *, missing: str, wrong: str, remedy: str = "Correct it there.") -> T:
    """Read a document.

    Args:
        missing: what to do where it cannot be read: a sentence.
        wrong: what it is not, where it is damaged: "is no manifest".
        remedy: what to do then: a sentence.

    Raises:
        UsageError: it is missing or damaged; says where.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise UsageError(f"Cannot read '{path}': {error.strerror}. {missing}") from None
    except msgspec.DecodeError as error:
        raise UsageError(f"'{path}' {wrong}: {error}. {remedy}") from None
