"""The door for people and scripts: parse, call a workflow, print.

Exit codes, the same for every command:

    0  as claimed: it holds, holds within the bounds told, ended well, is as expected
    1  violated, diverged, or not as expected
    2  the call, a file or this machine is in the way: change that
    3  inconclusive, neither yes nor no: Ctrl-C, a worker that died, a bug of omni-ipc itself

People read standard output; progress and errors go to standard error. An error is one sentence; its traceback comes
with OMNI_IPC_DEBUG=1. A command imports what it needs when it runs, so that each starts at once.

app.py         the commands, by name
ending.py      how a command ends, whatever happens
interrupts.py  when Ctrl-C is answered
"""

import sys

from omni_ipc.cli.interrupts import defer, leave


def main() -> None:
    """Run the command line."""
    defer()  # from here on, and while what follows is imported
    if sys.argv[1:2] in (["explore"], ["replay"]):  # they run others' code, in a process that is watched from outside
        from omni_ipc.testbed.outside import go_on_watched

        go_on_watched()
    from omni_ipc.cli.app import run
    from omni_ipc.cli.ending import end
    from omni_ipc.report.output import survive_readers

    survive_readers()
    leave(end(run))
