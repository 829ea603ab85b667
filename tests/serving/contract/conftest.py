"""Each run of these tests on real processes is recorded, and all recordings are held against the models at the end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from omni_ipc.seam.recording import recorded
from tests.support.validated import SEARCH_S, children_validated

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give whichever test comes last the time that the search takes."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.timeout(SEARCH_S))


@pytest.fixture(scope="session", autouse=True)
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Record the processes that the tests start; fails whichever comes last if what one of them did is rejected."""
    folder = tmp_path_factory.mktemp("recordings")
    with children_validated(folder):
        yield folder


@pytest.fixture(autouse=True)
def _recorded(recordings: Path, request: pytest.FixtureRequest) -> Iterator[None]:
    """Record what the test does itself, in a folder of its name."""
    with recorded(recordings / re.sub(r"\W+", "_", request.node.name)):
        yield
