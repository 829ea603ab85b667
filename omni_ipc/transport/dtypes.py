"""Element types that travel, by the names that numpy and torch share, and their codes on the wire.

Elements travel as raw bytes; nothing is widened. A code, once given, is never given again.
"""

from __future__ import annotations

from omni_ipc.errors import FormatError

_TABLE = (  # code, name, bytes an element
    (1, "bool", 1),
    (2, "uint8", 1),
    (3, "int8", 1),
    (4, "uint16", 2),
    (5, "int16", 2),
    (6, "uint32", 4),
    (7, "int32", 4),
    (8, "uint64", 8),
    (9, "int64", 8),
    (10, "float16", 2),
    (11, "float32", 4),
    (12, "float64", 8),
    (13, "complex64", 8),
    (14, "complex128", 16),
    # torch only
    (32, "bfloat16", 2),
    (33, "complex32", 4),
    (34, "float8_e4m3fn", 1),
    (35, "float8_e4m3fnuz", 1),
    (36, "float8_e5m2", 1),
    (37, "float8_e5m2fnuz", 1),
    (38, "float8_e8m0fnu", 1),
    (39, "float4_e2m1fn_x2", 1),
    (48, "bits1x8", 1),
    (49, "bits2x4", 1),
    (50, "bits4x2", 1),
    (51, "bits8", 1),
    (52, "bits16", 2),
    *((55 + bits, f"int{bits}", 1) for bits in range(1, 8)),
    *((63 + bits, f"uint{bits}", 1) for bits in range(1, 8)),
)

NUMPY_DTYPES = frozenset(name for code, name, _ in _TABLE if code < 32)

_CODE = {name: code for code, name, _ in _TABLE}
_TYPE = {code: (name, item_bytes) for code, name, item_bytes in _TABLE}
_ITEM_BYTES = {name: item_bytes for _, name, item_bytes in _TABLE}


def travels(name: str) -> bool:
    """Tell whether elements of this type may travel."""
    return name in _CODE


def code_of(name: str) -> int:
    """Give the code of an element type that travels."""
    return _CODE[name]


def type_of(code: int) -> tuple[str, int]:
    """Give the name behind a code, and the bytes of one element.

    Raises:
        FormatError: no type has this code.
    """
    found = _TYPE.get(code)
    if found is None:
        raise FormatError(f"dtype: no element type has the code {code}. Do both sides run the same omni_ipc?")
    return found


def item_bytes(name: str) -> int:
    """Give the bytes of one element."""
    return _ITEM_BYTES[name]
