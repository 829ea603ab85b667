"""What cannot be seen is told with its line; good uses of the same means hold."""

from __future__ import annotations

import ast
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from omni_ipc.records import Report, Verdict
from omni_ipc.testbed import explore
from tests.testbed.instrument.drawn import written
from tests.testbed.instrument.hidden import together
from tests.testbed.instrument.lookalikes import TWINS
from tests.testbed.instrument.unseen import BODIES

_TOLD = {
    "exec": (
        """
n = 0
def main():
    global n
    n = 0
    def a(): exec("global n; n = n + 1")
    run(a, a)
    return n
""",
        "code that exec() makes of a string has no points; make it a function, at tells.py:14 in a",
    ),
    "eval": (
        """
def main():
    c = [0, 0]; out = []
    def a(): c[0] = 1; c[1] = 1
    def b(): out.append(eval("(c[0], c[1])", {"c": c}))
    run(a, b)
    return out
""",
        "code that eval() makes of a string has no points; make it a function, at tells.py:13 in b",
    ),
    "a function of a string": (
        """
n = 0
exec("def bump():\\n    global n\\n    n = n + 1")
def main():
    def a(): bump()
    run(a, a)
    return n
""",
        "'bump' was made of a string, and has no points; write it as a function, at tells.py:13 in a",
    ),
    "a function of another text": (
        """
import types
def main():
    space = {"n": 0}
    maker = types.FunctionType(compile("n = n + 1", "other.txt", "exec"), space)
    def a(): maker()
    run(a, a)
    return space["n"]
""",
        "'<module>' was made of a string, and has no points; write it as a function, at tells.py:14 in a",
    ),
    "a thread of a string": (
        """
n = 0
exec("def bump():\\n    global n\\n    n = n + 1")
def main():
    run(bump, bump)
    return n
""",
        "'bump' was made of a string, and has no points; write it as a function",
    ),
    "an order of addresses": (
        """
class C: pass
def main():
    x, y = C(), C()
    run(lambda: None)
    return id(x) < id(y)
""",
        "addresses are compared, which are others in another process; compare what the code under test made, at "
        "tells.py:14 in main",
    ),
    "objects sorted by their addresses": (
        """
class C: pass
def main():
    x, y = C(), C()
    run(lambda: None)
    return sorted([x, y], key=id)[0] is x
""",
        "addresses are compared",
    ),
    "a wrapper of a dictionary": (
        """
from collections import ChainMap
def main():
    d = {"x": 0}; m = ChainMap({}, d); out = []
    def a(): d["x"] = 1
    def b(): out.append(m["x"])
    run(a, b)
    return out
""",
        "tasks share what is used by collections.ChainMap.__getitem__, called at tells:14 in main.b, and that has",
    ),
    "a loop over a wrapper of a list": (
        """
from collections import UserList
def main():
    l = [0, 0]; w = UserList(); w.data = l; out = []
    def a(): l[0] = 1; l[1] = 1
    def b(): out.append([x for x in w])
    run(a, b)
    return out
""",
        "tasks share what is used by collections.UserList.__iter__, called at tells:14 in main.b, and that has",
    ),
    "attributes of a semaphore, as a dictionary": (
        """
def main():
    s = threading.Semaphore(1); out = []
    def a():
        with s: pass
    def b(): out.append(vars(s).get("_value"))
    run(a, b)
    return out
""",
        "is not that of a real one; read its attributes, at tells.py:14 in b",
    ),
    "attributes exchanged for those of others": (
        """
class Borg:
    shared = {}
    def __init__(self): self.__dict__ = self.shared
def main():
    one, two = Borg(), Borg(); one.x = 0
    def a(): one.x = one.x + 1
    def b(): two.x = two.x + 1
    run(a, b)
    return one.x
""",
        "let each have its own, at tells.py:12 in __init__",
    ),
}
_HOLDS = {
    "an expression of numbers": ("def main():\n    run(lambda: eval('1 + 2'))\n    return eval('2 * 3')\n", "6"),
    "a table by address": (
        """
class C: pass
def main():
    c = C(); seen = {id(c): 0}; lock = threading.Lock()
    def a():
        with lock: seen[id(c)] = seen[id(c)] + 1
    run(a, a)
    return seen[id(c)]
""",
        "2",
    ),
    "a kept dictionary under a lock": (
        """
class C: pass
def main():
    c = C(); c.x = 0; d = vars(c); lock = threading.Lock()
    def a():
        with lock: c.x = c.x + 1
    def b():
        with lock: d["x"] = d["x"] + 1
    run(a, b)
    return c.x
""",
        "2",
    ),
    "globals under a lock": (
        """
n = 0
def main():
    globals()["n"] = 0; lock = threading.Lock()
    def a():
        with lock: globals()["n"] = n + 1
    run(a, a)
    return n
""",
        "2",
    ),
    "items that are missing, made by C code": (
        """
from collections import defaultdict
def main():
    d = defaultdict(list)
    def a(): d["k"].append(1)
    run(a, a)
    return len(d["k"])
""",
        "2",
    ),
    "items that are missing, made under a lock": (
        """
from collections import defaultdict
def main():
    d = defaultdict(lambda: [0]); lock = threading.Lock()
    def a():
        with lock: d["k"][0] += 1
    run(a, a)
    return d["k"]
""",
        "[2]",
    ),
    "a generator of each thread": (
        """
def main():
    out = [0, 0]
    def count():
        for n in range(3):
            yield n
    def a(place): out[place] = sum(count())
    run(lambda: a(0), lambda: a(1))
    return out
""",
        "[3, 3]",
    ),
    "a generator under a lock": (
        """
def main():
    out = []; lock = threading.Lock()
    def count():
        yield 1
        yield 2
    steps = count()
    def a():
        with lock: out.append(next(steps))
    run(a, a)
    return out
""",
        "[1, 2]",
    ),
    "a cache under a lock": (
        """
import functools
def main():
    calls = []; lock = threading.Lock()
    @functools.cache
    def f(x):
        calls.append(x)
        return x
    def a():
        with lock: f(1)
    run(a, a)
    return calls
""",
        "[1]",
    ),
    "a cache that is only hit": (
        """
import functools
@functools.cache
def f(x): return [x]
def main():
    f(1); out = []
    def a(): out.append(f(1))
    run(a, a)
    return out[0] is out[1]
""",
        "True",
    ),
    "a wrapper of its own thread": (
        """
from collections import ChainMap
def main():
    out = [0, 0]
    def a(place):
        m = ChainMap({}, {"x": place})
        m["x"] = m["x"] + 1
        out[place] = m["x"]
    run(lambda: a(0), lambda: a(1))
    return out
""",
        "[1, 2]",
    ),
    "sorting under a lock": (
        """
from operator import attrgetter
class C:
    def __init__(self, x): self.x = x
def main():
    cs = [C(2), C(1)]; out = []; lock = threading.Lock()
    def a():
        with lock: cs[0].x = 0
    def b():
        with lock: out.append(sorted(map(attrgetter("x"), cs)))
    run(a, b)
    return len(out)
""",
        "1",
    ),
    "an object that is its own copy": (
        """
class C:
    def __init__(self): self.x = 1
    def copy(self):
        other = C.__new__(C)
        other.__dict__ = dict(self.__dict__)
        return other
def main():
    c = C(); out = [0, 0]
    def a(place): out[place] = c.copy().x
    run(lambda: a(0), lambda: a(1))
    return out
""",
        "[1, 1]",
    ),
    "a daemon that waits": (
        """
import queue
def main():
    q = queue.Queue(); done = queue.Queue()
    def work():
        while True: done.put(q.get() + 1)
    threading.Thread(target=work, daemon=True).start()
    q.put(1)
    return done.get()
""",
        "2",
    ),
}


