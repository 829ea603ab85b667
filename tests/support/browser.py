"""Debian's chromium without a window, as tests look at a page: what is in it once its script has run, and a picture."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

_PATIENCE_S = 60
_QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)


class Browser:
    """Chromium with a profile of its own.

    Args:
        folder: for the profile and its litter.
    """

    def __init__(self, folder: Path) -> None:
        found = shutil.which("chromium") or shutil.which("chromium-browser")
        if found is None:
            pytest.skip("there is no chromium here; as root: apt-get install -y chromium")
        self._command = (found, *_QUIET, f"--user-data-dir={folder}", "--virtual-time-budget=2000")

    def dump(self, page: Path, fragment: str = "") -> str:
        """Return the page as its script leaves it."""
        return self._run("--dump-dom", f"{page.as_uri()}{fragment}")

    def draw(self, page: Path, picture: Path, size: tuple[int, int]) -> Path:
        """Draw what a window of this size shows of the page."""
        self._run(f"--window-size={size[0]},{size[1]}", f"--screenshot={picture}", page.as_uri())
        return picture

    def _run(self, *words: str) -> str:
        ended = subprocess.run(
            [*self._command, *words], capture_output=True, text=True, timeout=_PATIENCE_S, check=False
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout


def what_it_loads(page: str) -> list[str]:
    """Name what a page would load from elsewhere, by its elements, styles or script."""
    parser = _Links()
    parser.feed(page)
    return parser.found + re.findall(r"@import|url\((?!#)|fetch\(|XMLHttpRequest|WebSocket|import\(", page)


class _Links(HTMLParser):
    """Collects the elements and attributes that load something."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [f"{tag} {name}" for name, _ in attrs if name in ("src", "href", "srcset", "data", "action")]
        if tag in ("link", "iframe", "object", "img"):
            self.found.append(tag)
