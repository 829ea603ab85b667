"""Real processes of tests, recorded while their tests run, and held against the models when all tests are over."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from omni_ipc.conformance.recordings.sessions import Session, load
from omni_ipc.conformance.recordings.validate import Answer
from omni_ipc.errors import Inconclusive
from omni_ipc.seam.recording import recorded
from omni_ipc.workflows.recording import children_recorded
from omni_ipc.workflows.validating import ValidatedSession, validate_sessions

SPECS = (
    "SplitMap",
    "FutureOrphan",
    "PumpSurvival",
    "StaleReply",
    "DrainBeforeSleep",
    "Admission",
    "ReusedRequestId",
    "AbandonedStream",
)
SEARCH_S = 400  # at the end of all tests, on a busy machine; a quiet one takes ten seconds


class Recordings:
    """What the processes of some tests wrote down, a folder for each test process of pytest."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="recordings-"))

    def children(self) -> AbstractContextManager[None]:
        """Record whatever process is started, until this is left."""
        return children_recorded(self._folder)

    def itself(self, test: str) -> AbstractContextManager[None]:
        """Record what this process does for a test, in a folder of the test's name."""
        return recorded(self._folder / re.sub(r"\W+", "_", test))

    def validate(self) -> None:
        """Fail whichever test comes last if what one of the processes did is rejected; the recordings are kept then."""
        sessions = load([self._folder])
        if rejected := [f"{spec}: {told}" for spec in SPECS for told in _rejected(sessions, spec)]:
            told = "\n".join(rejected)
            pytest.fail(f"What was done by real processes ({self._folder}) no model does:\n{told}", pytrace=False)
        shutil.rmtree(self._folder)


def _rejected(sessions: Sequence[Session], spec: str) -> Iterator[str]:
    """Tell of each session that a model rejects, or could not be asked about, from which test it is."""
    try:
        validated = validate_sessions(sessions, spec=spec)
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
