"""pytest plugin: tests that are run under schedule after schedule, and past races that are replayed for ever.

    @pytest.mark.interleave(seconds=5, instrument=["vendor.pump"])
    def test_nothing_is_lost(): ...                          explored; what fails is saved, and run first next time

    pytest 'tests/test_pump.py::test_nothing_is_lost' --omni-replay .omni_ipc/failures/....trace.json
    pytest traces/twice.trace.json                           a trace that is named is a test of its own
    omni_ipc_traces = ["tests/bugs"]                         so is each in there

interleave.py   a test under the explorer, or along one trace
collection.py   traces as tests
summary.py      what the terminal says at the end
"""

from __future__ import annotations

import os
import shutil
import sys
import unittest
from pathlib import Path

import pytest

_MARKER = (
    "interleave(strategy='portfolio', runs=None, seconds=None, seed=0, instrument=(), faults=(), timers='virtual', "
    "memory='sc', max_steps=10_000, require='bounded'): run the test under schedule after schedule of its threads, "
    "tasks and loops, until one fails or none is left; with require='holds' it fails, too, if any is left."
)

_STDERR = pytest.StashKey[int]()

WIDTH = pytest.StashKey[int]()
"""Columns of the terminal; it is asked for while nothing is captured."""
_WIDTH_OF_LOGS = 110


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option and the setting."""
    group = parser.getgroup("omni_ipc", "schedules of concurrent code")
    group.addoption(
        "--omni-replay",
        metavar="FILE",
        default=None,
        help="Run each test that is marked 'interleave' once, along this trace, instead of exploring it.",
    )
    parser.addini("omni_ipc_traces", "Folders whose *.trace.json files are collected as tests.", "paths", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and keep the standard error that is not captured, for tests that block for ever."""
    config.addinivalue_line("markers", _MARKER)
    config.stash[_STDERR] = os.dup(2)
    config.stash[WIDTH] = shutil.get_terminal_size((_WIDTH_OF_LOGS, 0)).columns


def pytest_unconfigure(config: pytest.Config) -> None:
    """Give the descriptor back."""
    if (descriptor := config.stash.get(_STDERR, None)) is not None:
        if "omni_ipc.testbed.alarm" in sys.modules:
            _alarm(None)
        os.close(descriptor)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the traces that the command line names, and those in the folders of the setting."""
    if not file_path.name.endswith(".trace.json"):
        return None
    folders = parent.config.getini("omni_ipc_traces")
    if not (parent.session.isinitpath(file_path) or any(map(file_path.is_relative_to, folders))):
        return None
    from omni_ipc.pytest_plugin.collection import TraceFile

    _alarm(parent.config.stash[_STDERR])
    return TraceFile.from_parent(parent, path=file_path)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Explore a marked test in place of running it once."""
    marker = pyfuncitem.get_closest_marker("interleave")
    if marker is None:
        return None
    from omni_ipc.pytest_plugin.interleave import run

    _alarm(pyfuncitem.config.stash[_STDERR])
    run(pyfuncitem, marker)
    return True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let no marked test be run once, as if it had been explored."""
    for item in items:
        if item.get_closest_marker("interleave") and isinstance(getattr(item, "cls", None), type):
            owner = item.cls  # type: ignore[attr-defined]
            if issubclass(owner, unittest.TestCase):
                raise pytest.UsageError(
                    f"{item.nodeid} is a method of a unittest.TestCase, which is run once, and not explored. Make it a "
                    "function, or a method of a plain class; or take the mark interleave away."
                )


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Let no session pass for a replay whose tests the trace is not of."""
    from omni_ipc.pytest_plugin.summary import unreplayed

    if exitstatus == pytest.ExitCode.OK and unreplayed(session.config):
        session.exitstatus = pytest.ExitCode.USAGE_ERROR


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what the verdicts of marked tests rest on, and how to replay what failed."""
    from omni_ipc.pytest_plugin.summary import summarize

    summarize(terminalreporter)


def _alarm(descriptor: int | None) -> None:
    """Let it be told there where a test blocks in C code."""
    from omni_ipc.testbed.alarm import ALARM

    ALARM.tell(descriptor)
