"""An engine behind HTTP: python server.py --port 8000

POST /generate  {"prompt": "blue", "options": {"width": 256}, "format": "png"}  ──► the image, or video, as it is made
GET /health     200 while requests can be served, else 503 with the reason
GET /metrics    for Prometheus
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Literal

import msgspec
import prometheus_client
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from omni_ipc.errors import Aborted, Full, OmniError, PeerFailed, ShutdownError, Timeout, UsageError
from omni_ipc.serving.engine import Engine
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.media import VIDEO_MEDIA_TYPE, ImageFormat, image, video
from omni_ipc.serving.prometheus import EngineCollector
from omni_ipc.serving.requests import Option, Request
from omni_ipc.serving.results import RequestOutput

STATUS: Mapping[type[Exception], int] = {
    msgspec.ValidationError: 400,
    msgspec.DecodeError: 400,
    UsageError: 400,
    Full: 429,
    PeerFailed: 500,  # the model raised
    Timeout: 504,
    ShutdownError: 503,
    OmniError: 503,
}


class Wanted(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request."""

    prompt: str
    options: dict[str, Option] = {}
    format: Literal["png", "webp", "mp4"] = "png"


class Api:
    """The routes over one engine, which lives as long as the application runs."""

    def __init__(self, pipeline: str, config: EngineConfig) -> None:
        self._pipeline = pipeline
        self._config = config
        self._numbers = itertools.count(1)
        self._registry = prometheus_client.CollectorRegistry()

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        """Start the engine, and end it; both take a while, in which the event loop goes on."""
        async with await asyncio.to_thread(Engine, self._config, self._pipeline) as self._engine:
            self._registry.register(EngineCollector(self._engine))
            yield

    async def generate(self, request: HttpRequest) -> Response:
        """Serve one request; a client that goes away has aborted it."""
        wanted = msgspec.json.decode(await request.body(), type=Wanted)
        submitted = self._engine.submit(Request(f"http-{next(self._numbers)}", wanted.prompt, wanted.options))
        async with submitted as stream:  # whatever happens from here on, the output is taken or dropped
            output = await unless_gone(request, stream.output())
        return Encoded(output, wanted.format)

    async def health(self, request: HttpRequest) -> Response:
        """Say whether a request could be served now: that of every worker, and of every part of the engine."""
        self._engine.check_health()
        return PlainTextResponse("ok\n")

    async def metrics(self, request: HttpRequest) -> Response:
        """Give the engine's statistics."""
        latest = prometheus_client.generate_latest(self._registry)
        return Response(latest, media_type=prometheus_client.CONTENT_TYPE_LATEST)


async def unless_gone(request: HttpRequest, output: Any) -> RequestOutput:
    """Wait for an output, unless the client goes first: then there is nobody to send it to."""
    waiting, gone = asyncio.ensure_future(output), asyncio.ensure_future(left(request))
    try:
        await asyncio.wait((waiting, gone), return_when=asyncio.FIRST_COMPLETED)
        if not waiting.done():
            raise Aborted("The client has gone.")
        result: RequestOutput = waiting.result()
        return result
    finally:
        for task in (waiting, gone):
            task.cancel()
        await asyncio.gather(waiting, gone, return_exceptions=True)


async def left(request: HttpRequest) -> None:
    """Wait until the client has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


class Encoded(StreamingResponse):
    """An output as it is encoded; let go of when the client has it, or has gone, and not when garbage is collected."""

    def __init__(self, output: RequestOutput, form: str) -> None:
        self._pieces = encoded(output, form)
        super().__init__(self._pieces, media_type=media_type(form))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with contextlib.closing(self._pieces):
            await super().__call__(scope, receive, send)


def encoded(output: RequestOutput, form: str) -> Iterator[bytes]:
    """Encode, piece by piece, as fast as the client takes it."""
    pixels = output.value["image"]
    if form == "mp4":
        yield from video(pixels if pixels.ndim == 4 else pixels[None])
    else:
        yield from image(pixels if pixels.ndim == 3 else pixels[0], ImageFormat(form))


def media_type(form: str) -> str:
    """Name a format for HTTP."""
    return VIDEO_MEDIA_TYPE if form == "mp4" else ImageFormat(form).media_type


async def failed(_: HttpRequest, error: Exception) -> Response:
    """Tell the client what happened, in its own words."""
    status = next((status for kind, status in STATUS.items() if isinstance(error, kind)), 500)
    return PlainTextResponse(f"{error}\n", status_code=status)


def application(pipeline: str, config: EngineConfig) -> Starlette:
    """Make the application."""
    api = Api(pipeline, config)
    return Starlette(
        routes=[
            Route("/generate", api.generate, methods=["POST"]),
            Route("/health", api.health),
            Route("/metrics", api.metrics),
        ],
        lifespan=api.lifespan,
        exception_handlers=dict.fromkeys(STATUS, failed),
    )


def main() -> None:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(description="Serve images over HTTP.")
    parser.add_argument("--pipeline", default="model:Gradient", help="import path of your model")
    parser.add_argument("--device", default="cpu", help="of the worker, in torch's words: cuda, cuda:1, xpu")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--uds", help="a Unix socket to listen on, instead of a port")
    words = parser.parse_args()
    app = application(words.pipeline, EngineConfig(max_batch=8, device=words.device))
    uvicorn.run(app, port=words.port, uds=words.uds, log_level="warning")


if __name__ == "__main__":
    main()
