"""Results as JUnit XML."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from omni_ipc.errors import UsageError
from omni_ipc.records import Verdict
from omni_ipc.report.junit import Case, write_junit

CASES = (
    Case("Door", "Door/design", Verdict.BOUNDED, "holds in all 4 states", seconds=0.5),
    Case("Door", "Door/bug/no_key", Verdict.VIOLATED, "nothing fails <here>", "line 1\nline \x1b[1m2"),
    Case("Door", "Door/live", Verdict.INCONCLUSIVE, "TLC was stopped", seconds=1.25),
    Case("Door", "Door/own", None, "it has no door"),
)


def test_failures_and_errors_are_what_is_violated_and_inconclusive_and_what_has_no_verdict_was_skipped(
    tmp_path: Path,
) -> None:
    """With counts, times and sentences; what no XML may hold is replaced."""
    root = ET.parse(write_junit(tmp_path / "junit.xml", "omni-ipc check", CASES)).getroot()
    (suite,) = root
    counts = {"tests": "4", "failures": "1", "errors": "1", "skipped": "1"}
    assert suite.attrib == {"name": "omni-ipc check", "time": "1.750", **counts}
    passed, failed, unknown, skipped = suite
    assert passed.attrib == {"classname": "Door", "name": "Door/design", "time": "0.500"}
    assert (passed[0].tag, passed[0].text) == ("system-out", "holds in all 4 states")
    assert failed[0].tag == "failure"
    assert failed[0].attrib == {"type": "violated", "message": "nothing fails <here>"}
    assert failed[0].text == "line 1\nline \ufffd[1m2"
    assert (unknown[0].tag, unknown[0].get("message")) == ("error", "TLC was stopped")
    assert (skipped[0].tag, skipped[0].get("message")) == ("skipped", "it has no door")


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """As every other result."""
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="Cannot write"):
        write_junit(tmp_path / "file" / "junit.xml", "omni-ipc check", CASES)
