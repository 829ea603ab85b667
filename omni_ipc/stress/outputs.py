"""Outputs whose every byte is known in advance: what a worker makes of a request, and how its consumer checks it.

All bytes come out of one pattern that repeats itself after a prime number of them. So a piece that was put to a wrong
place, which is off by some power of two or by the size of a slot, is seen; and so is another request's output, for each
request starts elsewhere in the pattern. Nobody needs to hold more than one period to check a gigabyte.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from omni_ipc import trees

PERIOD = 1_048_573
"""Bytes; the largest prime below 1 MiB."""

_STRIDE = 2_654_435_761  # a large odd number
_HEIGHT, _WIDTH, _CHANNELS = 24, 32, 3  # of a video's frame
_SOUND = 100  # samples of each channel that a frame lasts
_FRAME_BYTES = _HEIGHT * _WIDTH * _CHANNELS + 2 * _SOUND * 4
_NUMBER_BYTES = 8
_TENSORS = 32  # of an output that consists of many
_DTYPES = ("uint8", "bool", "int8", "uint16", "float16", "int32", "float32", "complex64", "int64", "float64")

_ALL = np.uint8(0xFF)
_MASKS = {"bool": np.uint8(1)}  # which bits of the pattern a type may have

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


class Kind(enum.StrEnum):
    """What an output consists of."""

    PLAIN = "plain"  # one tensor
    ROW = "row"  # one tensor, which is a row of one that the whole batch shares
    VIDEO = "video"  # frames, which lie channel by channel on the device, and sound
    NESTED = "nested"  # containers in containers, tensors of all types, of no elements, of no dimensions
    MANY = "many"  # as many tensors as a batch has requests


class Leaf:
    """A tensor to be: of which type and shape, and where in the pattern its bytes begin.

    Args:
        channels_last: whether it is looked at with its first dimension as the last one.
    """

    __slots__ = ("channels_last", "dtype", "nbytes", "shape", "start")

    def __init__(self, dtype: str, shape: tuple[int, ...], start: int, *, channels_last: bool = False) -> None:
        self.dtype = dtype
        self.shape = shape
        self.start = start
        self.channels_last = channels_last
        self.nbytes = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize


def plan(kind: Kind, nbytes: int, salt: int) -> Any:
    """Say what the output of a request is: a tree of `Leaf`, numbers and texts.

    Args:
        nbytes: of all its tensors together, at most; a video has one frame, however few they are, and one that is
            nested its number.
        salt: of this request alone.
    """
    leaf = _Leaves(salt)
    match kind:
        case Kind.PLAIN | Kind.ROW:
            return {"image": leaf("uint8", nbytes)}
        case Kind.VIDEO:
            frames = max(1, nbytes // _FRAME_BYTES)
            return {
                "frames": leaf("uint8", _CHANNELS, frames, _HEIGHT, _WIDTH, channels_last=True),
                "sound": (leaf("float32", 2, _SOUND * frames), {"rate_hz": 2400}),
                "title": f"film {salt}",
            }
        case Kind.NESTED:
            share = max(0, nbytes - _NUMBER_BYTES) // len(_DTYPES)
            each = [leaf(dtype, share // np.dtype(dtype).itemsize) for dtype in _DTYPES]
            return {
                "latents": [tuple(each[:3]), {"mask": each[3], "more": [[each[4]], each[5:]]}],
                "empty": leaf("float32", 0, 3),
                "number": leaf("int64"),
                "nothing": None,
                "seed": salt,
                "done": True,
            }
        case Kind.MANY:
            return [leaf("uint8", nbytes // _TENSORS) for _ in range(_TENSORS)]


def make(fill: Callable[[Leaf], Any], planned: Any) -> Any:
    """Make an output: what a function gives for each `Leaf`, and all else as it is planned."""
    return trees.mapped(lambda leaf: fill(leaf) if isinstance(leaf, Leaf) else leaf, planned)


def nbytes_of(planned: Any) -> int:
    """Tell how many bytes the tensors of an output have."""
    return sum(leaf.nbytes for leaf in trees.leaves(planned) if isinstance(leaf, Leaf))


@functools.cache
def pattern() -> Bytes:
    """Give one period of what all outputs are made of."""
    words = np.arange(-(-PERIOD // 8), dtype=np.uint64) * np.uint64(_STRIDE)
    return words.view(np.uint8)[:PERIOD]


def lay(target: Any, period: Any, start: int) -> None:
    """Fill a flat array of bytes with the pattern.

    Args:
        target: uint8 of shape (n,), of numpy or torch.
        period: the pattern, of the same framework and on the same device.
        start: where in the pattern to begin.
    """
    for begin, size, at in _pieces(len(target), start):
        piece = target[begin : begin + size]
        if size % PERIOD or at:
            piece[...] = period[at : at + size]
        else:
            piece.reshape(-1, PERIOD)[...] = period


def difference(planned: Any, found: Any, path: str = "output") -> str | None:
    """Tell where an output differs from what was planned; None if it does not."""
    if isinstance(planned, Leaf):
        return _leaf_difference(planned, found, path)
    if type(planned) is not type(found):
        return f"{path} is a {type(found).__name__}, and a {type(planned).__name__} was asked for"
    if not isinstance(planned, dict | list | tuple):
        return None if planned == found else f"{path} is {found!r:.80}, and {planned!r:.80} was asked for"
    if isinstance(planned, dict):
        pairs = [*planned.items()], [*found.items()]
    else:
        pairs = [*enumerate(planned)], [*enumerate(found)]
    if [key for key, _ in pairs[0]] != [key for key, _ in pairs[1]]:
        return f"{path} has {[key for key, _ in pairs[1]]!r:.80}"
    for (key, one), (_, other) in zip(*pairs, strict=True):
        if (told := difference(one, other, f"{path}[{key!r}]")) is not None:
            return told
    return None


class _Leaves:
    """Makes the leaves of one output, each from another place of the pattern on."""

    def __init__(self, salt: int) -> None:
        self._salt = salt
        self._count = 0

    def __call__(self, dtype: str, *shape: int, channels_last: bool = False) -> Leaf:
        self._count += 1
        return Leaf(dtype, shape, (self._salt * 7919 + self._count * 104_729) % PERIOD, channels_last=channels_last)


def _pieces(nbytes: int, start: int) -> Iterator[tuple[int, int, int]]:
    """Cut a stretch of the pattern into what comes before a period, whole periods, and the rest: (begin, size, at)."""
    head = min(nbytes, PERIOD - start) if start else 0
    whole = (nbytes - head) // PERIOD * PERIOD
    rest = nbytes - head - whole
    for begin, size, at in ((0, head, start), (head, whole, 0), (head + whole, rest, 0)):
        if size:
            yield begin, size, at


def _leaf_difference(leaf: Leaf, found: Any, path: str) -> str | None:
    dtype = str(getattr(found, "dtype", type(found).__name__)).removeprefix("torch.")
    shape = (*leaf.shape[1:], leaf.shape[0]) if leaf.channels_last else leaf.shape
    there = tuple(getattr(found, "shape", ()))
    if (dtype, there) != (leaf.dtype, shape):
        return f"{path} is {dtype} of {there}, and {leaf.dtype} of {shape} was asked for"
    data = _flat(found, channels_last=leaf.channels_last)
    for begin, size, at in _pieces(leaf.nbytes, leaf.start):
        for offset in range(begin, begin + size, PERIOD):
            piece = data[offset : min(offset + PERIOD, begin + size)]
            wanted = pattern()[at : at + len(piece)] & _MASKS.get(leaf.dtype, _ALL)
            if not np.array_equal(piece, wanted):
                wrong = np.flatnonzero(piece != wanted)
                return (
                    f"{path}, {leaf.nbytes:,} bytes: byte {offset + int(wrong[0]):,} is {int(piece[wrong[0]])}, and "
                    f"{int(wanted[wrong[0]])} was asked for; {len(wrong):,} of {len(piece):,} there are wrong"
                )
    return None


def _flat(array: Any, *, channels_last: bool) -> Bytes:
    """View the bytes of an array as they lay on the device; a copy, if they lie otherwise by now."""
    if isinstance(array, np.ndarray):
        moved = np.moveaxis(array, -1, 0) if channels_last else array
        return np.ascontiguousarray(moved).reshape(-1).view(np.uint8)
    import torch

    tensor = array.movedim(-1, 0) if channels_last else array
    flat: Bytes = tensor.contiguous().reshape(-1).view(torch.uint8).numpy()
    return flat
