"""What the standard library keeps for the whole process is shared by all tasks, though no line names it."""

from __future__ import annotations

import io
import logging
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from omni_ipc.records import Report, Verdict
from omni_ipc.testbed import explore
from tests.testbed.instrument.drawn import written
from tests.testbed.instrument.hidden import together

_IMPORTS = """
import contextlib, io, locale, logging, logging.config, os, pprint, sys, threading, time, traceback, warnings
lock = threading.Lock()
def printed(what):
    with contextlib.redirect_stdout(io.StringIO()) as into: print(what, end="")
    return into.getvalue()
def warned():
    with warnings.catch_warnings(record=True) as into:
        warnings.simplefilter("always")
        warnings.warn("old", DeprecationWarning)
    return len(into)
"""
_OUTCOMES = {
    "standard output, led away by both": (
        """
def main():
    out = [0, 0]
    def a(): out[0] = printed("a")
    def b(): out[1] = printed("b")
    run(a, b)
    return out
""",
        {"['a', 'b']", *(str(two) for one in ("a", "b", "ab", "ba") for two in ([one, ""], ["", one]))},
    ),
    "standard output, led away by one": (
        """
def main():
    out = []
    def a(): out.append(printed("a"))
    def b(): print("b", end="")
    run(a, b)
    return out
""",
        {"['a']", "['ab']", "['ba']"},
    ),
    "standard output, led away under a lock": (
        """
def main():
    out = [0, 0]
    def a():
        with lock: out[0] = printed("a")
    def b():
        with lock: out[1] = printed("b")
    run(a, b)
    return out
""",
        {"['a', 'b']"},
    ),
    "who leads standard output back last": (
        """
def main():
    before = sys.stdout
    def a():
        with contextlib.redirect_stdout(io.StringIO()): pass
    run(a, a)
    return sys.stdout is before
""",
        {"True", "False"},
    ),
    "standard output, printed to by both": (
        "def main():\n    def a(): print('a')\n    run(a, a)\n    return 0\n",
        {"0"},
    ),
    "a file, printed to beside it": (
        """
def main():
    out = io.StringIO()
    def a(): printed("a")
    def b(): print("b", end="", file=out)
    run(a, b)
    return out.getvalue()
""",
        {"'b'"},
    ),
    "filters of warnings, by one": (
        "def main():\n    out = []\n    def a(): out.append(warned())\n    run(a, lambda: None)\n    return out\n",
        {"[1]"},
    ),
    "filters of warnings, under a lock": (
        """
def main():
    out = []
    def a():
        with lock: out.append(warned())
    run(a, a)
    return out
""",
        {"[1, 1]"},
    ),
    "filters of warnings, put back by both": (
        """
def main():
    before = list(warnings.filters)
    def a():
        with warnings.catch_warnings(): warnings.simplefilter("ignore")
    run(a, a)
    return warnings.filters == before
""",
        {"True", "False"},
    ),
    "a logger's level": (
        """
def main():
    log = logging.getLogger("omni_ipc.none"); out = []
    log.setLevel(10)
    def a(): log.setLevel(40); log.setLevel(10)
    def b(): out.append(log.isEnabledFor(20))
    run(a, b)
    return out
""",
        {"[True]", "[False]"},
    ),
    "the level of a logger above": (
        """
def main():
    log = logging.getLogger("omni_ipc.none.below"); out = []
    def a(): logging.getLogger("omni_ipc.none").setLevel(40)
    def b(): out.append(log.isEnabledFor(30))
    run(a, b)
    return out
""",
        {"[True]", "[False]"},
    ),
    "a level that is looked at": (
        """
def main():
    log = logging.Logger("own"); out = []
    def a(): log.setLevel(40)
    def b(): out.append(log.level)
    run(a, b)
    return out
""",
        {"[0]", "[40]"},
    ),
    "a logger's handlers, looked at and added": (
        """
def main():
    log = logging.Logger("own")
    def a():
        if not log.handlers: log.addHandler(logging.NullHandler())
    run(a, a)
    return len(log.handlers)
""",
        {"1", "2"},
    ),
    "the same under a lock": (
        """
def main():
    log = logging.Logger("own")
    def a():
        with lock:
            if not log.handlers: log.addHandler(logging.NullHandler())
    run(a, a)
    return len(log.handlers)
""",
        {"1"},
    ),
    "a logger that is used by both": (
        """
def main():
    log = logging.Logger("own"); log.addHandler(logging.NullHandler())
    def a(): log.info("a")
    run(a, a)
    return 0
""",
        {"0"},
    ),
    "a handler, whose lock is that of the library": (
        """
class Counting(logging.Handler):
    n = 0
    def emit(self, record): self.n = self.n + 1
def main():
    log = logging.Logger("own"); handler = Counting(); log.addHandler(handler)
    def a(): log.error("a")
    run(a, a)
    return handler.n
""",
        {"2"},
    ),
    "loggers set up by both, under the library's lock": (
        """
def main():
    for handler in list(logging.root.handlers): logging.root.removeHandler(handler)
    def a(): logging.basicConfig(handlers=[logging.NullHandler()])
    run(a, a)
    return len(logging.root.handlers)
""",
        {"1"},
    ),
    "standard output, led away around both": (
        """
def main():
    with contextlib.redirect_stdout(io.StringIO()) as into:
        run(lambda: print("a", end=""), lambda: pprint.pprint(1))
    return into.getvalue().strip()
""",
        {"'a1'", "'1\\na'"},
    ),
    "standard output, looked up by the library": (
        """
def main():
    out = []
    def a(): out.append(printed("a"))
    def b(): pprint.pprint(1)
    run(a, b)
    return out[0].split()
""",
        {"['a']", "['a1']", "['1', 'a']"},
    ),
    "standard error, led away by one": (
        """
def main():
    out = []
    def a():
        with contextlib.redirect_stderr(io.StringIO()) as into: pass
        out.append(bool(into.getvalue()))
    def b():
        try: raise ValueError
        except ValueError: traceback.print_exc()
    run(a, b)
    return out
""",
        {"[True]", "[False]"},
    ),
    "warnings that are recorded around both": (
        """
def main():
    with warnings.catch_warnings(record=True) as into:
        warnings.simplefilter("always")
        run(lambda: warnings.warn("a"), lambda: warnings.warn("b"))
    return [str(each.message) for each in into]
""",
        {"['a', 'b']", "['b', 'a']"},
    ),
    "warnings that are captured": (
        """
def main():
    warnings.simplefilter("always"); warnings.showwarning = lambda *_: None
    seen = []
    class Seeing(logging.Handler):
        def emit(self, record): seen.append(1)
    logging.getLogger("py.warnings").addHandler(Seeing())
    run(lambda: logging.captureWarnings(True), lambda: warnings.warn("old"))
    return seen
""",
        {"[]", "[1]"},
    ),
    "a handler that was made before": (
        """
class Sink:
    n = 0
    def write(self, text): self.n = self.n + 1
    def flush(self): pass
sink = Sink(); log = logging.Logger("own"); log.addHandler(logging.StreamHandler(sink))
def main():
    sink.n = 0
    run(lambda: log.error("a"), lambda: log.error("a"))
    return sink.n
""",
        {"2"},
    ),
    "whether a logger is on, while all are switched off": (
        """
def main():
    log = logging.getLogger("omni_ipc.none"); log.setLevel(10); out = []
    def a(): log.isEnabledFor(40)
    def b(): logging.disable(50); out.append(log.isEnabledFor(40))
    run(a, b)
    return out
""",
        {"[False]"},
    ),
    "a logger between, that hands on no more": (
        """
def main():
    seen = []
    class Seeing(logging.Handler):
        def emit(self, record): seen.append(1)
    logging.getLogger("omni_ipc.none").addHandler(Seeing())
    middle, below = logging.getLogger("omni_ipc.none.a"), logging.getLogger("omni_ipc.none.a.b")
    def a(): below.error("x")
    def b(): middle.propagate = False
    run(a, b)
    return len(seen)
""",
        {"0", "1"},
    ),
    "the level of a handler": (
        """
def main():
    seen = []
    class Seeing(logging.Handler):
        def emit(self, record): seen.append(1)
    log, handler = logging.Logger("own"), Seeing(); log.addHandler(handler)
    def b(): handler.level = 50
    run(lambda: log.error("x"), b)
    return len(seen)
""",
        {"0", "1"},
    ),
    "handlers that are taken away in the middle": (
        """
class Seeing(logging.Handler):
    def emit(self, record): seen.append(self.level)
def main():
    global seen
    seen, log, one, two = [], logging.Logger("own"), Seeing(1), Seeing(2)
    log.addHandler(one); log.addHandler(two)
    run(lambda: log.error("x"), lambda: log.removeHandler(one))
    return seen
""",
        {"[1, 2]", "[2]", "[1]"},
    ),
    "handlers that are taken away by hand": (
        """
def main():
    seen = []
    class Seeing(logging.Handler):
        def emit(self, record): seen.append(1)
    log = logging.Logger("own"); log.addHandler(Seeing())
    run(lambda: log.handlers.clear(), lambda: log.error("x"))
    return seen
""",
        {"[]", "[1]"},
    ),
    "a handler that was made before, of a module that names its classes only": (
        """
from logging import Logger, StreamHandler
class Sink:
    n = 0
    def write(self, text): self.n = self.n + 1
    def flush(self): pass
sink = Sink(); log = Logger("own"); log.addHandler(StreamHandler(sink))
del logging
def main():
    sink.n = 0
    run(lambda: log.error("a"), lambda: log.error("a"))
    return sink.n
""",
        {"2"},
    ),
    "a handler with another base that watches its attributes": (
        """
class Watched:
    def __setattr__(self, name, value): object.__setattr__(self, name, value); object.__setattr__(self, "last", name)
class Both(logging.Handler, Watched): pass
def main():
    handler = Both(); handler.x = 1
    run(int, int)
    return handler.last
""",
        {"'x'"},
    ),
    "the environment, read by both": (
        "def main():\n    run(lambda: os.environ.get('HOME'), lambda: os.getenv('HOME'))\n    return 0\n",
        {"0"},
    ),
    "the environment, changed by one": (
        """
def main():
    out = []
    def a(): os.environ["OMNI_IPC_NONE"] = "1"
    def b(): out.append(os.getenv("OMNI_IPC_NONE")); out.append("OMNI_IPC_NONE" in os.environ)
    run(a, b)
    return out
""",
        {"[None, False]", "[None, True]", "['1', True]"},
    ),
    "a default of the environment, by both": (
        """
def main():
    out = [0, 0]
    def a(): out[0] = os.environ.setdefault("OMNI_IPC_NONE", "a")
    def b(): out[1] = os.environ.setdefault("OMNI_IPC_NONE", "b")
    run(a, b)
    return out
""",
        {"['a', 'a']", "['b', 'b']", "['a', 'b']"},
    ),
    "a stack of one's own": (
        """
def main():
    out = []
    def a():
        with contextlib.ExitStack() as stack: stack.callback(out.append, 1)
    run(a, a)
    return out
""",
        {"[1, 1]"},
    ),
    "the place of the process, before tasks begin": (
        """
def main():
    here = os.getcwd(); os.chdir(here); os.umask(os.umask(0o22)); out = []
    run(lambda: out.append(os.getcwd() == here))
    return out
""",
        {"[True]"},
    ),
}
_TOLD = {
    "a stack that is shared": (
        "with contextlib.ExitStack() as stack: run(lambda: stack.pop_all().close(), lambda: stack.callback(print))",
        "tasks share what is used by contextlib.ExitStack.",
    ),
    "the working directory": (
        "run(lambda: os.chdir('/'), os.getcwd)",
        "used os.chdir() at tells.py:",
    ),
    "the mask of new files": ("run(lambda: os.umask(0o22), int)", "used os.umask() at tells.py:"),
    "how all loggers are set up": (
        "run(lambda: logging.config.dictConfig({'version': 1}), int)",
        "used logging.config.dictConfig() at tells.py:",
    ),
    "the locale": (
        "run(lambda: locale.setlocale(locale.LC_NUMERIC, 'C'), int)",
        "used locale.setlocale() at tells.py:",
    ),
}


