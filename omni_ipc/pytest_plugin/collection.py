"""Traces as tests: a race that was met once must not come back.

A trace of a scenario of the table makes two tests: with its defect it must fail as it did, and the reference must end
well along it. A trace of anybody's own function makes one: it must end well now. A trace of a marked test is left to
that test, which runs what lies in `.omni_ipc` first.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest._code.code import ExceptionInfo, TerminalRepr

from omni_ipc.errors import OmniError, UsageError
from omni_ipc.records import Trace, Verdict


class TraceFile(pytest.File):
    """A ``*.trace.json`` file."""

    def collect(self) -> Iterator[TraceItem]:
        try:
            trace = Trace.load(self.path)
        except UsageError as error:
            raise self.CollectError(str(error)) from None
        name = trace.scenario.rpartition(":")[2] if ":" in trace.scenario else "reference"
        yield TraceItem.from_parent(self, name=name, trace=trace, defect=None)
        if trace.defect is not None:
            yield TraceItem.from_parent(self, name=trace.defect, trace=trace, defect=trace.defect)


class TraceItem(pytest.Item):
    """A trace, to be replayed with its defect, or without: on the reference, or on a function of one's own."""

    def __init__(self, *, trace: Trace, defect: str | None, **options: Any) -> None:
        super().__init__(**options)
        self._trace = trace
        self._defect = defect

    def runtest(self) -> None:
        if "::" in self._trace.scenario:
            pytest.skip(f"it is of a test: pytest '{self._trace.scenario}' --omni-replay {self.path}")
        from omni_ipc.testbed import Mode
        from omni_ipc.workflows.replaying import replay

        replayed = replay(self._trace, defect=self._defect, mode=Mode.TOLERANT)
        if self._defect is None and replayed.verdict is not Verdict.ENDED_WELL:
            raise Came(f"the race is back: {replayed.failure or replayed.summary}")
        if self._defect is not None and replayed.verdict is not Verdict.VIOLATED:
            raise Came(f"with {self._defect} it should fail, and does not: {replayed.summary}")

    def repr_failure(self, excinfo: ExceptionInfo[BaseException], style: Any = None) -> str | TerminalRepr:
        if isinstance(excinfo.value, Came | OmniError):
            return f"{self.path.name}: {excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"{self.path.name} on {self.name}"


class Came(Exception):
    """A replay came to what it must not come to."""
