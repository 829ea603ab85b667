"""A tree of arrays as one message: its shape as a wire struct, its arrays as tensors beside it.

    [{"image": array, "seed": 7}]  ──pack──►  Packed(list(dict("image": leaf 0, "seed": 7)))  +  (tensor 0,)

Arrays travel at the bytes that they show, whatever the storage behind them. Classes do not travel: dataclasses and
msgspec structs arrive as dicts of their fields (who wants the class back builds it: ``Output(**tree)``), named tuples
as tuples. A tensor that requires gradients arrives as its values, without the flag: its graph stays where it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec

from omni_ipc import trees
from omni_ipc.errors import FormatError, UsageError
from omni_ipc.transport import arrays
from omni_ipc.transport.arrays import Source
from omni_ipc.transport.loan import Loan
from omni_ipc.transport.tensor import Tensor

DEEPEST = 64

Plain: TypeAlias = bool | int | float | str | bytes | None
_SCALARS = (type(None), bool, int, float, str, bytes)
_INTEGERS = range(-(2**63), 2**64)


class Leaf(msgspec.Struct, frozen=True, array_like=True, tag=0):
    """The place of an array: the index of its tensor."""

    tensor: int


class Bytes(msgspec.Struct, frozen=True, array_like=True, tag=4):
    """Bytes, under a tag: msgspec takes one str-like type in a union."""

    data: bytes


class List(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """A list."""

    items: list[Node]


class Tuple(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """A tuple; a named one arrives as a plain one."""

    items: list[Node]


class Dict(msgspec.Struct, frozen=True, array_like=True, tag=3):
    """A dict, in its order."""

    items: list[tuple[Scalar, Node]]


Scalar: TypeAlias = Bytes | bool | int | float | str | None
Node: TypeAlias = Leaf | List | Tuple | Dict | Scalar


class Packed(msgspec.Struct, frozen=True, array_like=True):
    """A tree without its arrays; a field of wire messages."""

    root: Node


def split(tree: Any, name: str = "output") -> tuple[Packed, list[Source | Loan]]:
    """Split a tree into its shape and its arrays; nothing is copied, and the tree is left as it is.

    Args:
        tree: nested lists, tuples, dicts, dataclasses and msgspec structs of numpy arrays, host torch tensors, loans,
            and None, bool, int, float, str and bytes.
        name: what messages call the tree.

    Returns:
        the shape, and what its leaves stand for, in their order.

    Raises:
        UsageError: something in the tree cannot travel; the message names its path ("outputs[0].latents").
    """
    sources: list[Source | Loan] = []
    return Packed(_pack(tree, name, 0, sources)), sources


def pack(tree: Any, name: str = "output") -> tuple[Packed, list[Tensor | Loan]]:
    """Split a tree, its arrays to be sent inline; see `split`.

    Returns:
        the shape, and the tensors, which look into the arrays' own memory: send them before you change it.
    """
    packed, sources = split(tree, name)
    return packed, [source if isinstance(source, Loan) else source.inline() for source in sources]


def unpack(packed: Packed, tensors: Sequence[Tensor]) -> Any:
    """Build the tree again, its arrays over the received bytes: each over a buffer of its own, or a part of a slot.

    Raises:
        FormatError: the shape and the tensors do not belong together.
    """
    used = [False] * len(tensors)
    tree = _unpack(packed.root, tensors, used, 0)
    if not all(used):
        raise FormatError(f"tensors: {used.count(False)} of {len(used)} have no place in the tree.")
    return tree


def _pack(value: Any, path: str, depth: int, sources: list[Source | Loan]) -> Node:
    if depth > DEEPEST:
        raise UsageError(f"{path} lies deeper than {DEEPEST} levels, or contains itself. Give a flatter tree.")
    if arrays.is_array(value) or isinstance(value, Loan):
        sources.append(value if isinstance(value, Loan) else arrays.to_source(value, path))
        return Leaf(len(sources) - 1)
    if isinstance(value, list | tuple):
        items = [_pack(item, f"{path}[{index}]", depth + 1, sources) for index, item in enumerate(value)]
        return List(items) if isinstance(value, list) else Tuple(items)
    fields = value if isinstance(value, dict) else trees.fields(value)
    if fields is not None:
        return Dict(
            [
                (_scalar(key, f"a key of {path}"), _pack(item, _member(path, key), depth + 1, sources))
                for key, item in fields.items()
            ]
        )
    return _scalar(value, path)


def _member(path: str, key: object) -> str:
    return f"{path}.{key}" if isinstance(key, str) and key.isidentifier() else f"{path}[{key!r}]"


def _scalar(value: Any, path: str) -> Scalar:
    kind = type(value)
    if kind not in _SCALARS:
        raise UsageError(
            f"{path} is a {kind.__module__}.{kind.__qualname__}, which cannot travel. Give an array, a list, a tuple, "
            "a dict, a dataclass, or a plain None, bool, int, float, str or bytes (of a numpy scalar: .item())."
        )
    if kind is int and value not in _INTEGERS:
        raise UsageError(f"{path} is an integer of more than 64 bits. Give it as text or as bytes.")
    if kind is str and not value.isascii():
        _check_text(value, path)
    return Bytes(value) if kind is bytes else value


def _check_text(value: str, path: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise UsageError(f"{path} is no text that UTF-8 can carry ({error}). Give it as bytes.") from None


def _unpack(node: Node, tensors: Sequence[Tensor], used: list[bool], depth: int) -> Any:
    if depth > DEEPEST:
        raise FormatError(f"tree: deeper than {DEEPEST} levels.")
    match node:
        case Leaf(index):
            if not 0 <= index < len(tensors) or used[index]:
                raise FormatError(f"tree: tensor {index} of {len(tensors)} is missing, or used twice.")
            used[index] = True
            return arrays.from_tensor(tensors[index])
        case List(items):
            return [_unpack(item, tensors, used, depth + 1) for item in items]
        case Tuple(items):
            return tuple(_unpack(item, tensors, used, depth + 1) for item in items)
        case Dict(pairs):
            return {_plain(key): _unpack(item, tensors, used, depth + 1) for key, item in pairs}
    return _plain(node)


def _plain(scalar: Scalar) -> Plain:
    return scalar.data if isinstance(scalar, Bytes) else scalar
