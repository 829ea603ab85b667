"""Nothing of the instrumentation remains, and each run finds the modules as the first one did."""

from __future__ import annotations

import builtins
import functools
import gc
import importlib
import inspect
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType

import pytest

from omni_ipc.errors import UsageError
from omni_ipc.records import Verdict
from omni_ipc.testbed import explore
from tests.testbed.instrument import programs
from tests.testbed.instrument.programs import together

SOURCE = '''
"""Keeps state of every kind."""

import functools
import threading
from collections import OrderedDict, deque

LOCK = threading.Lock()
CONDITION = threading.Condition(LOCK)
limit = 3
names = ["first"]
table = OrderedDict(a=1)
recent = deque([1], maxlen=2)
known = {1}
data = bytearray(b"x")


class Keeper:
    made = 0
    log = []

    def __init__(self):
        Keeper.made += 1
        self.items = []


class Slotted:
    __slots__ = ("value",)


keeper = Keeper()
slotted = Slotted()


def counted(function):
    times = 0

    @functools.wraps(function)
    def wrapper():
        nonlocal times
        times += 1
        function()
        return times

    return wrapper


@functools.lru_cache
def doubled(x):
    return x * 2


@counted
def change():
    global limit
    with LOCK:
        limit += 1
        names.append(limit)
        table["b"] = table.pop("a")
        recent.append(limit)
        known.add(limit)
        data.extend(b"y")
        keeper.items.append(Keeper())
        keeper.new = True
        Keeper.log.append(limit)
        Keeper.extra = 1
        slotted.value = limit
        change.times = doubled(limit)


def seen():
    return [
        limit, names, dict(table), list(recent), known, bytes(data), Keeper.made, Keeper.log, len(keeper.items),
        hasattr(keeper, "new"), hasattr(Keeper, "extra"), hasattr(slotted, "value"), doubled.cache_info().currsize,
    ]
'''


