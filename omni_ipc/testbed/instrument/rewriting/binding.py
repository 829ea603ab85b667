"""What binds names, found in the nodes of one scope."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from omni_ipc.testbed.instrument.rewriting.scope import Scope

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


SCOPES = (*FUNCTIONS, ast.ClassDef)


def parts(node: ast.AST) -> list[ast.AST]:
    """Return the nodes that a node is made of, but for those without any fields: contexts and operators."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            found += [part for part in value if isinstance(part, ast.AST)]
        elif isinstance(value, ast.AST) and value._fields:
            found.append(value)
    return found


def all_in(tree: ast.AST) -> list[ast.AST]:
    """Return a node and all that it is made of, as `parts` has it."""
    found = [tree]
    for node in found:
        found += parts(node)
    return found


def declare(scope: Scope, body: list[ast.stmt] | list[ast.expr]) -> None:
    """Take note of global and nonlocal names, which hold for the whole scope."""
    for node in own(body):
        if isinstance(node, ast.Global):
            scope.globals.update(node.names)
        elif isinstance(node, ast.Nonlocal):
            scope.nonlocals.update(node.names)


def own(body: list[ast.stmt] | list[ast.expr]) -> Iterator[ast.AST]:
    """Give the nodes of a scope, without those of scopes inside it."""
    todo: list[ast.AST] = list(body)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, SCOPES):
            todo += parts(node)


def outside(node: Function) -> Iterator[ast.expr]:
    """Give what is evaluated where a function is defined."""
    if not isinstance(node, ast.Lambda):
        yield from node.decorator_list
    yield from node.args.defaults
    yield from (default for default in node.args.kw_defaults if default is not None)


def bound_by(tree: ast.Module) -> dict[str, set[str]]:
    """Sort the names of a module by what binds them."""
    bound: dict[str, set[str]] = {kind: set() for kind in ("import", "definition", "decorated", "derived", "value")}
    for node in own(tree.body):
        match node:
            case ast.Import() | ast.ImportFrom():
                bound["import"] |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                bound["decorated" if node.decorator_list else "definition"].add(node.name)
                if isinstance(node, ast.ClassDef) and node.bases and not _initializes(node):
                    bound["derived"].add(node.name)
            case ast.Name(ctx=ast.Store() | ast.Del()):
                bound["value"].add(node.id)
    return bound


def _initializes(node: ast.ClassDef) -> bool:
    return any(isinstance(part, ast.FunctionDef) and part.name == "__init__" for part in node.body)
