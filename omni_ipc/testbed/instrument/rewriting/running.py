"""Which functions others may find in the middle: generators, coroutines, and functions behind a cache."""

from __future__ import annotations

import ast

from omni_ipc.testbed.instrument.rewriting.base import Running
from omni_ipc.testbed.instrument.rewriting.binding import own

_CACHES = frozenset({"lru_cache", "cache", "cached_property"})


def running(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Running:
    """Tell which of them a function is, if it is one."""
    is_async = isinstance(node, ast.AsyncFunctionDef)
    if any(isinstance(inner, (ast.Yield, ast.YieldFrom)) for inner in own(node.body)):
        return "async generator" if is_async else "generator"
    if is_async:
        return "coroutine"
    return "cached" if any(_name(decorator) in _CACHES for decorator in node.decorator_list) else ""


def _name(decorator: ast.expr) -> str:
    match decorator:
        case ast.Call(func=function):
            return _name(function)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""