def _explored(body: str, folder: Path) -> Report:
    with written(together(body), "tells", folder) as module:
        return explore(module.main, strategy="dpor", runs=20_000)


@pytest.mark.parametrize(("body", "told"), _TOLD.values(), ids=_TOLD.keys())
def test_what_cannot_be_seen_is_told_with_its_line(body: str, told: str, tmp_path: Path) -> None:
    """Nothing failed, and yet it is not said that nothing can."""
    report = _explored(body, tmp_path)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert told in report.reason


@pytest.mark.parametrize(("body", "outcome"), [*_HOLDS.values(), *TWINS.values()], ids=[*_HOLDS, *TWINS])
def test_good_uses_of_the_same_hold(body: str, outcome: str, tmp_path: Path) -> None:
    """The same means, used well: nothing is told, and all orders come to the same."""
    report = _explored(body, tmp_path)
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, (outcome,)), report.reason


@pytest.mark.parametrize("name", ["dict_kept", "map_unbound_append", "generator", "lru_miss", "daemon_independent"])
def test_a_schedule_in_which_it_matters_replays(name: str, tmp_path: Path) -> None:
    """What is seen in such ways is seen at the same steps when the schedule is run again."""
    with written(together(BODIES[name]), "replays", tmp_path) as module:
        outcomes = explore(module.main, strategy="dpor", runs=20_000).outcomes
        assert len(outcomes) > 1
        rare = outcomes[0]

        def scenario() -> None:
            assert str(module.main()) != rare

        report = explore(scenario, instrument=["replays"], runs=20_000)
    assert report.verdict is Verdict.VIOLATED, report.reason


def _take_a_step_each(steps: Iterator[object], lock: AbstractContextManager[object]) -> None:
    """Let two threads share a generator."""

    def take() -> None:
        with lock:
            next(steps, None)

    threads = [threading.Thread(target=take) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


_VENDOR = "def count():\n    number = 1\n    yield number\n"


def test_a_generator_of_a_module_that_nobody_named_is_seen_in_its_middle(tmp_path: Path) -> None:
    """Its module is looked into as soon as two threads share it; under a lock, all is well."""
    with written(_VENDOR, "vendor_of_steps", tmp_path) as vendor:
        report = explore(lambda: _take_a_step_each(vendor.count(), nullcontext()), runs=2_000)
        guarded = explore(lambda: _take_a_step_each(vendor.count(), threading.Lock()), runs=2_000)
    assert report.failure is not None, report.reason
    assert "generator already executing" in report.failure.message
    assert guarded.verdict is Verdict.HOLDS, guarded.reason


def test_a_generator_of_the_library_that_threads_share_without_a_lock_is_told() -> None:
    """Nobody can come in its middle, so it is not said that all was seen."""
    report = explore(lambda: _take_a_step_each(ast.walk(ast.Module([], [])), nullcontext()), runs=2_000)
    guarded = explore(lambda: _take_a_step_each(ast.walk(ast.Module([], [])), threading.Lock()), runs=2_000)
    assert (report.verdict, guarded.verdict) == (Verdict.INCONCLUSIVE, Verdict.HOLDS)
    assert "what is used by ast.walk, a generator, and that has no points inside" in report.reason


def test_generators_that_come_one_after_the_other_are_not_taken_for_one() -> None:
    """The address of one that has ended is given to the next: two threads with their own have nothing in common."""

    def add() -> int:
        return sum(number for _ in range(3) for number in range(2))

    def scenario() -> None:
        threads = [threading.Thread(target=add) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    report = explore(scenario, strategy="dpor", runs=2_000)
    assert (report.verdict, report.traces) == (Verdict.HOLDS, 1), report.reason
