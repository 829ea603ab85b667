"""Numpy arrays and torch tensors as sources of bytes, and back: same framework, element type, shape and bytes.

Torch is imported when a torch tensor must be built, and not before; whoever holds one to send has imported it already.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from omni_ipc.errors import EnvironmentMissing, FormatError, UsageError
from omni_ipc.transport import dtypes
from omni_ipc.transport.tensor import Framework, Tensor

if TYPE_CHECKING:
    import torch

_NUMPY_NAMES = {np.dtype(name): name for name in dtypes.NUMPY_DTYPES}  # in this machine's byte order
_NUMPY_DTYPES = {name: dtype for dtype, name in _NUMPY_NAMES.items()}
_NUMPY = Framework.NUMPY  # a member of an enum is looked up slowly
_INTEGERS = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}


def is_array(value: object) -> bool:
    """Tell whether the value is a numpy array or a torch tensor."""
    return isinstance(value, np.ndarray) or _is_torch(value)


class Source(msgspec.Struct, frozen=True):
    """An array to be sent: described, and not copied yet."""

    framework: Framework
    dtype: str
    shape: tuple[int, ...]
    nbytes: int  # of the elements that it shows, whatever the storage behind them
    array: Any  # the caller's; of torch without its gradient, and as integers of its elements' size

    def inline(self) -> Tensor:
        """Give the bytes: a view of the array's memory if that is contiguous, else one copy."""
        return Tensor(self.framework, self.dtype, self.shape, _raw(self.array).data)

    def address(self) -> int | None:
        """Tell where the elements lie; None unless they lie there in C order, one behind the other."""
        if self.framework is _NUMPY:
            return self.array.ctypes.data if self.array.flags.c_contiguous else None
        return self.array.data_ptr() if _is_plain(self.array) else None

    def copy_to(self, target: memoryview) -> None:
        """Copy the elements into memory of their size; the one copy that they take, contiguous or not."""
        if self.framework is _NUMPY:
            copy = np.frombuffer(target, self.array.dtype)
            (copy if copy.shape == self.shape else copy.reshape(self.shape))[...] = self.array
        elif _is_plain(self.array):
            np.frombuffer(target, np.uint8)[...] = _raw(self.array)  # lets other threads run, unlike a memoryview
        else:
            _to_torch(str(self.array.dtype).removeprefix("torch."), self.shape, target).copy_(self.array)


def to_source(value: Any, path: str) -> Source:
    """Describe an array.

    Args:
        value: a numpy array or a torch tensor in host memory.
        path: where it stands, for messages.

    Raises:
        UsageError: its elements are no raw bytes, or are not in host memory.
    """
    return _from_torch(value, path) if _is_torch(value) else _from_numpy(value, path)


def from_tensor(tensor: Tensor) -> Any:
    """Build the array over the tensor's bytes, without a copy; numpy's is read-only, torch has no such thing.

    Raises:
        EnvironmentMissing: it is a torch tensor, and torch is not installed here.
        FormatError: its framework has no such element type, or no array of such a shape, even without elements.
    """
    dtype = _NUMPY_DTYPES.get(tensor.dtype)
    if tensor.framework is _NUMPY and dtype is None:
        raise FormatError(f"dtype: numpy has no {tensor.dtype}. Do both sides run the same omni_ipc?")
    try:
        if tensor.framework is Framework.TORCH:
            return _to_torch(tensor.dtype, tensor.shape, tensor.data)
        array = np.frombuffer(tensor.data.toreadonly(), dtype)
        return array if array.shape == tensor.shape else array.reshape(tensor.shape)
    except EnvironmentMissing:
        raise
    except (ValueError, TypeError, RuntimeError, OverflowError):  # each framework has its own; the bytes are the cause
        raise FormatError(f"shape: no {tensor.dtype} array can have {tensor.shape}.") from None


def _is_torch(value: object) -> bool:
    torch = sys.modules.get("torch")  # while another thread imports it, it has no tensors yet
    return isinstance(value, getattr(torch, "Tensor", ()))


def _from_numpy(value: np.ndarray[Any, Any], path: str) -> Source:
    if type(value) is not np.ndarray:
        raise _cannot(path, f"a {type(value).__name__}", "numpy.asarray(value), if only its elements matter")
    name = _NUMPY_NAMES.get(value.dtype)
    if name is None:
        remedy = "elements of a plain type, such as array.astype('float32') or array.view('int64')"
        raise _cannot(path, f"a numpy array of {value.dtype}", remedy)
    return Source(_NUMPY, name, value.shape, value.nbytes, value)


def _from_torch(value: torch.Tensor, path: str) -> Source:
    import torch

    kind = f"a torch tensor ({value.dtype}, {value.layout}, on {value.device})"
    dtype = str(value.dtype).removeprefix("torch.")
    if value.layout is not torch.strided or value.is_nested:
        raise _cannot(path, kind, "tensor.to_dense(), or the tensors that it is made of")
    if not dtypes.travels(dtype):
        raise _cannot(path, kind, "tensor.int_repr() and its scale, if it is quantised")
    if value.device.type != "cpu":
        raise _cannot(path, kind, "what device.to_host(...) makes of it")
    nbytes = value.numel() * value.element_size()
    if not _has_memory(value):
        raise _cannot(
            path, f"a {type(value).__name__} without memory for its {nbytes:,} bytes", "a tensor that has its elements"
        )
    return Source(Framework.TORCH, dtype, tuple(value.shape), nbytes, _as_integers(value.detach()))


def _as_integers(value: torch.Tensor) -> torch.Tensor:
    """View a tensor as a type that torch can copy, unlike its newest ones; a lazy view must be copied as what it is."""
    name = _INTEGERS.get(value.element_size())
    if name is None or value.is_conj() or value.is_neg():
        return value
    return value.view(getattr(sys.modules["torch"], name))


def _has_memory(value: torch.Tensor) -> bool:
    """Tell whether all elements lie in the storage: it may have been resized, or be a stand-in."""
    storage = value.untyped_storage()
    last = value.storage_offset() + sum((n - 1) * step for n, step in zip(value.shape, value.stride(), strict=True))
    reached = (last + 1) * value.element_size() if value.numel() else 0
    return storage.device.type == "cpu" and reached <= storage.nbytes()


def _is_plain(value: torch.Tensor) -> bool:
    return value.is_contiguous() and not value.is_conj() and not value.is_neg()


def _raw(array: Any) -> np.ndarray[Any, np.dtype[np.uint8]]:
    if not _is_torch(array):
        return np.asarray(array, order="C").reshape(-1).view(np.uint8)
    import torch

    raw: np.ndarray[Any, np.dtype[np.uint8]]
    flat = array.resolve_conj().resolve_neg().contiguous().reshape(-1)
    raw = flat.as_strided(flat.shape, (1,)).view(torch.uint8).numpy()  # a single element may have any stride
    return raw


def _to_torch(dtype: str, shape: tuple[int, ...], data: memoryview) -> torch.Tensor:
    try:
        import torch
    except ImportError:
        raise EnvironmentMissing("A torch tensor came, and torch is not installed here.", "pip install torch") from None
    kind = getattr(torch, dtype, None)
    if kind is None:
        raise EnvironmentMissing(f"A tensor of {dtype} came, and torch {torch.__version__} has none.", "Update torch.")
    if not data.nbytes:  # torch.frombuffer refuses an empty buffer
        return torch.empty(shape, dtype=kind)
    return torch.frombuffer(data, dtype=kind).reshape(shape)


def _cannot(path: str, what: str, remedy: str) -> UsageError:
    return UsageError(f"{path} is {what}, which cannot travel. Give {remedy}.")
