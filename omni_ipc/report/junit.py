"""Results as JUnit XML, which every CI service reads."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from omni_ipc.records import Verdict, write_atomically

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Case(NamedTuple):
    """One thing that was tried."""

    group: str  # "SplitMap"
    name: str  # "SplitMap/design"
    verdict: Verdict | None  # None if it was not to be tried
    reason: str  # one sentence
    details: str = ""
    seconds: float = 0.0


def write_junit(path: Path, suite: str, cases: Iterable[Case]) -> Path:
    """Write results: what is violated fails, what is inconclusive is an error, what has no verdict was skipped.

    Raises:
        UsageError: the file cannot be written.
    """
    cases = list(cases)
    root = ET.Element("testsuites")
    counts = {
        "tests": len(cases),
        "failures": sum(_outcome(case) == "failure" for case in cases),
        "errors": sum(_outcome(case) == "error" for case in cases),
        "skipped": sum(_outcome(case) == "skipped" for case in cases),
    }
    group = ET.SubElement(root, "testsuite", name=suite, time=_seconds(sum(case.seconds for case in cases)))
    group.attrib.update({name: str(count) for name, count in counts.items()})
    for case in cases:
        node = ET.SubElement(group, "testcase", classname=case.group, name=case.name, time=_seconds(case.seconds))
        if (outcome := _outcome(case)) is not None:
            told = ET.SubElement(node, outcome, type=case.verdict or outcome, message=_text(case.reason))
            told.text = _text(case.details)
        else:
            ET.SubElement(node, "system-out").text = _text(case.reason)
    ET.indent(root)
    return write_atomically(path, ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n")


def _outcome(case: Case) -> str | None:
    if case.verdict is None:
        return "skipped"
    return {1: "failure", 3: "error"}.get(case.verdict.exit_code)


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}"


def _text(text: str) -> str:
    """Without characters that no XML may hold."""
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)
