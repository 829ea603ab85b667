"""The leak check itself: it sees each kind of leak, and forgives what ends by itself."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from omni_ipc.transport.memory import Segment
from tests.support import leaks


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up on a leak at once."""
    monkeypatch.setattr(leaks, "_PATIENCE_S", 0.0)


def test_a_descriptor_left_open_is_named(impatient: None) -> None:
    """An open pipe is told by its number and target."""
    before = leaks.snapshot()
    reader, writer = os.pipe()
    try:
        assert [text.split()[:2] for text in leaks.leaked_since(before)] == [
            ["descriptor", str(end)] for end in sorted((reader, writer), key=str)
        ]
    finally:
        os.close(reader)
        os.close(writer)
    assert leaks.leaked_since(before) == []


def test_a_mapping_that_outlives_its_descriptor_is_named(impatient: None) -> None:
    """A segment that somebody's view keeps mapped is told by its name."""
    before = leaks.snapshot()
    segment = Segment.create(4096, name="kept")
    view = segment.view[:8]
    segment.close()
    (leak,) = (text for text in leaks.leaked_since(before) if text.startswith("mapped segment"))
    assert "kept" in leak
    view.release()
    segment.close()
    assert leaks.leaked_since(before) == []


def test_a_child_process_is_named(impatient: None) -> None:
    """A child that runs is told by its command."""
    before = leaks.snapshot()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert any(f"child process {child.pid}" in text for text in leaks.leaked_since(before))
    assert leaks.leaked_since(before) == []


def test_a_thread_is_named_and_forgiven_once_it_ends(impatient: None) -> None:
    """A thread that runs is told by its name; one that has ended is not."""
    before = leaks.snapshot()
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, name="straggler")
    thread.start()
    assert any("thread straggler" in text for text in leaks.leaked_since(before))
    stop.set()
    thread.join()
    assert leaks.leaked_since(before) == []
