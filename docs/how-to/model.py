"""A model in place of yours: it draws a gradient, and takes its time if it is told to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from omni_ipc.seam.api import Runtime
from omni_ipc.serving.requests import Request

COLOURS = {"red": 0, "green": 1, "blue": 2}


class Gradient:
    """One output a request: ``{"image": uint8 of shape (height, width, 3)}``; with ``frames``, that many of them."""

    def __init__(self, *, rt: Runtime) -> None:
        self._rt = rt

    def forward(self, batch: Sequence[Request]) -> list[Any]:
        """Draw from dark to the colour that the prompt names."""
        self._rt.sleep(max(float(request.options.get("seconds") or 0) for request in batch))
        return [self._draw(request) for request in batch]

    def _draw(self, request: Request) -> Any:
        if request.prompt not in COLOURS:
            return ValueError(f"no colour is called '{request.prompt}'")
        height, width = int(request.options.get("height") or 64), int(request.options.get("width") or 96)
        image = np.zeros((height, width, 3), np.uint8)
        image[:, :, COLOURS[request.prompt]] = np.linspace(0, 255, width, dtype=np.uint8)
        if frames := int(request.options.get("frames") or 0):
            return {"image": np.stack([np.roll(image, number, axis=1) for number in range(frames)])}
        return {"image": image}