def _explored(body: str, folder: Path) -> Report:
    with written(together(_IMPORTS + body), "tells", folder) as module:
        return explore(module.main, strategy="dpor", runs=20_000)


@pytest.mark.parametrize(("body", "outcomes"), _OUTCOMES.values(), ids=_OUTCOMES)
def test_what_the_library_keeps_for_the_process_is_shared(body: str, outcomes: set[str], tmp_path: Path) -> None:
    """Every outcome comes about that a real process may have; where nobody changes it, or a lock guards it, one."""
    report = _explored(body, tmp_path)
    assert (report.verdict, set(report.outcomes)) == (Verdict.HOLDS, outcomes), report.reason


@pytest.mark.parametrize(("body", "told"), _TOLD.values(), ids=_TOLD)
def test_what_cannot_be_seen_of_it_is_told(body: str, told: str, tmp_path: Path) -> None:
    """Anybody may use it at any moment, by any path or number that it writes."""
    report = _explored(f"def main():\n    {body}\n", tmp_path)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert told in report.reason


def test_each_run_finds_it_as_it_was(tmp_path: Path) -> None:
    """A failing run leaves it in the middle of something, and neither the next one nor the process may see that."""
    log = logging.getLogger("omni_ipc.none")
    before = sys.stdout, list(warnings.filters), log.level, list(log.handlers)
    report = _explored(
        """
def main():
    log = logging.getLogger("omni_ipc.none")
    assert log.level == 0 and not log.handlers
    log.addHandler(logging.NullHandler())
    before, stream = list(warnings.filters), sys.stdout
    def a():
        log.setLevel(40)
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(): warnings.simplefilter("ignore")
    run(a, a)
    assert sys.stdout is stream and warnings.filters == before
""",
        tmp_path,
    )
    assert report.verdict is Verdict.VIOLATED, report.reason
    assert (sys.stdout, list(warnings.filters), log.level, list(log.handlers)) == before


