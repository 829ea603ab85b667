"""Real processes of tests, recorded, and held against the models at the end of their tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from omni_ipc.conformance.validate import Answer
from omni_ipc.errors import Inconclusive
from omni_ipc.workflows.recording import children_recorded
from omni_ipc.workflows.validating import ValidatedSession, validate_recordings

SPECS = ("SplitMap", "FutureOrphan")
SEARCH_S = 400  # at the end of all tests, on a busy machine; a quiet one takes ten seconds


@contextmanager
def children_validated(folder: Path) -> Iterator[None]:
    """Record the processes that are started; fail whichever test comes last if what one of them did is rejected."""
    with children_recorded(folder):
        yield
    if rejected := [f"{spec}: {told}" for spec in SPECS for told in _rejected(folder, spec)]:
        pytest.fail("What real processes did is no behaviour of the models:\n" + "\n".join(rejected), pytrace=False)


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
