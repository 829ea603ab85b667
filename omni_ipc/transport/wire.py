"""Messages as bytes: msgpack of tagged structs, decoded by type. Nothing that arrives is executed or unpickled."""

from __future__ import annotations

import functools
import traceback
from typing import Any, TypeVar, overload

import msgspec

from omni_ipc.errors import FormatError, PeerFailed, UsageError

T = TypeVar("T")

MOST_TEXT = 32_768  # characters of each text of a RemoteError; of a longer traceback the end is kept


def encode(message: Any) -> bytes:
    """Encode a struct.

    Raises:
        UsageError: it holds something that msgpack cannot carry.
    """
    try:
        return _encoder().encode(message)
    except (TypeError, ValueError, OverflowError, RecursionError, NotImplementedError) as error:
        raise UsageError(
            f"A {type(message).__name__} cannot be encoded: {error}. "
            "Use numbers of 64 bits, text, bytes, lists, dicts and structs."
        ) from None


@overload
def decode(data: bytes | bytearray | memoryview, type: type[T]) -> T: ...
@overload
def decode(data: bytes | bytearray | memoryview, type: Any) -> Any: ...
def decode(data: bytes | bytearray | memoryview, type: Any) -> Any:
    """Decode bytes as the given type, or union of tagged structs, and as nothing else.

    Raises:
        FormatError: the bytes are no msgpack, or not of this type; the message names the path inside them.
    """
    return _decoder(type).decode(data)


class Decoder:
    """Decodes bytes as one type; whoever keeps it saves the search for it."""

    def __init__(self, type: Any) -> None:
        self._type = type
        self._decode = msgspec.msgpack.Decoder(type).decode

    def decode(self, data: bytes | bytearray | memoryview) -> Any:
        """Decode as `decode` does."""
        try:
            return self._decode(data)
        except (msgspec.DecodeError, RecursionError) as error:
            raise FormatError(
                f"A message of {len(data)} bytes is no {_name(self._type)}: {error}. "
                "Do both sides run the same omni_ipc?"
            ) from None


class RemoteError(msgspec.Struct, frozen=True, tag=True):
    """An exception as text: all of it that may cross a process boundary."""

    kind: str  # "module.Class"
    message: str
    traceback: str

    @classmethod
    def from_exception(cls, error: BaseException) -> RemoteError:
        """Describe an exception, with its traceback and its causes; never raises."""
        kind = type(error)
        lines = "".join(traceback.format_exception(error))
        return cls(
            f"{kind.__module__}.{kind.__qualname__}", _plain(_text(error))[:MOST_TEXT], _plain(lines)[-MOST_TEXT:]
        )

    def as_error(self, peer: str) -> PeerFailed:
        """Make the exception that tells it on this side."""
        return PeerFailed(f"{peer} failed with {self.kind}: {self.message}\n{self.traceback}".rstrip())


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as second:
        return f"<its text cannot be had: {type(second).__name__}>"


def _plain(text: str) -> str:
    """Replace what UTF-8 cannot carry."""
    return text.encode("utf-8", "backslashreplace").decode()


def _name(type: Any) -> str:
    return getattr(type, "__name__", None) or str(type)


@functools.cache
def _encoder() -> msgspec.msgpack.Encoder:
    return msgspec.msgpack.Encoder()


@functools.cache
def _decoder(type: Any) -> Decoder:
    return Decoder(type)