_BY_NAME = {
    "how a logger hands on": (
        "logging.getLogger('omni_ipc.none').propagate",
        "logging.getLogger('omni_ipc.none').propagate = False",
    ),
    "a new logger": (
        "not logging.getLogger('omni_ipc.none.new').disabled",
        "logging.getLogger('omni_ipc.none.new').disabled = True",
    ),
    "an entry of the environment": ("'OMNI_IPC_NONE' not in os.environ", "os.environ['OMNI_IPC_NONE'] = '1'"),
    "how warnings are shown": ("warnings.showwarning.__module__ == 'warnings'", "warnings.showwarning = print"),
    "how records are made": (
        "logging.getLogRecordFactory() is logging.LogRecord",
        "logging.setLogRecordFactory(lambda *all, **named: logging.LogRecord(*all, **named))",
    ),
    "standard output": ("type(sys.stdout) is not io.StringIO", "sys.stdout = io.StringIO()"),
}


@pytest.mark.parametrize(("before", "change"), _BY_NAME.values(), ids=_BY_NAME)
def test_what_is_changed_by_name_is_put_back(before: str, change: str, tmp_path: Path) -> None:
    """Each run begins with it as it was, and the process has it again."""
    report = _explored(
        f"""
def main():
    assert {before}
    {change}
    run(lambda: print("a"), lambda: print("b"))
    with lock: pass
""",
        tmp_path,
    )
    assert report.verdict is Verdict.HOLDS, report.reason
    assert eval(before, {"logging": logging, "os": os, "sys": sys, "io": io, "warnings": warnings})


