"""How modules get at variables of modules by other means than their names: found in their syntax trees."""

from __future__ import annotations

import ast

ANY = "*"
"""Stands for whatever variables there are."""

_OWN = frozenset({"globals", "__globals__"})
_ALL = frozenset({"modules", "import_module", "__import__"})  # as in `sys.modules`
_BARING = ("vars", "setattr", "delattr")


def written_on_modules(tree: ast.Module) -> frozenset[str]:
    """Name the attributes that a module assigns on what it imported: ``pump.limit = 3``; `ANY`, if it may be any."""
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    imported = {alias.asname or alias.name.partition(".")[0] for node in imports for alias in node.names}
    found = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load) and _root(node) in imported
    }
    return frozenset({ANY} if _mentions(tree, _ALL) or _bares(tree, imported) else found)


def reflects(tree: ast.Module) -> bool:
    """Tell whether a module gets at its own variables as items of a dictionary."""
    return _mentions(tree, _OWN | _ALL)


def _mentions(tree: ast.Module, names: frozenset[str]) -> bool:
    return any(
        (isinstance(node, ast.Name) and node.id in names) or (isinstance(node, ast.Attribute) and node.attr in names)
        for node in ast.walk(tree)
    )


def _bares(tree: ast.Module, imported: set[str]) -> bool:
    """Tell whether the dictionary of something that was imported is got at, or its attributes by variable names."""
    return any(_bares_at(node, imported) for node in ast.walk(tree))


def _bares_at(node: ast.AST, imported: set[str]) -> bool:
    match node:
        case ast.Attribute(attr="__dict__", value=value):
            return _root(value) in imported
        case ast.Call(func=ast.Name(id=name), args=[value, *_]) if name in _BARING:
            return _root(value) in imported
    return False


def _root(node: ast.expr) -> str | None:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None
