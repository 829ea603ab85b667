"""A program for machines that does what its order says, act by act: ``python -m tests.machines.saying``."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import msgspec

from omni_ipc.machines import Program
from omni_ipc.machines.child import Mouth, end_with_starter, read_order

Act = tuple[str, str | int]


def program(*acts: Act) -> Program:
    """Order acts: say WORD, exit STATUS, die FILE (unless that is there), wait WORD (and say it when asked to end)."""
    return Program("tests.machines.saying", msgspec.json.encode(acts))


def main() -> None:
    """Act as ordered."""
    end_with_starter()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # it may be asked before it waits
    mouth = Mouth()
    for kind, value in msgspec.json.decode(read_order(), type=list[Act]):
        match kind:
            case "say":
                mouth.say(value)
            case "pid":
                mouth.say(os.getpid())
            case "print":
                print(value)
            case "exit":
                sys.exit(int(value))
            case "die":
                if not Path(str(value)).exists():
                    Path(str(value)).touch()
                    os.kill(os.getpid(), signal.SIGKILL)
            case "wait":
                signal.sigwait({signal.SIGTERM})
                mouth.say(value)


if __name__ == "__main__":
    main()
