"""Exchanges the code of living functions for rewritten code, and back.

A function object stays what it is, whoever holds it: class, decorator, registry, or a name bound long ago by
``from pump import push``. So nothing needs to be imported again, ``isinstance`` and pickling are as ever, and when the
exploration is over nothing is left of it.
"""

from __future__ import annotations

import ast
import functools
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any

from omni_ipc.testbed.instrument.rewriting import Rewriter
from omni_ipc.testbed.instrument.rewriting.nodes import MARK
from omni_ipc.testbed.instrument.rewriting.scopes import Scopes

Key = tuple[str, int, tuple[str, ...]]
"""What a function's code is known by: its qualified name, first line, and free variables."""


class Codes:
    """The rewritten codes of one module.

    Attributes:
        by_key: the codes; two functions of one line and name, such as lambdas, in order.
    """

    def __init__(self, code: CodeType) -> None:
        self.by_key: dict[Key, list[CodeType]] = defaultdict(list)
        for inner in functions_in(code):
            self.by_key[_key(inner)].append(inner)


@functools.lru_cache(maxsize=256)
def _rewritten(source: str, digest: str, module: str, file: str, written: frozenset[str]) -> tuple[Codes, Codes]:
    tree = ast.parse(source, file)
    plain = compile(tree, file, "exec", dont_inherit=True)
    scopes = Scopes(tree, written)
    rewritten = compile(Rewriter(module, scopes).visit(tree), file, "exec", dont_inherit=True)
    return Codes(plain), Codes(rewritten)


def rewrite(source: str, module: str, file: str, written: frozenset[str] = frozenset()) -> tuple[Codes, Codes]:
    """Return the codes of a module as they are, and rewritten; the same source is rewritten once in a process.

    Args:
        written: names of attributes that other modules assign on modules.

    Raises:
        SyntaxError: it does not parse.
    """
    digest = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
    return _rewritten(source, digest, module, file, written)


def functions_in(code: CodeType) -> Iterator[CodeType]:
    """Give the codes inside of a code, but for those that rewriting has added."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if MARK not in constant.co_varnames:
                yield constant
            yield from functions_in(constant)


class Exchange:
    """Functions whose code was exchanged, and what it was before."""

    def __init__(self) -> None:
        self._before: list[tuple[FunctionType, CodeType]] = []
        self._rewritten: dict[int, CodeType] = {}

    def knows(self, function: Any) -> bool:
        """Tell whether a function runs rewritten code."""
        return id(getattr(function, "__code__", None)) in self._rewritten

    def put(self, functions: Iterable[FunctionType], codes: tuple[Codes, Codes]) -> None:
        """Give functions of a module their rewritten code."""
        plain, rewritten = codes
        for found in rewritten.by_key.values():
            self._rewritten.update((id(code), code) for code in found)
        for function in functions:
            code = function.__code__
            if id(code) not in self._rewritten and (new := _match(code, plain, rewritten)) is not None:
                self._before.append((function, code))
                function.__code__ = new

    def undo(self) -> None:
        """Give all functions the code back that they had."""
        while self._before:
            function, code = self._before.pop()
            function.__code__ = code
        self._rewritten.clear()


def _match(code: CodeType, plain: Codes, rewritten: Codes) -> CodeType | None:
    candidates = rewritten.by_key.get(_key(code), [])
    if len(candidates) < 2:
        return candidates[0] if candidates else None
    same = [place for place, original in enumerate(plain.by_key[_key(code)]) if original == code]
    return candidates[same[0]] if same else None


def _key(code: CodeType) -> Key:
    return code.co_qualname, code.co_firstlineno, code.co_freevars
