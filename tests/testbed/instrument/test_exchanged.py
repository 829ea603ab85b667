"""What makes another thing of an object, under those who use it, is told with its line, or is a point."""

from __future__ import annotations

from pathlib import Path

import pytest

from omni_ipc.records import Report, Verdict
from omni_ipc.testbed import explore
from tests.testbed.instrument.drawn import written
from tests.testbed.instrument.hidden import together

_CLASSES = """
import builtins
class A:
    def say(self): return "A"
class B:
    def say(self): return "B"
class Sub(A): pass
"""
_AT_NO_POINT = "is exchanged while other tasks may use it, at no point; do it before they begin, at tells.py:"
_TOLD = {
    "its class": ("obj.__class__ = B", "obj.say()", f"'__class__' of a Sub {_AT_NO_POINT}"),
    "its class, by setattr": ("setattr(obj, '__class__', B)", "obj.say()", f"'__class__' of a Sub {_AT_NO_POINT}"),
    "its class, among others": ("obj.n, obj.__class__ = 1, B", "obj.say()", f"'__class__' of a Sub {_AT_NO_POINT}"),
    "the bases of its class": ("Sub.__bases__ = (B,)", "obj.say()", f"'__bases__' of 'Sub' {_AT_NO_POINT}"),
    "a special method of its class": (
        "Sub.__bool__ = lambda self: False",
        "not obj",
        f"'__bool__' of 'Sub' {_AT_NO_POINT}",
    ),
    "a special method, taken away": ("del C.__len__", "not C()", f"'__len__' of 'C' {_AT_NO_POINT}"),
    "a special method, by setattr": (
        "setattr(Sub, '__bool__', lambda self: False)",
        "not obj",
        f"'__bool__' of 'Sub' {_AT_NO_POINT}",
    ),
    "a special method, by type": (
        "type.__setattr__(Sub, *['__bool__', lambda self: False])",
        "not obj",
        f"'__bool__' of 'Sub' {_AT_NO_POINT}",
    ),
    "the code of a function": (
        "f.__code__ = (lambda x=1, *, y=2: 0).__code__",
        "f()",
        f"'__code__' of 'f' {_AT_NO_POINT}",
    ),
    "its defaults": ("f.__defaults__ = (3,)", "f()", f"'__defaults__' of 'f' {_AT_NO_POINT}"),
    "its defaults, put together": ("f.__defaults__ += ()", "f()", f"'__defaults__' of 'f' {_AT_NO_POINT}"),
    "its named defaults": ("f.__kwdefaults__ = {'y': 3}", "f()", f"'__kwdefaults__' of 'f' {_AT_NO_POINT}"),
    "an item of its named defaults": ("f.__kwdefaults__['y'] = 3", "f()", f"'__kwdefaults__' of 'f' {_AT_NO_POINT}"),
    "a variable in a function": ("cell.cell_contents = 2", "see()", f"'cell_contents' of a cell {_AT_NO_POINT}"),
    "what every module has": ("builtins.told_of = 1", "str(len(out))", f"'told_of' of 'builtins' {_AT_NO_POINT}"),
    "the classes that count as one": (
        "abc_.register(A)",
        "isinstance(obj, abc_)",
        "used ABCMeta.register() at tells.py:",
    ),
}
_SHARED = """
def main():
    import abc
    class C:
        def __len__(self): return 0
    abc_ = abc.ABC.__class__("Some", (), {{}}); obj = Sub(); out = []; seen = 1
    def f(x=1, *, y=2): return x + y
    def see(): return seen
    cell = see.__closure__[0]
    def a(): {exchange}
    def b(): out.append({use})
    run(a, b)
    return out
"""
_HOLDS = {
    "the class of one's own object": "o = Sub(); o.__class__ = B; out.append(o.say())",
    "what is said of a class": "B.__doc__ = B.__name__; out.append('B')",
    "a special name of an object": "o = A(); o.__bool__ = None; out.append('B')",
    "what other tasks see of no object": "e = KeyError(); e.__context__ = None; out.append('B')",
    "a special name that is read": "getattr(*[Sub, '__bool__', None]); out.append('B')",
}


def _explored(body: str, folder: Path) -> Report:
    with written(together(_CLASSES + body), "tells", folder) as module:
        return explore(module.main, strategy="dpor", runs=2_000)


@pytest.mark.parametrize(("exchange", "use", "told"), _TOLD.values(), ids=_TOLD)
def test_what_is_exchanged_under_its_users_is_told_with_its_line(
    exchange: str, use: str, told: str, tmp_path: Path
) -> None:
    """Their uses have no points at which it could come in between, so it is not said that all was seen."""
    report = _explored(_SHARED.format(exchange=exchange, use=use), tmp_path)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert told in report.reason


@pytest.mark.parametrize("work", _HOLDS.values(), ids=_HOLDS)
def test_what_nobody_else_works_by_may_be_exchanged(work: str, tmp_path: Path) -> None:
    """It is no cause for alarm."""
    body = f"def main():\n    out = []\n    def a(): {work}\n    def b(): A().say()\n    run(a, b)\n    return out\n"
    report = _explored(body, tmp_path)
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("['B']",)), report.reason


def test_what_is_exchanged_before_tasks_begin_is_seen_by_all(tmp_path: Path) -> None:
    """Nobody was there to come in between."""
    body = """
def main():
    out = []; obj = A()
    obj.__class__ = Sub; Sub.__len__ = lambda self: 3; builtins.told_of = 1
    def a(): out.append(len(obj))
    run(a, lambda: None)
    del Sub.__len__, builtins.told_of
    return out
"""
    report = _explored(body, tmp_path)
    assert (report.verdict, report.outcomes) == (Verdict.HOLDS, ("[3]",)), report.reason
