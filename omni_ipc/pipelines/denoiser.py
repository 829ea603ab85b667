"""A small diffusion model as a pipeline: renders a picture for each prompt, in N steps, at once or step by step.

prompt ── encode ──► picture ──┐
seed, or a picture ──► noise ──┴► [ predict, advance ] for each step ──► {"image": uint8 of (height, width, 3)}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
import torch
from torch import Tensor

from omni_ipc.pipelines import diffusion
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.requests import Request

_WEIGHTS_SEED = 7


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a request may choose.

    Args:
        strength: of a request with ``inputs={"image": ...}``: how far its picture is turned into the prompt's, 0 to 1.
    """

    steps: int = 8
    seed: int = 0
    height: int = 64
    width: int = 64
    strength: float = 0.6

    def __post_init__(self) -> None:
        for name, most in (("steps", 1000), ("height", 4096), ("width", 4096)):
            if not 1 <= getattr(self, name) <= most:
                raise ValueError(f"{name}={getattr(self, name)}, and it must be from 1 to {most}")
        if not 0 <= self.strength <= 1:
            raise ValueError(f"strength={self.strength}, and it must be from 0 to 1")


class _Rendering(msgspec.Struct):
    """A picture in the making."""

    options: Options
    picture: Tensor  # that the prompt asks for
    state: Tensor
    step: int = 0  # that comes next


class Denoiser:
    """Renders pictures; asleep it keeps its weights on the host, or drops them, and it draws them again on waking."""

    calls = frozenset({"clear_cache"})
    frees = frozenset({"clear_cache"})

    def __init__(self, *, rt: Runtime, device: str = "cpu") -> None:
        self._rt = rt
        self._device = torch.device(device)
        self._encoded: dict[str, Tensor] = {}  # blobs of the prompts so far, on the device
        self._renderings: dict[tuple[str, int], _Rendering] = {}  # of step execution, by id and number
        self._stages: dict[str, float] = {}
        self._kernels: list[Tensor] = []
        self.wake()

    @torch.inference_mode()
    def forward(self, batch: Sequence[Request]) -> list[Any]:
        """Render each request's picture."""
        self._stages = {}
        begun = [self._begin(request) for request in batch]
        for rendering in begun:
            while isinstance(rendering, _Rendering) and rendering.step < rendering.options.steps:
                self._advance(rendering)
        return [self._finish(rendering) if isinstance(rendering, _Rendering) else rendering for rendering in begun]

    @torch.inference_mode()
    def step(self, batch: Sequence[Request]) -> list[Any]:
        """Do one step of each request's picture; None where another one is needed."""
        self._stages = {}
        asked = {(request.id, request.number) for request in batch}
        self._renderings = {key: rendering for key, rendering in self._renderings.items() if key in asked}
        return [self._step(request) for request in batch]

    def sleep(self, level: int) -> None:
        """Leave the device; pictures in the making are given up."""
        self.clear_cache()
        self._renderings.clear()
        self._kernels = [kernel.cpu() for kernel in self._kernels] if level == 1 else []
        self._give_back()

    def wake(self) -> None:
        """Take the weights to the device."""
        kernels = self._kernels or diffusion.weights(_WEIGHTS_SEED)
        self._kernels = [kernel.to(self._device) for kernel in kernels]

    def clear_cache(self) -> int:
        """Forget the prompts so far; returns how many there were."""
        count = len(self._encoded)
        self._encoded.clear()
        self._give_back()
        return count

    def stage_durations_s(self) -> dict[str, float]:
        """Tell how long encoding, denoising and decoding took the host; a device may still be at it."""
        return self._stages

    def _begin(self, request: Request) -> _Rendering | ValueError:
        with self._stage("encode"):
            try:
                options = msgspec.convert(request.options, Options)
                source = None if request.inputs is None else self._source(request, options)
            except ValueError as error:
                return ValueError(
                    f"Request '{request.id}': {error}. A denoiser takes {', '.join(Options.__struct_fields__)}."
                )
            if request.prompt not in self._encoded:
                self._encoded[request.prompt] = diffusion.encode(request.prompt).to(self._device)
            size = options.height, options.width
            picture = diffusion.draw(self._encoded[request.prompt], *size)
            if source is not None:
                picture = options.strength * picture + (1 - options.strength) * source
            state = diffusion.noise(options.seed, request.prompt, *size).to(self._device)
            return _Rendering(options, picture, state)

    def _source(self, request: Request, options: Options) -> Tensor:
        image = request.inputs.get("image") if isinstance(request.inputs, dict) else None
        shape = (options.height, options.width, diffusion.CHANNELS)
        found = tuple(getattr(image, "shape", ()))
        if found != shape:
            raise ValueError(f"inputs['image'] has the shape {found}, and height and width say {shape}")
        return diffusion.from_image(torch.tensor(image).to(self._device))

    def _advance(self, rendering: _Rendering) -> None:
        with self._stage("denoise"):
            guess = diffusion.predict(rendering.state, rendering.picture, self._kernels)
            rendering.state = diffusion.advance(rendering.state, guess, rendering.step, rendering.options.steps)
            rendering.step += 1

    def _finish(self, rendering: _Rendering) -> dict[str, Any]:
        with self._stage("decode"):
            return {"image": diffusion.to_image(rendering.state)}

    def _step(self, request: Request) -> Any:
        key = (request.id, request.number)
        rendering = self._renderings.get(key) or self._begin(request)
        if not isinstance(rendering, _Rendering):
            return rendering
        self._renderings[key] = rendering
        self._advance(rendering)
        if rendering.step < rendering.options.steps:
            return None
        del self._renderings[key]
        return self._finish(rendering)

    def _give_back(self) -> None:
        if self._device.type != "cpu":
            getattr(torch, self._device.type).empty_cache()

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        begun = self._rt.now()
        yield
        self._stages[name] = self._stages.get(name, 0.0) + self._rt.now() - begun
