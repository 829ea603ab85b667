"""The examples of the how-to pages, as their readers run them; the server over HTTP, from outside."""

from __future__ import annotations

import asyncio
import importlib
import io
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.results import Outcome
from tests.serving.contract.engines import is_idle
from tests.support.documents import DOCS, ROOT, check_commands, quotable, quotes
from tests.support.waiting import until

FOLDER = DOCS / "how-to"


class Site:
    """A running server, and a client of it."""

    def __init__(self, process: subprocess.Popen[bytes], path: Path, client: httpx.Client) -> None:
        self.process = process
        self.socket = path
        self.client = client

    def generate(self, **body: object) -> httpx.Response:
        return self.client.post("/generate", json=body)

    def metric(self, name: str) -> float:
        (value,) = re.findall(rf"^omni_ipc_{re.escape(name)} (\S+)$", self.client.get("/metrics").text, re.MULTILINE)
        return float(value)

    def workers(self) -> list[int]:
        """Give the processes that it has started."""
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return [int(pid) for task in tasks for pid in task.read_text().split()]


@contextmanager
def serving(tmp_path: Path) -> Iterator[Site]:
    """Run the server, and stop it as a supervisor would; nothing of it is left then."""
    path = tmp_path / "http.sock"
    command = [sys.executable, "server.py", "--uds", str(path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=FOLDER, env=environment, stderr=subprocess.PIPE) as process:
        try:
            until(lambda: path.exists() or process.poll() is not None, seconds=60)
            transport = httpx.HTTPTransport(uds=str(path))
            with httpx.Client(transport=transport, base_url="http://server", timeout=60) as client:
                site = Site(process, path, client)
                yield site
            workers = site.workers()
            process.terminate()
            _, said = process.communicate(timeout=60)
            assert b"Traceback" not in said, said.decode()
            assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]
        finally:
            process.kill()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with serving(tmp_path) as site:
        yield site


def test_the_example_serves_images_videos_health_and_metrics(site: Site) -> None:
    """What is asked for comes in its format; what is wrong is told, with a status of its own, and harms nobody else."""
    from PIL import Image

    for form in ("png", "webp"):
        answer = site.generate(prompt="blue", options={"width": 256}, format=form)
        assert (answer.status_code, answer.headers["content-type"]) == (200, f"image/{form}")
        pixels = np.asarray(Image.open(io.BytesIO(answer.content)))
        assert pixels.shape == (64, 256, 3)
        assert pixels[:, -1, 2].min() > 240
    answer = site.generate(prompt="red", options={"frames": 5}, format="mp4")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "video/mp4")
    assert answer.content[4:8] == b"ftyp"
    for body, status, told in (
        ({"prompt": "mauve"}, 500, "no colour is called 'mauve'"),
        ({"prompt": "red", "format": "gif"}, 400, "Invalid enum value 'gif'"),
        ({"prompt": 3}, 400, "Expected `str`, got `int`"),
    ):
        refused = site.generate(**body)
        assert (refused.status_code, told in refused.text) == (status, True), refused.text
    assert site.client.post("/generate", content=b"{").status_code == 400
    assert (site.client.get("/health").status_code, site.client.get("/health").text) == (200, "ok\n")
    assert site.metric('requests_ended_total{outcome="result"}') == 3
    assert site.metric('requests_ended_total{outcome="error"}') == 1
    assert site.metric("requests_open") == 0


def test_a_client_that_goes_away_has_aborted_its_request_and_nothing_is_left_of_it(site: Site) -> None:
    """While it is computed; the next one is served."""
    body = b'{"prompt": "red", "options": {"seconds": 4}}'
    with socket.socket(socket.AF_UNIX) as leaving:
        leaving.connect(str(site.socket))
        leaving.sendall(b"POST /generate HTTP/1.1\r\nHost: server\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        until(lambda: site.metric("requests_open") == 1)
    until(lambda: site.metric('requests_ended_total{outcome="aborted"}') == 1)
    assert site.metric("requests_open") == 0
    assert site.generate(prompt="green").status_code == 200


def test_a_client_that_leaves_in_the_middle_of_its_video_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of it is not made, and the slot that it was made of goes back to the worker."""
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in ("server", "model"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    app = importlib.import_module("server").application("model:Gradient", EngineConfig(output_slots=((1 << 24, 2),)))
    pieces: list[bytes] = []

    async def visit() -> None:
        begun = asyncio.Event()
        body = b'{"prompt": "red", "options": {"frames": 60, "width": 256, "height": 256}, "format": "mp4"}'
        asked = [{"type": "http.request", "body": body}]

        async def receive() -> dict[str, object]:
            if asked:
                return asked.pop()
            await begun.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            if message.get("body"):
                pieces.append(message["body"])
                begun.set()

        async with app.router.lifespan_context(app):
            scope = {"type": "http", "method": "POST", "path": "/generate", "headers": [], "query_string": b""}
            await app(scope, receive, send)
            engine = app.routes[0].endpoint.__self__._engine
            await asyncio.to_thread(until, lambda: is_idle(engine))
            assert engine.statistics().ended[Outcome.RESULT] == 1

    asyncio.run(visit())
    assert 1 <= len(pieces) < 60


def test_the_commands_of_the_page_do_what_it_says(tmp_path: Path) -> None:
    """Those of its shell block, at another port; by curl, if that is here."""
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    (block,) = re.findall(r"```sh\n(.*?)```", (FOLDER / "serve-http.md").read_text(), re.DOTALL)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        serve, *asks = block.replace("8000", str(free.getsockname()[1])).replace("python", sys.executable).splitlines()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(["sh", "-c", f"{serve.replace('&& ', '&& exec ')}"], cwd=ROOT, env=environment) as server:
        try:
            said = []
            for ask in asks:
                command = ask.replace("curl ", "curl --retry 60 --retry-connrefused --retry-delay 1 ")
                done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, timeout=120, check=True)
                said.append(done.stdout)
        finally:
            server.terminate()
    assert said[:2] == [b"", b"ok\n"]
    assert b'omni_ipc_requests_ended_total{outcome="result"} 1.0' in said[2]
    assert (tmp_path / "blue.png").read_bytes().startswith(b"\x89PNG")


def test_a_dead_worker_makes_health_bad_and_requests_fail_with_its_signal(site: Site) -> None:
    """At once, and for good: whoever looks at the health starts the server anew."""
    assert site.generate(prompt="green").status_code == 200
    (worker,) = site.workers()
    os.kill(worker, signal.SIGKILL)
    until(lambda: site.client.get("/health").status_code == 503)
    assert "killed by SIGKILL" in site.client.get("/health").text
    refused = site.generate(prompt="green")
    assert (refused.status_code, "killed by SIGKILL" in refused.text) == (503, True)


def test_the_example_of_a_trainer_says_what_its_page_shows(tmp_path: Path) -> None:
    """As a reader would run it."""
    folder = tmp_path / "reader"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    check_commands((FOLDER / "hand-on.md").read_text(), folder, width=100, quiet=True)


@pytest.mark.parametrize(("page", "many"), [("serve-http.md", 5), ("hand-on.md", 2)])
def test_a_page_quotes_its_example_as_it_is(page: str, many: int) -> None:
    """Character for character; and what it links to exists."""
    text = (FOLDER / page).read_text()
    quoted = quotes(text)
    assert len(quoted) == many
    for path, what, shown in quoted:
        assert shown == quotable(ROOT / path, what), what
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)#:]+)\)", prose):
        assert (FOLDER / link).exists(), link