def test_what_is_changed_while_a_run_is_ended_is_put_back(tmp_path: Path) -> None:
    """By what a task does last, when nothing is a step any more."""
    log = logging.getLogger("omni_ipc.none")
    report = _explored(
        """
def main():
    blocked = threading.Lock(); blocked.acquire()
    def a():
        try: blocked.acquire()
        finally: logging.getLogger("omni_ipc.none").setLevel(50)
    threading.Thread(target=a).start()
    assert logging.getLogger("omni_ipc.none").level
""",
        tmp_path,
    )
    assert report.verdict is Verdict.VIOLATED
    assert (report.failure and report.failure.kind, log.level) == ("exception", 0)


def test_what_a_module_sets_up_in_a_run_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is set up once, in the first run that imports it."""
    (tmp_path / "vendor_lazy.py").write_text(
        "import logging, os\nos.environ['OMNI_IPC_LAZY'] = '1'\nlog = logging.getLogger('omni_ipc.lazy')\n"
        "log.addHandler(logging.NullHandler())\nlog.propagate = False\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("OMNI_IPC_LAZY", "0")
    report = _explored(
        """
def main():
    import vendor_lazy
    assert vendor_lazy.log.handlers and not vendor_lazy.log.propagate
    assert os.environ["OMNI_IPC_LAZY"] == "1"
    run(int, int)
    with lock: pass
""",
        tmp_path,
    )
    assert report.verdict is Verdict.HOLDS, report.reason


def test_what_an_exploration_within_another_one_changes_is_put_back_for_both(tmp_path: Path) -> None:
    """The inner one's end is no change by the outer one."""
    report = _explored(
        """
def inner():
    os.environ["OMNI_IPC_NONE"] = "1"; run(int, int)
def main():
    assert "OMNI_IPC_NONE" not in os.environ
    from omni_ipc.testbed import explore
    explore(inner, runs=2); run(int, int)
    with lock: pass
""",
        tmp_path,
    )
    assert report.verdict is not Verdict.VIOLATED, report.reason
    assert "nondeterminism" not in report.reason
    assert "OMNI_IPC_NONE" not in os.environ


