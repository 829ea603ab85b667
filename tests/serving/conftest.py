"""Each run of the tests of hosts on real processes is recorded, and held against the models at the end of its file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from omni_ipc.seam.recording import recorded
from tests.support.validated import SEARCH_S, children_validated

ON_PROCESSES = frozenset(Path(__file__).with_name(f"test_{name}.py") for name in ("host", "group", "ranks"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give whichever test comes last the time that the search takes."""
    for item in items:
        if item.path in ON_PROCESSES:
            item.add_marker(pytest.mark.timeout(SEARCH_S))


@pytest.fixture(scope="module", autouse=True)
def recordings(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path | None]:
    """Record the processes that a file starts; fails its last test if what one of them did is rejected."""
    if request.path not in ON_PROCESSES:
        yield None
        return
    folder = tmp_path_factory.mktemp("recordings")
    with children_validated(folder):
        yield folder


@pytest.fixture(autouse=True)
def _recorded(recordings: Path | None, request: pytest.FixtureRequest) -> Iterator[None]:
    """Record what a test does itself, in a folder of its name."""
    if recordings is None:
        yield
        return
    with recorded(recordings / re.sub(r"\W+", "_", request.node.name)):
        yield
