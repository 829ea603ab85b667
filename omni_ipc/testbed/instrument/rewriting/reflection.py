"""How modules get at variables of modules by other means than their names: found in their syntax trees."""

from __future__ import annotations

import ast

from omni_ipc.testbed.instrument.rewriting.binding import all_in

ANY = "*"
"""Stands for whatever variables there are."""

_OWN = frozenset({"globals", "__globals__"})
_ALL = frozenset({"modules", "import_module", "__import__"})  # as in `sys.modules`
_BARING = ("vars", "setattr", "delattr")
_TELLING = (ast.Attribute, ast.Name, ast.Call, ast.Global, ast.Import, ast.ImportFrom)


class Reflection:
    """What one walk over a module's tree finds.

    Attributes:
        assigned: names of attributes that something in it assigns or deletes.
        reflects: it gets at its own variables as items of a dictionary.
        written: names of attributes of modules that it assigns, on what it imported, ``pump.limit = 3``, or as its own
            globals in functions; `ANY`, if it may be any.
    """

    def __init__(self, tree: ast.Module) -> None:
        nodes = [node for node in all_in(tree) if isinstance(node, _TELLING)]
        imports = [node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
        imported = {alias.asname or alias.name.partition(".")[0] for node in imports for alias in node.names}
        attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
        stored = [node for node in attributes if not isinstance(node.ctx, ast.Load)]
        named = {node.id for node in nodes if isinstance(node, ast.Name)} | {node.attr for node in attributes}
        self.assigned = {node.attr for node in stored}
        self.reflects = not named.isdisjoint(_OWN | _ALL)
        is_any = not named.isdisjoint(_ALL) or any(_bares_at(node, imported) for node in nodes)
        written = {node.attr for node in stored if _root(node) in imported}
        written.update(name for node in nodes if isinstance(node, ast.Global) for name in node.names)
        self.written = frozenset({ANY} if is_any else written)


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
