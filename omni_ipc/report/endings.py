"""How a command ends: its exit code, and the sentence for an error that ended it."""

from __future__ import annotations

import enum
import errno
import traceback
from typing import NamedTuple

from omni_ipc.errors import InternalError, OmniError, UnknownName, UsageError


class ExitCode(enum.IntEnum):
    """Exit codes, the same for every command."""

    AS_CLAIMED = 0  # holds, bounded, ended well, all as expected
    VIOLATED = 1  # or diverged, or not as expected
    USAGE = 2  # the call, a file or this machine is in the way
    INCONCLUSIVE = 3  # neither yes nor no


class Ending(NamedTuple):
    """An error, told to people and to scripts."""

    exit_code: ExitCode
    sentence: str  # one line: what follows it, such as a worker's traceback, is for those who debug
    is_list: bool = False  # of names, mostly: it may be broken anywhere, for nobody copies it as a command


_OURS = {errno.EBADF, errno.EINVAL, errno.EFAULT, errno.ENOTSOCK, errno.ECHILD, errno.ESRCH}  # mistakes of a program
_EXHAUSTED = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE}


def ending_of(error: BaseException) -> Ending:
    """Say how a command ends that was ended by this error.

    A bug of omni-ipc makes it inconclusive: the question was not answered, and another call would not help.
    """
    match error:
        case KeyboardInterrupt():
            kept = _first_line(error)
            left = f". {kept}" if kept else ", and nothing is left behind."
            return Ending(ExitCode.INCONCLUSIVE, f"Interrupted: nothing was concluded{left}")
        case UsageError():
            told = str(error).replace("\n", "␊")  # of a name or a path, which is told whole
            return Ending(ExitCode.USAGE, told, is_list=isinstance(error, UnknownName))
        case OmniError() if not isinstance(error, InternalError):
            return Ending(ExitCode.INCONCLUSIVE, _first_line(error))
        case MemoryError():
            return Ending(ExitCode.USAGE, "This machine has no memory left. Free some, or ask for less.")
        case OSError(errno=int(number)) if number not in _OURS and not isinstance(error, ConnectionError):
            act = "Free some there" if number in _EXHAUSTED else "Mend that"
            return Ending(ExitCode.USAGE, f"This machine refuses: {error}. {act}, and run it again.")
    bug = f"A bug of omni-ipc ended this: {type(error).__name__}: {_first_line(error)} ({_place(error)})."
    return Ending(ExitCode.INCONCLUSIVE, f"{bug} Please report it with the traceback that comes with OMNI_IPC_DEBUG=1.")


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "no traceback"
