"""JSON that is kept in a checkout or a folder of specs: of one type as a whole, or refused in a sentence."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TypeVar

import msgspec
import msgspec.inspect

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
        raise UsageError(f"'{path}' {wrong}: {error}.{_choices(str(error), kind)} {remedy}") from None


def _choices(complaint: str, kind: object) -> str:
    """Say what there is to choose from, where a value is none of an enumeration: msgspec tells its path alone."""
    if not complaint.startswith("Invalid enum value"):
        return ""
    at: msgspec.inspect.Type | None = msgspec.inspect.type_info(kind)
    for name in re.findall(r"\.(\w+)|\[", complaint.rpartition(" at `$")[2]):
        at = _inside(at, name)
    return f" There are {', '.join(each.value for each in at.cls)}." if isinstance(at, msgspec.inspect.EnumType) else ""


def _inside(at: msgspec.inspect.Type | None, name: str) -> msgspec.inspect.Type | None:
    """Give the type of a field, or, without a name, of an item."""
    match at:
        case msgspec.inspect.StructType():
            return next((field.type for field in at.fields if field.encode_name == name), None)
        case msgspec.inspect.DictType():
            return at.value_type
        case msgspec.inspect.VarTupleType() | msgspec.inspect.ListType():
            return at.item_type
    return None
