"""Exchanges the code of living functions for rewritten code, and back.

A function object stays what it is, whoever holds it: class, decorator, registry, or a name bound long ago by
``from pump import push``. So nothing needs to be imported again, ``isinstance`` and pickling are as ever, and when the
exploration is over nothing is left of it.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
from collections import defaultdict
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any

from omni_ipc.testbed.instrument.rewriting import Rewriter
from omni_ipc.testbed.instrument.rewriting.nodes import MARK
from omni_ipc.testbed.instrument.rewriting.scopes import Scopes
from omni_ipc.testbed.instrument.sites import SITES

Key = tuple[str, int, tuple[str, ...]]
"""What a function's code is known by: its qualified name, first line, and free variables."""


@dataclasses.dataclass(frozen=True, slots=True)
class Codes:
    """The rewritten codes of one module's functions, by what they are known by.

    Args:
        sites: numbers of the sites in it.
    """

    source: str
    file: str
    rewritten: dict[Key, list[CodeType]]
    sites: range


@functools.lru_cache(maxsize=256)
def rewrite(source: str, module: str, file: str, written: frozenset[str] = frozenset()) -> Codes:
    """Rewrite a module; the same source is rewritten once in a process.

    Args:
        written: names of attributes of modules that other modules assign, or they themselves.

    Raises:
        SyntaxError: it does not parse.
    """
    tree = ast.parse(source, file)
    first = len(SITES)
    rewritten = compile(Rewriter(module, Scopes(tree, written)).visit(tree), file, "exec", dont_inherit=True)
    return Codes(source, file, _by_key(rewritten), range(first, len(SITES)))


@functools.lru_cache(maxsize=256)
def _plain(source: str, file: str) -> dict[Key, list[CodeType]]:
    """Return the codes of a module's functions as they are."""
    return _by_key(compile(source, file, "exec", dont_inherit=True))


def _by_key(code: CodeType) -> dict[Key, list[CodeType]]:
    """Sort the functions of a module; two of one line and name, such as lambdas, are in order."""
    found: dict[Key, list[CodeType]] = defaultdict(list)
    for inner in functions_in(code):
        found[_key(inner)].append(inner)
    return found


def functions_in(code: CodeType) -> Iterator[CodeType]:
    """Give the codes inside of a code, but for those that rewriting has added."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if MARK not in constant.co_varnames:
                yield constant
            yield from functions_in(constant)


class Exchange:
    """Functions whose code was exchanged, and what it was before.

    Attributes:
        rewritten: codes by their ids.
    """

    def __init__(self) -> None:
        self._before: list[tuple[FunctionType, CodeType]] = []
        self.rewritten: dict[int, CodeType] = {}

    def knows(self, function: Any) -> bool:
        """Tell whether a function runs rewritten code."""
        return id(getattr(function, "__code__", None)) in self.rewritten

    def put(self, functions: Iterable[FunctionType], codes: Codes) -> None:
        """Give functions of a module their rewritten code."""
        for found in codes.rewritten.values():
            self.rewritten.update((id(code), code) for code in found)
        for function in functions:
            code = function.__code__
            if id(code) not in self.rewritten and (new := _match(code, codes)) is not None:
                self._before.append((function, code))
                function.__code__ = self._as_awaitable_as(code, new)

    def _as_awaitable_as(self, code: CodeType, new: CodeType) -> CodeType:
        """Keep what `types.coroutine` has made of a generator's code."""
        if code.co_flags & inspect.CO_ITERABLE_COROUTINE:
            new = new.replace(co_flags=new.co_flags | inspect.CO_ITERABLE_COROUTINE)
            self.rewritten[id(new)] = new
        return new

    def undo(self) -> None:
        """Give all functions the code back that they had."""
        while self._before:
            function, code = self._before.pop()
            function.__code__ = code
        self.rewritten.clear()


def _match(code: CodeType, codes: Codes) -> CodeType | None:
    candidates = codes.rewritten.get(_key(code), [])
    if len(candidates) < 2:
        return candidates[0] if candidates else None
    plain = _plain(codes.source, codes.file)[_key(code)]
    same = [place for place, original in enumerate(plain) if original == code]
    return candidates[same[0]] if same else None


def _key(code: CodeType) -> Key:
    return code.co_qualname, code.co_firstlineno, code.co_freevars
