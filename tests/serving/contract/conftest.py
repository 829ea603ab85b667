"""Each run of these tests on real processes is recorded, and all recordings are held against the models at the end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from omni_ipc.conformance.validate import Answer
from omni_ipc.errors import Inconclusive
from omni_ipc.seam.recording import recorded
from omni_ipc.workflows.recording import children_recorded
from omni_ipc.workflows.validating import ValidatedSession, validate_recordings

SPECS = ("SplitMap", "FutureOrphan")
SEARCH_S = 400  # at the end of all tests, on a busy machine; a quiet one takes ten seconds
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
    with children_recorded(folder):
        yield folder
    rejected = [f"{spec}: {told}" for spec in SPECS for told in _rejected(folder, spec)]
    if rejected:
        pytest.fail("What real processes did is no behaviour of the models:\n" + "\n".join(rejected), pytrace=False)


@pytest.fixture(autouse=True)
def _recorded(recordings: Path, request: pytest.FixtureRequest) -> Iterator[None]:
    """Record what the test does itself, in a folder of its name."""
    with recorded(recordings / re.sub(r"\W+", "_", request.node.name)):
        yield


def _rejected(folder: Path, spec: str) -> Iterator[str]:
    """Tell of each session that a model rejects, or could not be asked about, from which test it is."""
    try:
        validated = validate_recordings([folder], spec=spec)
    except Inconclusive as error:
        if "speaks of none" not in str(error):  # a single test may well do nothing that this model knows
            yield str(error)
        return
    for session in validated.sessions:
        if session.steps and session.answer is not Answer.ACCEPTED:
            repair = session.rejection.repair if session.rejection else ""
            yield f"{_test_of(session)}: {session.answer}, {session.reason} {repair}"


def _test_of(session: ValidatedSession) -> str:
    return next((folder for folder in (Path(file).parent.name for file in session.files) if "test" in folder), "?")
