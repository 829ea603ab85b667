"""What an error of a device means for the process that was told of it, and for the machine."""

from __future__ import annotations

import re

_FAILED = re.compile(r"(CUDA|XPU|SYCL|Level.Zero).*error|device (was |is )?lost", re.IGNORECASE)
_NO_ROOM = re.compile(r"out.of.(\w+.)?memory", re.IGNORECASE)
_OF_CODE = re.compile(
    r"illegal (memory access|address|instruction)|misaligned address|device-side assert"
    r"|invalid (argument|resource handle|device ordinal|device context|configuration|program counter)"
    r"|already (mapped|registered)|registered memory region|captur",
    re.IGNORECASE,
)


def is_lost_to_process(device: str, sentence: str) -> bool:
    """Tell whether a device answers no more to the process that the error comes from; it never will again.

    One that had no room, of its own memory or of the host's, answers the next time.

    Args:
        device: that the process computes on; the host is never lost.
    """
    return device != "cpu" and _FAILED.search(sentence) is not None and _NO_ROOM.search(sentence) is None


def is_lost(device: str, sentence: str) -> bool:
    """Tell whether an error says that the device is lost to all.

    Not one by which code has lost it to its process, nor what a device answers to a call that is wrong: both are the
    code's. That torch has no kernels for a device is the machine's.
    """
    return is_lost_to_process(device, sentence) and _OF_CODE.search(sentence) is None
