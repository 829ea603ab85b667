"""The other side of a `Child`: a process that reads commands on standard input, and answers each, a line of JSON each.

It ends with its standard input.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from omni_ipc.errors import UsageError
from omni_ipc.workflows.bench.measures import Found
from omni_ipc.workflows.bench.priority import come_first

C = TypeVar("C")


def answer_commands(load: Callable[[str], Any], command: type[C], carry_out: Callable[[C, Any], Found]) -> None:
    """Answer commands until there are no more; the first answer tells whether what is to be measured is there.

    Args:
        load: imports it by the first word of the command line.
        command: the type of commands.
        carry_out: does what a command says with it.
    """
    come_first()
    answers = os.dup(1)
    os.dup2(2, 1)  # what libraries print is no answer

    def answer(found: Found) -> None:
        os.write(answers, msgspec.json.encode(found) + b"\n")

    try:
        subject = load(sys.argv[1])
    except (ImportError, UsageError) as error:
        answer(Found(reason=str(error)))
        return
    answer(Found())
    for line in sys.stdin:
        try:
            found = carry_out(msgspec.json.decode(line, type=command), subject)
        except Exception as error:
            found = Found(reason=described(error))
        answer(found)


def described(error: BaseException) -> str:
    """Tell of an error in a line."""
    return f"{type(error).__name__}: {error}"
