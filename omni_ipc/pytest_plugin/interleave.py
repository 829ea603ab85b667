"""A marked test: explored, or run once along a trace."""

from __future__ import annotations

import asyncio
import functools
import inspect
import io
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from omni_ipc.errors import OmniError, UnknownName, UsageError
from omni_ipc.explanations import Explanation
from omni_ipc.pytest_plugin import WIDTH
from omni_ipc.pytest_plugin.summary import NOTE, REPLAY, VERDICT
from omni_ipc.records import Report, Trace, Verdict
from omni_ipc.report.plain import Neutral
from omni_ipc.report.text import render
from omni_ipc.testbed import Mode, explore, replay, saved
from omni_ipc.testbed.explain import explain

__tracebackhide__ = True  # it stands between the explorer and the test

_OPTIONS = frozenset(
    {"strategy", "runs", "seconds", "seed", "instrument", "faults", "timers", "memory", "max_steps", "require"}
)
_NARROWEST = 60  # columns: some environments claim to have none


def run(item: pytest.Function, marker: pytest.Mark) -> None:
    """Explore a test, or replay it if a trace was given; fails it by what was found."""
    try:
        wrong = _run(item, marker)
    except OmniError as error:
        wrong = str(error)
    if wrong:
        pytest.fail(wrong, pytrace=False)


def _run(item: pytest.Function, marker: pytest.Mark) -> str:
    """Run it, and return what is wrong with it, or nothing."""
    options = _options(marker)
    noted = _Noted()
    scenario = _scenario(item, noted)
    file = item.config.getoption("--omni-replay")
    if file is None:
        return _explore(item, scenario, noted, options)
    return _replay(item, scenario, noted, Path(file))


class _Noted:
    """What a test has said of itself; an object, because lists are put back before each run."""

    outcome: BaseException | None = None

    def tell(self) -> None:
        """Let pytest know it; called where no schedule has failed, because that weighs more."""
        if self.outcome is not None:
            raise self.outcome


def _explore(item: pytest.Function, scenario: Callable[[], object], noted: _Noted, options: dict[str, Any]) -> str:
    require = options.pop("require", Verdict.BOUNDED)
    if require not in (Verdict.HOLDS, Verdict.BOUNDED):
        raise UnknownName("verdict to require", require, (Verdict.HOLDS, Verdict.BOUNDED))
    folder = item.config.rootpath / saved.FOLDER
    memory = options.get("memory", "sc")
    first = saved.for_scenario(item.nodeid, memory=memory, folder=folder)
    report = explore(scenario, name=item.nodeid, first=first, **options)
    item.user_properties.append((VERDICT, f"{report.verdict}: {report.reason}"))
    item.user_properties += [(NOTE, note) for note in report.notes]
    if report.verdict is Verdict.VIOLATED:
        return _violated(item, report, folder)
    noted.tell()
    if report.verdict is Verdict.INCONCLUSIVE:
        return f"inconclusive: {report.reason}"
    if require == Verdict.HOLDS and report.verdict is not Verdict.HOLDS:
        return f"{report.verdict}, and the test requires that it holds: {report.reason}"
    return ""


def _violated(item: pytest.Function, report: Report, folder: Path) -> str:
    if report.trace is None:
        return report.reason
    explanation = explain(report.trace)
    reason = report.reason.replace(str(report.failure), str(explanation.trace.failure))  # in the words of the code
    told = f"{reason}\n\n{_told(explanation, item.config)}"
    try:
        path = saved.save(report.trace, folder)
    except UsageError as error:
        return f"{told}\n\nThe failure was not saved. {error}"
    shown = path.relative_to(item.config.rootpath)
    page = f"{path.name.removesuffix('.trace.json')}.html"
    commands = (["pytest", item.nodeid, "--omni-replay", str(shown)], ["omni-ipc", "show", str(shown), "--html", page])
    item.user_properties += [(REPLAY, shlex.join(command)) for command in commands]
    return told


def _replay(item: pytest.Function, scenario: Callable[[], object], noted: _Noted, file: Path) -> str:
    trace = Trace.load(file)
    if trace.scenario != item.nodeid:
        pytest.skip(f"the trace is of {trace.scenario}")
    result = replay(scenario, trace, mode=Mode.TOLERANT)
    repairs = f", {len(result.repairs)} repaired" if result.repairs else ""
    item.user_properties.append((VERDICT, f"replayed: {result.followed} of {len(trace.steps)} steps{repairs}"))
    if result.failure is None:
        noted.tell()
        return ""
    explanation = explain(result.trace)
    return f"{explanation.trace.failure}\n\n{_told(explanation, item.config)}"


def _options(marker: pytest.Mark) -> dict[str, Any]:
    if marker.args:
        raise UsageError(f"pytest.mark.interleave takes named options only, and got {marker.args!r}. Name them.")
    for name in marker.kwargs.keys() - _OPTIONS:
        raise UnknownName("option of pytest.mark.interleave", name, _OPTIONS)
    return dict(marker.kwargs)


def _scenario(item: pytest.Function, noted: _Noted) -> Callable[[], object]:
    """Make a function of no argument of a test; one of a class gets a fresh instance in each run.

    A test that skips itself, or expects to fail, ends well, and that is noted.

    Raises:
        UsageError: the test uses fixtures, which all its runs would share.
    """
    values = _parameters(item)
    function: Callable[..., object] = item.obj
    owner: type | None = None
    if inspect.ismethod(function):
        owner, function = type(function.__self__), function.__func__
        _refuse_set_up(owner)

    @functools.wraps(function)
    def scenario() -> object:
        try:
            found = function(**values) if owner is None else function(owner(), **values)
            return asyncio.run(found) if inspect.iscoroutine(found) else found
        except (pytest.skip.Exception, pytest.xfail.Exception) as outcome:
            noted.outcome = outcome
            return None

    scenario.__signature__ = inspect.Signature()  # type: ignore[attr-defined]
    return scenario


def _refuse_set_up(owner: type) -> None:
    for name in ("setup_method", "teardown_method"):
        if hasattr(owner, name):
            raise UsageError(
                f"The class {owner.__name__} has {name}(), which pytest calls once, and not in each run. Call what it "
                "does in the test."
            )


def _parameters(item: pytest.Function) -> Mapping[str, object]:
    callspec = getattr(item, "callspec", None)
    params: Mapping[str, object] = {} if callspec is None else callspec.params
    names = [name for name in inspect.signature(item.obj).parameters if name in item.funcargs]
    shared = [name for name in names if name not in params or item.funcargs[name] is not params[name]]
    if shared:
        raise UsageError(
            f"The test uses the fixture{'s' if len(shared) > 1 else ''} {', '.join(shared)}; it is run many times, and "
            "all runs would share what a fixture made once. Make it inside of the test."
        )
    return {name: params[name] for name in names}


def _told(explanation: Explanation, config: pytest.Config) -> str:
    """Tell a failure for a log: no colour, and nothing that commands a terminal."""
    text = io.StringIO()
    width = max(config.stash[WIDTH], _NARROWEST)
    console = Console(file=text, width=width, no_color=True, highlight=False)
    console.print(Neutral(render(explanation, width=width)))
    return text.getvalue().rstrip()