def test_a_file_that_a_run_has_closed_is_opened_again(tmp_path: Path) -> None:
    """The handler does so by itself, and writes behind what there is."""
    file = tmp_path / "own.log"
    with written(
        f"import logging, threading\nhandler = logging.FileHandler({str(file)!r})\n"
        "log = logging.getLogger('omni_ipc.file'); log.addHandler(handler); log.propagate = False\n"
        "def main():\n    log.error('a'); log.removeHandler(handler); handler.close()\n"
        "    thread = threading.Thread(target=int); thread.start(); thread.join()\n",
        "logs",
        tmp_path,
    ) as module:
        report = explore(module.main, strategy="random", runs=2)
        assert report.verdict is Verdict.BOUNDED, report.reason
        module.log.error("b")
        module.log.handlers.clear()
        module.handler.close()
    *before, last = file.read_text().split()
    assert (set(before), last) == ({"a"}, "b")


def test_calls_that_only_read_are_independent(tmp_path: Path) -> None:
    """One who changes a level, and comes between any two of the others' messages, is all that there is to order."""
    report = _explored(
        """
def main():
    log = logging.Logger("own"); log.addHandler(logging.NullHandler())
    def a():
        for _ in range(2): log.error("x")
    run(a, a, lambda: log.setLevel(10))
    return 0
""",
        tmp_path,
    )
    assert (report.verdict, report.traces) == (Verdict.HOLDS, 9), report.reason


@pytest.mark.parametrize("level", ["", ", stacklevel=1", ", None, 1", ", stacklevel=0"])
def test_a_warning_is_of_the_line_that_gave_it(level: str, tmp_path: Path) -> None:
    """That another one stands in for ``warnings.warn`` is not seen."""
    report = _explored(
        f"""
def main():
    out = []
    def give(): warnings.warn("old"{level})
    def a():
        with warnings.catch_warnings(record=True) as into:
            warnings.simplefilter("always")
            give()
        out.append((into[0].filename.endswith("tells.py"), into[0].lineno - give.__code__.co_firstlineno))
    run(a)
    return out
""",
        tmp_path,
    )
    assert report.outcomes == ("[(True, 0)]",), report.reason


def test_a_warning_is_of_the_caller_that_it_names(tmp_path: Path) -> None:
    """As with ``stacklevel=2``, which most libraries give."""
    report = _explored(
        """
def main():
    out = []
    def give(): warnings.warn("old", stacklevel=2)
    def a():
        with warnings.catch_warnings(record=True) as into:
            warnings.simplefilter("always")
            give()
        out.append(into[0].lineno - a.__code__.co_firstlineno)
    run(a)
    return out
""",
        tmp_path,
    )
    assert report.outcomes == ("[3]",), report.reason


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.12 brought skip_file_prefixes")
@pytest.mark.parametrize(("level", "line"), [("", 3), (", stacklevel=3", 4)])
def test_files_that_a_warning_skips_are_skipped_as_ever(
    level: str, line: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the library that gives it to who called that, or to whom that was called by."""
    (tmp_path / "vendor_old.py").write_text(
        "import warnings\ndef inner(): old()\n"
        f"def old(): warnings.warn('x'{level}, skip_file_prefixes=(__file__.removesuffix('.py'),))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "vendor_old", raising=False)
    report = _explored(
        """
import vendor_old
def main():
    out = []
    def use(): vendor_old.inner()
    def a(): use()
    with warnings.catch_warnings(record=True) as into:
        warnings.simplefilter("always")
        run(a)
    return into[0].lineno - main.__code__.co_firstlineno + 1
""",
        tmp_path,
    )
    assert report.outcomes == (str(line),), report.reason


_LEFT = """
import logging
from omni_ipc.testbed import explore
made = []
class Made(logging.Handler):
    def emit(self, record): made.append(self)
def deadlock():
    handler = Made()
    logging.getLogger("a").addHandler(handler)
    logging.getLogger("a").warning("kept")
    handler.acquire()
    __import__("threading").Event().wait()
print(explore(deadlock, runs=5).verdict)
"""


def test_a_handler_that_is_left_with_its_lock_held_does_not_fail_the_end_of_the_process(tmp_path: Path) -> None:
    """`logging` takes the lock of each handler there is, to close it; that of a run which has ended is nobody's."""
    (tmp_path / "left.py").write_text(_LEFT)
    ended = subprocess.run([sys.executable, "left.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("violated\n", "", 0)
