"""How a command ends."""

from __future__ import annotations

import errno

import pytest

from omni_ipc.errors import Full, Inconclusive, InternalError, PeerDied, PeerFailed, Timeout, UnknownName, UsageError
from omni_ipc.report.endings import ending_of


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("wrong"), 2),
        (UnknownName("model", "X", ["Y"]), 2),
        (Inconclusive("unknown"), 3),
        (PeerDied("worker", "signal 9"), 3),
        (Full("full"), 3),
        (Timeout("late"), 3),
        (KeyboardInterrupt(), 3),
        (MemoryError(), 2),
        (OSError(errno.ENOSPC, "No space left on device"), 2),
        (PermissionError(errno.EACCES, "Permission denied"), 2),
        (FileNotFoundError(errno.ENOENT, "No usable temporary directory found"), 2),
        (OSError(errno.EIO, "Input/output error"), 2),
        (OSError(errno.EBADF, "Bad file descriptor"), 3),
        (OSError("of no number"), 3),
        (InternalError("broken"), 3),
        (ZeroDivisionError("division by zero"), 3),
        (ConnectionResetError(errno.ECONNRESET, "reset"), 3),
    ],
)
def test_each_error_has_an_exit_code(error: BaseException, code: int) -> None:
    """Who must act decides: 2 where the caller can do something about it, 3 where nothing was concluded."""
    assert ending_of(error).exit_code == code


def test_an_expected_error_is_told_in_its_own_words() -> None:
    """The error wrote the sentence; nothing is added to it, and a worker's traceback stays behind."""
    assert ending_of(UsageError("Do that.")).sentence == "Do that."
    assert ending_of(UnknownName("defect", "evil\nname", ())).sentence == "There is no defect 'evil␊name'. Known: none."
    assert ending_of(PeerFailed("It broke: why\nTraceback (most recent call last):\n")).sentence == "It broke: why"


def test_a_bug_is_told_with_its_place_and_how_to_report_it() -> None:
    """What nobody expected is called a bug, even if it has the class of an error that somebody did expect."""
    try:
        raise InternalError("the slot is gone")
    except InternalError as error:
        sentence = ending_of(error).sentence
    assert sentence.startswith("A bug of omni-ipc ended this: InternalError: the slot is gone (")
    assert "test_endings.py:" in sentence
    assert "OMNI_IPC_DEBUG=1" in sentence
