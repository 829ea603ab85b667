"""Where a task is, in the lines of the code under test."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import sysconfig
from types import FrameType, TracebackType

IMPORTING = "<frozen importlib._bootstrap>"
"""The file of the code that sets modules up."""

_ROOM = os.path.dirname(os.path.abspath(__file__))
_SEAM = os.path.join(os.path.dirname(_ROOM), "seam")
_OURS = (_ROOM + os.sep, _SEAM + os.sep, contextlib.__file__)
_STDLIB = os.path.abspath(sysconfig.get_path("stdlib")) + os.sep
_INSTALLED = tuple({os.path.abspath(sysconfig.get_path(key)) + os.sep for key in ("purelib", "platlib")})


@functools.cache
def is_ours(file: str) -> bool:
    """Tell whether a source file belongs to the testbed or the seam, and so is of no interest to the reader."""
    return file.startswith(_OURS)


@functools.cache
def is_stdlib(file: str) -> bool:
    """Tell whether a source file belongs to Python itself."""
    return file.startswith("<frozen") or (file.startswith(_STDLIB) and not file.startswith(_INSTALLED))


@functools.cache
def is_foundation(file: str) -> bool:
    """Tell whether a source file is not of the code under test, but the testbed's, the seam's or Python's own."""
    return is_ours(file) or is_stdlib(file)


def is_between(frame: FrameType) -> bool:
    """Tell whether a frame is the testbed's own, or of a module that only stands between it and the code under test.

    Such a module says so as it does to pytest: ``__tracebackhide__ = True``.
    """
    return is_ours(frame.f_code.co_filename) or "__tracebackhide__" in frame.f_globals


def product_frame(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame of the code under test, or of what runs it if there is none."""
    innermost = None
    while frame is not None:
        if not is_between(frame):
            innermost = innermost or frame
            if not is_stdlib(frame.f_code.co_filename):
                return frame
        frame = frame.f_back
    return innermost


def locate(frame: FrameType | None) -> str | None:
    """Name the innermost line of the code under test: "outputs.py:88 in deliver"."""
    frame = product_frame(frame)
    return None if frame is None else _text(frame, frame.f_lineno)


def locate_here() -> str | None:
    """Name the line of the code under test that runs now."""
    return locate(sys._getframe(1))


def locate_error(trace: TracebackType | None) -> str | None:
    """Name the line of the code under test at which an exception was raised, or which called what raised it."""
    place = None
    while trace is not None:
        is_hidden = is_between(trace.tb_frame)
        if place is None or not (is_hidden or is_stdlib(trace.tb_frame.f_code.co_filename)):
            place = None if is_hidden else _text(trace.tb_frame, trace.tb_lineno)
        trace = trace.tb_next
    return place


def from_here(file: str) -> str:
    """Name a file as seen from the working folder, if it lies below: a saved trace goes to other machines."""
    try:
        here = os.getcwd()
    except OSError:  # it was removed
        return file
    return file.removeprefix(here + os.sep)


def _text(frame: FrameType, line: int) -> str:
    return f"{os.path.basename(frame.f_code.co_filename)}:{line} in {frame.f_code.co_name}"
