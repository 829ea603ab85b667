"""Outputs as images and videos: what comes out is read back by what others use."""

from __future__ import annotations

import io
import sys
from typing import Any

import numpy as np
import pytest

from omni_ipc.errors import EnvironmentMissing, UsageError
from omni_ipc.serving.media import PIECE_BYTES, ImageFormat, as_pixels, image, video

Array = np.ndarray[Any, Any]


def noise(*shape: int) -> Array:
    return np.random.default_rng(5).integers(0, 256, shape, dtype=np.uint8)


def read(pieces: list[bytes]) -> Array:
    """Decode an image."""
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(b"".join(pieces))))


@pytest.mark.parametrize("shape", [(48, 64), (48, 64, 3), (48, 64, 4), (1, 1, 3)])
def test_a_png_has_exactly_the_pixels(shape: tuple[int, ...]) -> None:
    """Grey, colours, and colours with transparency."""
    pixels = noise(*shape)
    assert (read(list(image(pixels))) == pixels).all()


def test_one_channel_is_grey_whether_it_has_an_axis_or_not() -> None:
    """The image that comes back has none."""
    pixels = noise(48, 64, 1)
    assert (read(list(image(pixels))) == pixels[:, :, 0]).all()


def test_webp_is_smaller_and_near() -> None:
    """Of a smooth picture; its quality is the caller's choice."""
    across = np.linspace(0, 1, 256, dtype=np.float32)
    smooth = np.broadcast_to(across[None, :, None], (256, 256, 3))
    small, large = (b"".join(image(smooth, ImageFormat.WEBP, quality=quality)) for quality in (10, 95))
    assert len(small) < len(large) < len(b"".join(image(smooth)))
    assert np.abs(read([large]).astype(int) - as_pixels(smooth).astype(int)).max() < 16


def test_a_large_image_comes_in_pieces() -> None:
    """None of them is larger than it may be, and together they are the image."""
    pixels = noise(512, 512, 3)
    pieces = list(image(pixels))
    assert len(pieces) > 10
    assert max(map(len, pieces)) == PIECE_BYTES
    assert (read(pieces) == pixels).all()


def test_numbers_from_0_to_1_become_pixels_and_what_lies_beyond_is_cut_off() -> None:
    """What is no number is black."""
    values = np.array([[-0.5, 0.0, 0.5], [1.0, 2.0, np.nan]], dtype=np.float64)
    assert as_pixels(values).tolist() == [[0, 0, 128], [255, 255, 0]]


def test_pixels_are_looked_at_where_they_lie() -> None:
    """Nothing is copied before the encoder reads them."""
    pixels = noise(8, 8, 3)
    assert np.shares_memory(as_pixels(pixels), pixels)


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["uint8", "bfloat16", "float16"])
def test_torch_tensors_are_images_too(dtype: str) -> None:
    """Also of element types that numpy does not know."""
    import torch

    tensor = torch.ones(4, 4, 3, dtype=getattr(torch, dtype), requires_grad=dtype != "uint8")
    assert as_pixels(tensor).max() == (1 if dtype == "uint8" else 255)


@pytest.mark.parametrize(
    ("array", "told"),
    [
        (np.zeros((3, 8, 9), np.uint8), r"shape \(3, 8, 9\) is no image\. .*moveaxis\(array, 0, -1\)"),
        (np.zeros(7, np.uint8), r"shape \(7,\) is no image"),
        (np.zeros((0, 4), np.uint8), r"shape \(0, 4\) is no image"),
        (np.zeros((4, 4), np.int32), "An array of int32 is no image. Give uint8 from 0 to 255"),
    ],
)
def test_what_is_no_image_is_refused(array: Array, told: str) -> None:
    """With what it is, and what to give."""
    with pytest.raises(UsageError, match=told):
        image(array)


def test_a_video_comes_while_it_is_made_and_plays() -> None:
    """Its first piece is there before its last frame is, and its frames come back in order."""
    av = pytest.importorskip("av", reason="pip install 'omni-ipc[video]'")
    given: list[int] = []

    def frames() -> Any:
        for number in range(12):
            given.append(number)
            yield np.full((32, 48, 3), 20 * number, np.uint8)

    pieces = video(frames(), frames_per_s=12)
    begun = next(pieces)
    assert len(given) < 12
    with av.open(io.BytesIO(begun + b"".join(pieces))) as container:
        shades = [frame.to_ndarray(format="rgb24").mean() for frame in container.decode(video=0)]
    assert shades == pytest.approx([20 * number for number in range(12)], abs=6)


@pytest.mark.parametrize(
    ("frames", "told"),
    [
        ([], "A video of no frames"),
        ([np.zeros((3, 4, 3), np.uint8)], r"Frame 0 has the shape \(3, 4, 3\)\. .* height and width even"),
        ([np.zeros((4, 4), np.uint8)], r"Frame 0 has the shape \(4, 4\)"),
        (
            [np.zeros((4, 4, 3), np.uint8), np.zeros((4, 6, 3), np.uint8)],
            "Frame 1 has 6x4 pixels, and the .* 4x4",
        ),
    ],
)
def test_what_is_no_video_is_refused(frames: list[Array], told: str) -> None:
    """With the frame that is at fault."""
    pytest.importorskip("av", reason="pip install 'omni-ipc[video]'")
    with pytest.raises(UsageError, match=told):
        list(video(frames))


def test_a_video_that_nobody_wants_any_more_is_not_made_to_its_end() -> None:
    """Its encoder is closed with the generator."""
    pytest.importorskip("av", reason="pip install 'omni-ipc[video]'")
    given: list[int] = []
    pieces = video(given.append(number) or np.zeros((32, 32, 3), np.uint8) for number in range(100))
    next(pieces)
    pieces.close()
    assert len(given) < 100


@pytest.mark.parametrize(
    ("library", "make", "remedy"),
    [
        ("PIL", lambda: image(noise(4, 4)), r"pip install 'omni-ipc\[http\]'"),
        ("av", lambda: list(video([noise(4, 4, 3)])), r"pip install 'omni-ipc\[video\]'"),
    ],
)
def test_a_missing_library_is_named_with_the_command_that_brings_it(
    library: str, make: Any, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When it is needed, and not before."""
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(EnvironmentMissing, match=remedy):
        make()
