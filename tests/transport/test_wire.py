"""Structs as bytes: decoded as what was asked for, and as nothing else."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omni_ipc.errors import FormatError, PeerFailed, UsageError
from omni_ipc.transport import wire
from omni_ipc.transport.wire import RemoteError


class Ask(msgspec.Struct, tag=True):
    """A request."""

    number: int


class Tell(msgspec.Struct, tag=True):
    """A reply."""

    texts: list[str]


EITHER = Ask | Tell


def test_a_struct_comes_back_as_the_member_of_the_union_that_it_was() -> None:
    """The tag says which, and whatever holds the bytes will do."""
    for holder in (bytes, bytearray, memoryview):
        assert wire.decode(holder(wire.encode(Tell(["a"]))), EITHER) == Tell(["a"])
    assert wire.decode(wire.encode(Ask(2**64 - 1)), EITHER) == Ask(2**64 - 1)


@pytest.mark.parametrize(
    ("message", "path"),
    [
        ({"type": "Tell", "texts": ["a", 7]}, r"Expected `str`, got `int` - at `\$.texts\[1\]`"),
        ({"type": "Other"}, r"Invalid value 'Other' - at `\$.type`"),
        ({"type": "Ask"}, "missing required field `number`"),
        ([1, 2], "Expected `object`, got `array`"),
    ],
)
def test_a_message_of_another_type_is_refused_by_its_path(message: object, path: str) -> None:
    """The error says where in the message, and what would have been right."""
    with pytest.raises(FormatError, match=rf"A message of \d+ bytes is no .*Ask.*Tell: .*{path}"):
        wire.decode(msgspec.msgpack.encode(message), EITHER)


@given(data=st.binary(max_size=64))
def test_arbitrary_bytes_are_refused_or_are_a_message(data: bytes) -> None:
    """No other exception, whatever comes."""
    try:
        assert isinstance(wire.decode(data, EITHER), EITHER)
    except FormatError as error:
        assert str(len(data)) in str(error)  # noqa: PT017


def test_nesting_without_end_is_refused() -> None:
    """A hostile message cannot exhaust the stack."""
    with pytest.raises(FormatError, match="is no list"):
        wire.decode(b"\x91" * 200_000, list)


@pytest.mark.parametrize("number", [2**64, object(), "\ud800"])
def test_what_msgpack_cannot_carry_is_the_caller_s_error(number: object) -> None:
    """It is refused when it is sent, not when it is read."""
    with pytest.raises(UsageError, match="A Ask cannot be encoded"):
        wire.encode(Ask(number))  # type: ignore[arg-type]


def raised(error: BaseException) -> RemoteError:
    """Raise an error, and describe it."""
    try:
        raise error
    except BaseException as caught:
        return wire.decode(wire.encode(RemoteError.from_exception(caught)), RemoteError)


def test_an_exception_travels_as_text_with_its_traceback() -> None:
    """The other side can tell what it was, where it came from, and who had it."""
    remote = raised(msgspec.ValidationError("wrong shape"))
    assert (remote.kind, remote.message) == ("msgspec.ValidationError", "wrong shape")
    assert "test_wire.py" in remote.traceback
    error = remote.as_error("Worker 0")
    assert type(error) is PeerFailed
    assert str(error).startswith("Worker 0 failed with msgspec.ValidationError: wrong shape\nTraceback")


class _Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_an_exception_that_cannot_be_shown_still_travels() -> None:
    """Neither a broken __str__, nor text that is no UTF-8, nor a text of megabytes stops the report."""
    assert raised(_Mute()).message == "<its text cannot be had: RuntimeError>"
    assert raised(ValueError("path \udcff")).message == "path \\udcff"
    long = raised(ValueError("x" * 10_000_000))
    assert len(long.message) <= wire.MOST_TEXT
    assert len(long.traceback) <= wire.MOST_TEXT
