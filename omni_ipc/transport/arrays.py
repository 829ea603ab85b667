"""Numpy arrays and torch tensors as `Tensor`, and back: same framework, element type, shape and bytes.

Torch is imported when a torch tensor must be built, and not before; whoever holds one to send has imported it already.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from omni_ipc.errors import EnvironmentMissing, UsageError
from omni_ipc.transport import dtypes
from omni_ipc.transport.tensor import Framework, Tensor

if TYPE_CHECKING:
    import torch


def is_array(value: object) -> bool:
    """Tell whether the value is a numpy array or a torch tensor."""
    return isinstance(value, np.ndarray) or _is_torch(value)


def to_tensor(value: Any, path: str) -> Tensor:
    """Describe an array and give its bytes: a view of its memory if that is contiguous, else one copy.

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
    """
    if tensor.framework is Framework.TORCH:
        return _to_torch(tensor)
    return np.frombuffer(tensor.data.toreadonly(), dtype=np.dtype(tensor.dtype)).reshape(tensor.shape)


def _is_torch(value: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _from_numpy(value: np.ndarray[Any, Any], path: str) -> Tensor:
    if type(value) is not np.ndarray:
        raise _cannot(path, f"a {type(value).__name__}", "numpy.asarray(value), if only its elements matter")
    if value.dtype.name not in dtypes.NUMPY_DTYPES or not value.dtype.isnative:
        remedy = "elements of a plain type, such as array.astype('float32') or array.view('int64')"
        raise _cannot(path, f"a numpy array of {value.dtype}", remedy)
    raw = np.asarray(value, order="C").reshape(-1).view(np.uint8)
    return Tensor(Framework.NUMPY, value.dtype.name, value.shape, raw.data)


def _from_torch(value: torch.Tensor, path: str) -> Tensor:
    import torch

    kind = f"a torch tensor ({value.dtype}, {value.layout}, on {value.device})"
    dtype = str(value.dtype).removeprefix("torch.")
    if value.layout is not torch.strided or value.is_nested:
        raise _cannot(path, kind, "tensor.to_dense(), or the tensors that it is made of")
    if value.device.type != "cpu":
        raise _cannot(path, kind, "what device.to_host(...) makes of it")
    if not dtypes.travels(dtype):
        raise _cannot(path, kind, "tensor.int_repr() and its scale, if it is quantised")
    plain = value.resolve_conj().resolve_neg().contiguous()
    raw = plain.reshape(-1).view(torch.uint8).numpy()
    return Tensor(Framework.TORCH, dtype, tuple(value.shape), raw.data)


def _to_torch(tensor: Tensor) -> torch.Tensor:
    try:
        import torch
    except ImportError:
        raise EnvironmentMissing("A torch tensor came, and torch is not installed here.", "pip install torch") from None
    dtype = getattr(torch, tensor.dtype)
    if not tensor.data.nbytes:  # torch.frombuffer refuses an empty buffer
        return torch.empty(tensor.shape, dtype=dtype)
    return torch.frombuffer(tensor.data, dtype=dtype).reshape(tensor.shape)


def _cannot(path: str, what: str, remedy: str) -> UsageError:
    return UsageError(f"{path} is {what}, which cannot travel. Give {remedy}.")
