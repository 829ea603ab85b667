"""The arithmetic of a small diffusion model: a picture hidden behind noise, and steps that bring it forth (DDIM).

Source: J. Song, C. Meng, S. Ermon, "Denoising diffusion implicit models", 2021.
"""

from __future__ import annotations

import hashlib
import math

import torch
from torch import Tensor
from torch.nn.functional import conv2d

CHANNELS = 3
_BLOBS = 6
_HIDDEN = 8


def signal_share(step: int, steps: int) -> float:
    """Tell how much of the variance is signal after so many steps: 0 before the first, 1 after the last."""
    return math.sin(math.pi / 2 * step / steps) ** 2


def encode(prompt: str) -> Tensor:
    """Turn a text into blobs, float32 of shape (blobs, 6): place, width, and colour, all from its hash."""
    digest = hashlib.shake_128(prompt.encode()).digest(_BLOBS * 6)
    return torch.tensor(list(digest), dtype=torch.float32).reshape(_BLOBS, 6) / 255


def draw(blobs: Tensor, height: int, width: int) -> Tensor:
    """Draw blobs: float32 of shape (3, height, width), from -1 to 1, on their device."""
    down = torch.linspace(0, 1, height, device=blobs.device)[:, None]
    across = torch.linspace(0, 1, width, device=blobs.device)[None, :]
    picture = torch.zeros(CHANNELS, height, width, device=blobs.device)
    for y, x, spread, *colour in blobs.unbind():
        strength = torch.exp(-((down - y) ** 2 + (across - x) ** 2) / (0.01 + 0.1 * spread))
        picture += torch.stack(colour)[:, None, None] * strength
    return picture.clamp(0, 1) * 2 - 1


def noise(seed: int, prompt: str, height: int, width: int) -> Tensor:
    """Draw what a rendering begins with: float32 of shape (3, height, width), on the host: everywhere the same."""
    mixed = int.from_bytes(hashlib.blake2b(f"{seed} {prompt}".encode(), digest_size=7).digest(), "little")
    return torch.randn(CHANNELS, height, width, generator=torch.Generator().manual_seed(mixed))


def weights(seed: int) -> list[Tensor]:
    """Draw the weights of two convolutions; nobody has trained them."""
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.randn(_HIDDEN, CHANNELS, 3, 3, generator=generator) / 3,
        torch.randn(CHANNELS, _HIDDEN, 3, 3, generator=generator) / 6,
    ]


def predict(noisy: Tensor, picture: Tensor, kernels: list[Tensor]) -> Tensor:
    """Guess the picture behind the noise: what the prompt says, with a texture that the network sees in it."""
    hidden = torch.tanh(conv2d(noisy[None], kernels[0], padding=1))
    texture = torch.tanh(conv2d(hidden, kernels[1], padding=1))[0]
    return picture + 0.1 * texture


def advance(noisy: Tensor, guess: Tensor, step: int, steps: int) -> Tensor:
    """Take the state after ``step`` steps to the next one."""
    now, then = signal_share(step, steps), signal_share(step + 1, steps)
    rest = (noisy - math.sqrt(now) * guess) / math.sqrt(1 - now)
    return math.sqrt(then) * guess + math.sqrt(1 - then) * rest


def to_image(picture: Tensor) -> Tensor:
    """Turn -1 to 1 into uint8 of shape (height, width, 3)."""
    return ((picture.clamp(-1, 1) + 1) * 127.5).round().to(torch.uint8).movedim(0, -1).contiguous()


def from_image(image: Tensor) -> Tensor:
    """Do the opposite."""
    return image.movedim(-1, 0).to(torch.float32) / 127.5 - 1
