"""Each run of these tests on real processes is recorded, and all recordings are held against the models at the end.

Where there is no TLC to hold them against anything, as on a bare GPU node, nothing is recorded.
"""

from __future__ import annotations

import functools
import signal
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from omni_ipc.conformance.tlc.toolchain import Toolchain
from omni_ipc.errors import EnvironmentMissing
from tests.support.validated import SEARCH_S, Recordings

HERE = Path(__file__).parent
FILES = frozenset(HERE / f"test_{name}.py" for name in ("host", "group", "ranks"))
RECORDINGS = pytest.StashKey[Recordings]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Record the processes that are started for a test, its module's fixtures too, and none of any other test."""
    if not _is_recorded(item):
        return (yield)
    if RECORDINGS not in item.config.stash:
        item.config.stash[RECORDINGS] = Recordings()
    with item.config.stash[RECORDINGS].children():
        return (yield)


@pytest.fixture(scope="session")
def recordings(request: pytest.FixtureRequest) -> Iterator[Recordings]:
    """Hold what was recorded against the models when all tests are over."""
    recordings = request.config.stash[RECORDINGS]
    yield recordings
    if signal.getitimer(signal.ITIMER_REAL)[0]:  # the time of whichever test happens to be the last
        signal.setitimer(signal.ITIMER_REAL, SEARCH_S)
    recordings.validate()


@pytest.fixture(autouse=True)
def _recorded(request: pytest.FixtureRequest) -> Iterator[None]:
    """Record what the test does itself."""
    if not _is_recorded(request.node):
        yield
        return
    with request.getfixturevalue("recordings").itself(request.node.name):
        yield


def _is_recorded(item: pytest.Item) -> bool:
    return (item.path in FILES or item.path.is_relative_to(HERE / "contract")) and _has_tlc()


@functools.cache
def _has_tlc() -> bool:
    try:
        Toolchain.find()
    except EnvironmentMissing:
        return False
    return True