@pytest.fixture
def vendor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of somebody else's on the path, that nobody has imported."""
    package = tmp_path / "vendor_x"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "state.py").write_text(SOURCE)
    (package / "wrong.py").write_text("def f(:\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield package
    for name in [name for name in sys.modules if name.startswith("vendor_x")]:
        del sys.modules[name]


def state() -> ModuleType:
    return importlib.import_module("vendor_x.state")


def test_each_run_finds_modules_as_the_first_one_did(vendor: Path) -> None:
    """Globals, class attributes, containers, objects, slots, cells and caches are put back."""
    before = repr(state().seen())

    def scenario() -> str:
        module = state()
        begun = repr(module.seen())
        times: list[int] = []
        together(lambda: times.append(module.change()), lambda: None)
        return f"{begun} {times}"

    report = explore(scenario, instrument=["vendor_x.state"], strategy="brute-force")
    assert report.verdict is Verdict.HOLDS, report.reason
    assert report.schedules > 1
    assert report.outcomes == (repr(f"{before} [1]"),)
    assert repr(state().seen()) == before


def test_a_lock_that_a_module_made_at_import_is_under_control(vendor: Path) -> None:
    """It is a point, and a task that waits for it is told as one that waits for a lock."""
    module = state()
    lock = module.LOCK

    def scenario() -> None:
        def hold() -> None:
            with state().CONDITION:
                pass

        together(hold, state().change)
        state().LOCK.acquire()
        together(state().change)

    report = explore(scenario, instrument=["vendor_x.state"])
    assert report.failure is not None
    assert "waits for lock" in report.failure.message
    assert module.LOCK is lock
    assert not lock.locked()


def functions() -> dict[int, object]:
    return {id(found): found.__code__ for found in gc.get_objects() if isinstance(found, FunctionType)}


def test_nothing_remains() -> None:
    """Functions have their own code, builtins their own names, and modules are the same objects."""

    def scenario() -> None:
        programs.lost_update(programs.NoLock())

    modules, names = dict(sys.modules), set(vars(builtins))
    before = {id(found): found.__code__ for found in vars(programs.Counter).values() if inspect.isfunction(found)}
    attributes = dict(vars(programs)), dict(vars(programs.Counter))
    assert explore(scenario, instrument=[programs.__name__]).verdict is Verdict.VIOLATED
    assert set(vars(builtins)) == names
    assert {name: sys.modules[name] for name in modules} == modules
    assert {
        id(found): found.__code__ for found in vars(programs.Counter).values() if inspect.isfunction(found)
    } == before
    assert (dict(vars(programs)), dict(vars(programs.Counter))) == attributes
    assert "__omni" not in inspect.getsource(programs)


def test_names_bound_before_are_instrumented_too() -> None:
    """``from programs import Counter``, a bound method and a partial lead to the same functions."""
    kind, bound = programs.Counter, functools.partial(programs.Counter.add)

    def scenario() -> None:
        counter = kind(programs.NoLock())
        together(functools.partial(bound, counter), counter.add)
        assert counter.value == 2

    assert explore(scenario, instrument=[programs.__name__]).verdict is Verdict.VIOLATED


def test_a_package_stands_for_its_modules(vendor: Path) -> None:
    """By its name, or with a star; what does not parse is named where it was only found."""

    def scenario() -> int:
        module = state()

        def raise_it() -> None:
            module.limit += 1

        together(raise_it, raise_it)
        return int(module.limit)

    for name in ("vendor_x", "vendor_x.*"):
        report = explore(scenario, instrument=[name], strategy="dpor")
        assert report.outcomes == ("4", "5")
        assert any("'vendor_x.wrong' is not instrumented: it cannot be imported" in note for note in report.notes)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("vendor_x.nothing", "there is no such module"),
        ("vendor_x.wrong", "does not parse"),
        ("_struct", "is no Python source|is built into Python"),
        ("sys", "is built into Python"),
        ("omni_ipc.testbed.kernel", "is a part of the testbed"),
    ],
)
def test_what_cannot_be_instrumented_is_told(vendor: Path, name: str, told: str) -> None:
    """A module that is named and cannot be instrumented is an error, with what to do."""
    with pytest.raises(UsageError, match=told):
        explore(lambda: None, instrument=[name])


def test_a_module_that_was_not_named_is_added_when_its_functions_change_what_is_shared(vendor: Path) -> None:
    """The scenario is instrumented, and finds the way into the module by itself."""
    (vendor / "more.py").write_text("class Sum:\n    n = 0\n    def add(self):\n        self.n += 1\n")

    def scenario() -> int:
        total = importlib.import_module("vendor_x.more").Sum()
        together(total.add, lambda: total.add())
        return int(total.n)

    importlib.import_module("vendor_x.more")
    report = explore(scenario, strategy="dpor")
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("1", "2"))


def test_library_code_that_works_on_what_is_shared_is_told() -> None:
    """It cannot be instrumented, as the testbed itself uses it: nothing is certified."""
    from collections import UserDict

    def scenario() -> None:
        table: UserDict[str, int] = UserDict()
        together(lambda: table.update(a=1), lambda: table.update(b=1))

    report = explore(scenario, strategy="dpor")
    assert report.verdict is Verdict.INCONCLUSIVE
    assert "UserDict" in report.reason


def test_explorations_may_be_nested() -> None:
    """A scenario that explores another one goes on under instrumentation when that is over."""

    def inner() -> None:
        programs.lost_update(threading.Lock())

    def scenario() -> None:
        counter = programs.Counter(programs.NoLock())
        assert explore(inner, instrument=[programs.__name__], strategy="dpor").verdict is Verdict.HOLDS
        together(counter.add, counter.add)
        assert counter.value == 2, "lost"

    report = explore(scenario, instrument=[programs.__name__], runs=20)
    assert report.verdict is Verdict.VIOLATED, report.reason
