"""How a command ends: what it returns, or, for each error, an exit code and one sentence."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Callable, Iterator

from omni_ipc.cli.interrupts import answered
from omni_ipc.report.endings import ending_of
from omni_ipc.report.output import ShowProgress, complain, progress


def end(command: Callable[[], int]) -> int:
    """Run a command, which may raise whatever it likes, and return the exit code."""
    try:
        code = command()
        if sys.stdout is not None:  # the caller may have closed it
            sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:
        if os.environ.get("OMNI_IPC_DEBUG"):
            traceback.print_exc()
        code, sentence, is_list = ending_of(error)
        complain(sentence, broken=is_list)
    return code


@contextlib.contextmanager
def working(at: str) -> Iterator[ShowProgress]:
    """Do what a command is there for: its progress is shown, and Ctrl-C ends it."""
    with answered(), progress(at) as show_progress:
        yield show_progress
