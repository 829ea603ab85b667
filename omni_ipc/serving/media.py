"""Outputs as files, for clients that take no arrays: images by Pillow, video by PyAV, in pieces as they are made.

An array is looked at where it lies, in the worker's slab if it came by that; what is made of it is small.

    for piece in image(output.value["image"], ImageFormat.WEBP): send(piece)
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from typing import IO, Any, cast

import numpy as np

from omni_ipc.errors import EnvironmentMissing, UsageError

PIECE_BYTES = 64 << 10

_MODES = {1: "L", 3: "RGB", 4: "RGBA"}
_FRAGMENTED = "frag_keyframe+empty_moov+default_base_moof"  # can be played, and sent, before it has ended

Pixels = np.ndarray[Any, np.dtype[np.uint8]]


class ImageFormat(enum.StrEnum):
    """What an image is made to."""

    PNG = "png"  # exactly the pixels
    WEBP = "webp"  # smaller, and nearly the pixels

    @property
    def media_type(self) -> str:
        """Its name for HTTP."""
        return f"image/{self.value}"


VIDEO_MEDIA_TYPE = "video/mp4"


def image(array: Any, form: ImageFormat = ImageFormat.PNG, *, quality: int = 90) -> Iterator[bytes]:
    """Encode an image, and give it in pieces.

    Args:
        array: uint8 from 0 to 255, or floating point from 0 to 1 (what lies beyond is cut off), of shape
            (height, width), or (height, width, channels) with 1, 3 or 4 of them: numpy or host torch.
        form: what to make of it.
        quality: 1 to 100, of WebP.

    Raises:
        UsageError: the array is no image.
        EnvironmentMissing: Pillow is not installed.
    """
    try:
        from PIL import Image
    except ImportError:
        raise EnvironmentMissing("Images need Pillow.", "pip install 'omni-ipc[http]'") from None
    pixels = as_pixels(array)
    sink = _Sink()
    options: dict[str, Any] = {"compress_level": 1} if form is ImageFormat.PNG else {"quality": quality, "method": 2}
    mode = _MODES[1 if pixels.ndim == 2 else pixels.shape[2]]
    Image.frombytes(mode, pixels.shape[1::-1], pixels).save(cast("IO[bytes]", sink), form.value, **options)
    return sink.take(PIECE_BYTES)


def video(frames: Iterable[Any], *, frames_per_s: int = 24) -> Iterator[bytes]:
    """Encode a video as MP4 with H.264, frame by frame, and give each piece as soon as it is made.

    Args:
        frames: images of 3 channels, as `image` takes them, all of one size: even numbers of lines and columns. An
            array of shape (frames, height, width, 3) is one, too.
        frames_per_s: how fast it plays.

    Raises:
        UsageError: a frame is none, told when its turn has come.
        EnvironmentMissing: PyAV is not installed; told with the first piece.
    """
    try:
        import av
    except ImportError:
        raise EnvironmentMissing("Videos need PyAV.", "pip install 'omni-ipc[video]'") from None
    sink = _Sink()
    with av.open(sink, "w", format="mp4", options={"movflags": _FRAGMENTED}) as container:
        stream: Any = None
        for number, frame in enumerate(frames):
            pixels = _frame(frame, number)
            if stream is None:
                stream = container.add_stream("libx264", rate=frames_per_s, options=_FAST)
                stream.height, stream.width = pixels.shape[:2]
                stream.pix_fmt = "yuv420p"
            elif pixels.shape[:2] != (stream.height, stream.width):
                raise UsageError(
                    f"Frame {number} has {pixels.shape[1]}x{pixels.shape[0]} pixels, and the first one "
                    f"{stream.width}x{stream.height}. Give all frames one size."
                )
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
            yield from sink.take()
        if stream is None:
            raise UsageError("A video of no frames. Give one or more.")
        container.mux(stream.encode())
    yield from sink.take()


def as_pixels(array: Any) -> Pixels:
    """Give an image's pixels, contiguous; a view of the array if it has them.

    Raises:
        UsageError: the array is no image.
    """
    pixels = np.asarray(_on_host(array))
    channels = pixels.shape[2] if pixels.ndim == 3 else 1
    if pixels.ndim not in (2, 3) or channels not in _MODES or not pixels.size:
        raise UsageError(
            f"An array of shape {pixels.shape} is no image. Give (height, width), or (height, width, channels) with 1, "
            "3 or 4 channels; what has its channels first: array.movedim(0, -1), or numpy.moveaxis(array, 0, -1)."
        )
    if pixels.dtype.kind == "f":
        pixels = (np.clip(np.nan_to_num(pixels), 0, 1) * 255).round().astype(np.uint8)
    if pixels.dtype != np.uint8:
        raise UsageError(
            f"An array of {pixels.dtype} is no image. Give uint8 from 0 to 255, or floating point from 0 to 1."
        )
    return np.ascontiguousarray(pixels)


_FAST = {"preset": "veryfast", "tune": "zerolatency"}


class _Sink:
    """A file that is only written to, and what was written since one looked."""

    def __init__(self) -> None:
        self._written = bytearray()

    def write(self, data: bytes | bytearray | memoryview) -> int:
        self._written += data
        return len(data)

    def flush(self) -> None:
        return

    def take(self, piece_bytes: int | None = None) -> Iterator[bytes]:
        """Give it, whole or in pieces."""
        written, self._written = bytes(self._written), bytearray()
        step = piece_bytes or max(len(written), 1)
        return (written[start : start + step] for start in range(0, len(written), step))


def _on_host(array: Any) -> Any:
    """Turn a torch tensor to numpy, which knows fewer element types."""
    if not hasattr(array, "detach"):
        return array
    tensor = array.detach()
    return (tensor.float() if tensor.is_floating_point() else tensor).numpy()


def _frame(array: Any, number: int) -> Pixels:
    pixels = as_pixels(array)
    if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.shape[0] % 2 or pixels.shape[1] % 2:
        raise UsageError(
            f"Frame {number} has the shape {pixels.shape}. Give (height, width, 3), height and width even: H.264 "
            "halves the resolution of colours."
        )
    return pixels
