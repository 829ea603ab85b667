"""What all parts of the rewriter share: where it is, and what names mean there."""

from __future__ import annotations

import ast
from typing import Literal

from omni_ipc.testbed.instrument.rewriting.nodes import hook, load, nothing, number, shown
from omni_ipc.testbed.instrument.rewriting.reflection import ANY
from omni_ipc.testbed.instrument.rewriting.scope import Scope
from omni_ipc.testbed.instrument.rewriting.scopes import Scopes
from omni_ipc.testbed.instrument.sites import SITES, Kind, Site

Shared = Literal["", "cell", "global"]
Running = Literal["", "generator", "async generator", "coroutine", "cached"]


class Place(ast.NodeTransformer):
    """A place in a module.

    Args:
        module: its name.
    """

    def __init__(self, module: str, scopes: Scopes) -> None:
        self.module = module
        self.scopes = scopes
        self.scope = scopes.module
        self.path: list[str] = []
        self.owner: str | None = None  # class that private names belong to
        self.methods: frozenset[str] = frozenset()  # that it defines
        self.first: str | None = None  # parameter of a method: its object
        self.running: Running = ""  # what is announced in the middle of the function at hand

    def site(self, kind: Kind, name: str, at: ast.AST, *, writes: bool = False, outer: bool = False) -> ast.Constant:
        """Number a new site."""
        line = getattr(at, "lineno", 0)
        return number(SITES.add(Site(kind, self.module, ".".join(self.path), line, name, writes, outer)), at)

    @property
    def is_inside(self) -> bool:
        """Whether this runs in a function, and not at import."""
        scope: Scope | None = self.scope
        while scope is not None and scope.kind != "function":
            scope = scope.parent
        return scope is not None

    def shared(self, name: str) -> Shared:
        """Tell whether a name is a variable that tasks may share."""
        if not self.is_inside or self.scope.kind == "class":
            return ""
        where, owner = self.scope.find(name)
        if where == "global":
            return "global" if name in self.scopes.shared_globals else ""
        return "cell" if owner is not None and owner.shares(name) else ""

    def is_stable(self, node: ast.expr) -> bool:
        """Tell whether evaluating an expression again cannot be noticed."""
        if isinstance(node, ast.Constant):
            return True
        return isinstance(node, ast.Name) and self.scope.kind != "class" and not self.shared(node.id)

    def is_stable_key(self, node: ast.expr) -> bool:
        """Tell the same of a key."""
        match node:
            case ast.Slice(lower=lower, upper=upper, step=step):
                return all(part is None or self.is_stable(part) for part in (lower, upper, step))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return isinstance(operand, ast.Constant)
            case ast.Tuple(elts=elements):
                return all(self.is_stable(element) for element in elements)
        return self.is_stable(node)

    def is_module(self, node: ast.expr) -> bool:
        """Tell whether an expression is a module, or comes of one, by a name that only an import binds."""
        return (
            isinstance(node, ast.Name)
            and node.id in self.scopes.imported
            and self.scope.find(node.id)[0] == "global"
            and not self.shared(node.id)
        )

    def is_of_module(self, node: ast.Attribute) -> bool:
        """Tell whether an attribute is one of a module, and stays what it is."""
        return self.is_module(node.value) and self.scopes.written.isdisjoint({node.attr, ANY})

    def announce(self, kind: Shared, name: str, at: ast.AST, *, writes: bool) -> ast.Call:
        """Announce an access to a shared variable."""
        if kind == "global":
            return hook("touch_global", self.site(Kind.GLOBAL, name, at, writes=writes), at=at)
        return hook("touch_cell", self.site(Kind.CELL, name, at, writes=writes), shown(name, at), at=at)

    def inside(self, at: ast.AST, value: ast.expr | None = None) -> ast.Call:
        """Announce, with a value that it yields or returns, that the function at hand runs; see `Kind.INSIDE`."""
        owner = [load(self.first, at)] if self.running == "cached" and self.first is not None else []
        return self._inside("touch_inside", at, value, *owner)

    def running_on(self, at: ast.AST, value: ast.expr | None = None) -> ast.Call:
        """Announce, with a value that it has awaited, that the coroutine at hand runs."""
        return self._inside("touch_running", at, value)

    def _inside(self, how: str, at: ast.AST, value: ast.expr | None, *owner: ast.expr) -> ast.Call:
        site = self.site(Kind.INSIDE, "".join(self.path[-1:]), at)
        return hook(how, site, nothing(at) if value is None else value, *owner, at=at)

    def stored(self, name: str, value: ast.expr) -> ast.expr:
        """Announce that a value is about to be stored in a variable, if that is shared."""
        match self.shared(name):
            case "global":
                return hook("store_global", self.site(Kind.GLOBAL, name, value, writes=True), value, at=value)
            case "cell":
                site = self.site(Kind.CELL, name, value, writes=True)
                return hook("store_cell", site, shown(name, value), value, at=value)
        return value

    def visited(self, node: ast.expr) -> ast.expr:
        """Rewrite an expression."""
        result: ast.expr = self.visit(node)
        return result
