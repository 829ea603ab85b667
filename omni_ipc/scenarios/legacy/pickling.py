"""Messages pickled with the arrays beside them; large ones of these are set aside, in shared memory as it were.

Which are large is asked of each array by itself, and of the bytes that it shows. Both questions are the wrong ones:

* torch pickles a view with its whole storage, so that 32 small views of one batch carry the batch 32 times;
* 32 arrays just under the threshold are together over the limit of a message.
"""

from __future__ import annotations

import io
import pickle
from typing import Any, NamedTuple

from omni_ipc.transport.arrays import is_array

INLINE_BYTES = 1 << 20


class Pickled(NamedTuple):
    """A message as it travels."""

    data: bytes
    aside: tuple[Any, ...]  # copies of the large arrays, which ``data`` names by their index

    @property
    def wire_bytes(self) -> int:
        """Bytes that a slot, or a socket, has to carry."""
        return len(self.data)


def dumps(value: Any, inline_bytes: int = INLINE_BYTES) -> Pickled:
    """Pickle a message.

    Args:
        value: the message, and a tree of host arrays beside it.
        inline_bytes: what an array may show and still be pickled with the message.
    """
    file = io.BytesIO()
    packer = _Packer(file, inline_bytes)
    packer.dump(value)
    return Pickled(file.getvalue(), tuple(packer.aside))


def loads(pickled: Pickled) -> Any:
    """Unpickle a message: run whatever its sender wrote, which is why nothing else here does so."""
    unpacker = _Unpacker(io.BytesIO(pickled.data))
    unpacker.aside = pickled.aside
    return unpacker.load()


class _Packer(pickle.Pickler):
    def __init__(self, file: io.BytesIO, inline_bytes: int) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.aside: list[Any] = []
        self._inline_bytes = inline_bytes

    def persistent_id(self, obj: Any) -> int | None:
        if not is_array(obj) or obj.nbytes <= self._inline_bytes:
            return None
        self.aside.append(obj.clone() if hasattr(obj, "clone") else obj.copy())
        return len(self.aside) - 1


class _Unpacker(pickle.Unpickler):
    aside: tuple[Any, ...] = ()

    def persistent_load(self, pid: Any) -> Any:
        return self.aside[pid]
