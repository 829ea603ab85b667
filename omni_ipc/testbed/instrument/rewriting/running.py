"""Which functions others may find in the middle: generators, and functions behind a cache."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from omni_ipc.testbed.instrument.rewriting.base import Running

_CACHES = frozenset({"lru_cache", "cache", "cached_property"})
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def running(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Running:
    """Tell which of them a function is, if it is one."""
    if isinstance(node, ast.AsyncFunctionDef):
        return ""
    if any(isinstance(inner, (ast.Yield, ast.YieldFrom)) for inner in _own(node)):
        return "generator"
    return "cached" if any(_name(decorator) in _CACHES for decorator in node.decorator_list) else ""


def _own(node: ast.FunctionDef) -> Iterator[ast.AST]:
    """Give the nodes of a function's body, without those of functions in it."""
    todo: list[ast.AST] = list(node.body)
    while todo:
        inner = todo.pop()
        yield inner
        if not isinstance(inner, _SCOPES):
            todo += ast.iter_child_nodes(inner)


def _name(decorator: ast.expr) -> str:
    match decorator:
        case ast.Call(func=function):
            return _name(function)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""
