"""An assertion that failed without words of its own: what it claimed, and the values that it was about.

Rewritten code has the assertions of its source, and not those of pytest. Nothing is evaluated again to tell the values,
as that might change them: variables are looked up in the frame that failed, and attributes where they are kept.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
from collections.abc import Iterator
from types import FrameType, MemberDescriptorType, ModuleType
from typing import Any

from omni_ipc.testbed.brief import brief

_NOWHERE = object()


class Asserted:
    """An assertion of the code under test, which has failed.

    Args:
        statement: as it was parsed.
        frame: in which it failed.
    """

    def __init__(self, statement: ast.Assert, frame: FrameType) -> None:
        self._statement = statement
        self._frame = frame

    @property
    def claim(self) -> str:
        """The statement, in one line: of one, it is as it was written."""
        statement = self._statement
        if statement.lineno != statement.end_lineno:
            return ast.unparse(statement)
        line = linecache.getline(self._frame.f_code.co_filename, statement.lineno).encode()
        return line[statement.col_offset : statement.end_col_offset].decode()

    def values(self) -> Iterator[str]:
        """Give the values that its variables and their attributes have now: "counter.value = 1"."""
        lookup = {**self._frame.f_globals, **self._frame.f_locals}
        for name in _bound(self._statement.test):
            lookup.pop(name, None)  # another one's
        for named in dict.fromkeys(_named(self._statement.test)):
            value = _value(named.split("."), lookup)
            if value is not _NOWHERE and _is_telling(value):
                yield f"{named} = {brief(value)}"


def failed_assertion(error: BaseException, frame: FrameType, line: int) -> Asserted | None:
    """Find the assertion that raised an error; None if the error has words, or is of something else."""
    if not isinstance(error, AssertionError) or error.args:
        return None
    for statement in _assertions("".join(linecache.getlines(frame.f_code.co_filename, frame.f_globals))):
        if statement.lineno <= line <= (statement.end_lineno or statement.lineno):
            return Asserted(statement, frame)
    return None


@functools.lru_cache(maxsize=16)
def _assertions(source: str) -> tuple[ast.Assert, ...]:
    try:
        return tuple(node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Assert))
    except SyntaxError:  # the file was edited since
        return ()


def _named(tree: ast.AST) -> Iterator[str]:
    """Give variables and their attributes in the order of the text: "calls", "counter.value"."""
    if isinstance(tree, ast.Name | ast.Attribute) and (path := _path(tree)):
        yield path
        return
    for child in ast.iter_child_nodes(tree):
        if isinstance(tree, ast.Call) and child is tree.func:
            child = child.value if isinstance(child, ast.Attribute) else ast.Module([], [])
        yield from _named(child)


def _bound(tree: ast.AST) -> Iterator[str]:
    """Give the variables that live in the expression alone: of comprehensions, and of lambdas."""
    for node in ast.walk(tree):
        if isinstance(node, ast.comprehension):
            yield from (name.id for name in ast.walk(node.target) if isinstance(name, ast.Name))
        elif isinstance(node, ast.arg):
            yield node.arg


def _path(tree: ast.AST) -> str | None:
    if isinstance(tree, ast.Attribute):
        return f"{before}.{tree.attr}" if (before := _path(tree.value)) else None
    return tree.id if isinstance(tree, ast.Name) else None


def _value(path: list[str], lookup: dict[str, Any]) -> object:
    """Look a value up without a call of anybody's code."""
    value = lookup.get(path[0], _NOWHERE)
    for name in path[1:]:
        owner, value = value, inspect.getattr_static(value, name, _NOWHERE)
        if isinstance(value, MemberDescriptorType):  # a slot
            value = value.__get__(owner) if hasattr(owner, name) else _NOWHERE
        elif hasattr(type(value), "__get__"):  # a property, or a method
            return _NOWHERE
    return value


def _is_telling(value: object) -> bool:
    """Tell whether anybody would want to read it: a value, and not what computes one."""
    return not (callable(value) or isinstance(value, ModuleType) or type(value).__repr__ is object.__repr__)
