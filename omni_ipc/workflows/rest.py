"""Whether processes have come to rest: then what has not happened by now will not happen."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable

from omni_ipc.transport.liveness import stat_fields

ON_HOST_S = 0.3
"""How long all must be asleep, with a worker that computes on the host: longer than the pump's poll of dead workers."""

ON_DEVICE_S = 2.0
"""The same with any other device: copies and first launches take long, and who waits for them sleeps as well."""

_RUNNING = frozenset({b"R", b"D"})  # on a core, waiting for one, or for a disk


def rest_s_on(device: str) -> float:
    """Give the seconds after which processes that sleep have come to rest.

    Args:
        device: of the worker, by torch's name: "cpu", "cuda:1", "xpu".
    """
    return ON_HOST_S if device.partition(":")[0] == "cpu" else ON_DEVICE_S


def all_asleep(pids: Iterable[int]) -> bool:
    """Tell whether all threads of some processes wait for something; the one that asks does not count.

    A thread that could go on, and merely gets no core on a busy machine, is not asleep.
    """
    own = threading.get_native_id()
    return not any(_runs(f"{pid}/task/{tid}") for pid in pids for tid in _threads(pid, own))


def _threads(pid: int, own: int) -> Iterable[int]:
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
        return {int(tid) for tid in os.listdir(f"/proc/{pid}/task")} - {own}
    return ()


def _runs(thread: str) -> bool:
    fields = stat_fields(thread)
    return fields is not None and fields[0] in _RUNNING
