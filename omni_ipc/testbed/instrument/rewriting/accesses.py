"""Rewrites accesses to variables, attributes and items."""

from __future__ import annotations

import ast

from omni_ipc.testbed.instrument.rewriting.nodes import (
    call,
    hook,
    hook_name,
    is_super,
    makes_another,
    mangle,
    may_hold,
    nothing,
    starred,
    unknown,
)
from omni_ipc.testbed.instrument.rewriting.unpacking import Unpacking
from omni_ipc.testbed.instrument.sites import Kind
from omni_ipc.testbed.instrument.tables import KEPT


class Accesses(Unpacking):
    """The part that rewrites accesses."""

    def visit_Name(self, node: ast.Name) -> ast.expr:  # noqa: N802
        kind = self.shared(node.id) if isinstance(node.ctx, ast.Load) else ""
        if node.id == "id" and self.is_inside and self.scope.find("id")[0] == "global" and not self.scopes.binds("id"):
            return ast.copy_location(ast.Name(hook_name("address"), ast.Load()), node)
        if not kind:
            return node
        seen = self.announce(kind, node.id, node, writes=False)
        return ast.copy_location(ast.BoolOp(ast.And(), [seen, node]), node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:  # noqa: N802
        node.value = self.stored(node.target.id, self.visited(node.value))
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:  # noqa: N802
        found = self.attribute(node)
        if not self.is_inside or node.attr not in KEPT or not isinstance(node.ctx, ast.Load):
            return found
        return hook("touch_bound", self.call_site(node.attr, node), found, at=node)

    def attribute(self, node: ast.Attribute) -> ast.expr:
        """Rewrite an attribute, even if it is a method that is called at once."""
        if not self.is_inside or self.is_of_module(node):
            return self.whole(node)
        writes = not isinstance(node.ctx, ast.Load)
        site = self.site(Kind.ATTRIBUTE, mangle(node.attr, self.owner), node, writes=writes)
        node.value = hook(self.touched(node, writes=writes), site, self.visited(node.value), at=node.value)
        return node

    def touched(self, node: ast.Attribute, *, writes: bool) -> str:
        """Name the hook that announces the use of an attribute."""
        if is_super(node.value):
            return "touch_outer"
        if node.attr == "__dict__":
            return "touch_names"
        exchanges = (
            makes_another(node.value, node.attr) if writes else node.attr == "__kwdefaults__"
        )  # its items are set
        return "touch_exchanged" if exchanges else "touch"

    def call_site(self, name: str, at: ast.AST, *, outer: bool = False) -> ast.Constant:
        """Number a call's site, and behind it two for what it is handed: to be read, or to be changed."""
        site = self.site(Kind.METHOD, name, at, outer=outer)
        self.site(Kind.VALUE, name, at)
        self.site(Kind.ARGUMENT, "", at)
        return site

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:  # noqa: N802
        if not self.is_inside:
            return self.whole(node)
        site = self.item_site(node)
        target, key = node.value, node.slice
        if self.is_stable_key(key):
            node.value = hook("touch_item", site, self.visited(target), key_of(key), at=target)
        elif self.is_stable(target) and not isinstance(key, ast.Slice):
            node.slice = hook("touch_key", site, target, self.visited(key), at=key)
        elif isinstance(node.ctx, ast.Load):
            pair = hook("touch_pair", site, self.visited(target), sliced(self.visited(key)), at=node)
            return hook("getitem", starred(pair), at=node)
        else:
            node.value = hook("touch_item", site, self.visited(target), unknown(target), at=target)
            node.slice = self.visited(key)
        return node

    def item_site(self, node: ast.Subscript) -> ast.Constant:
        """Number the site of a subscript."""
        name = "[:]" if isinstance(node.slice, ast.Slice) else "del" if isinstance(node.ctx, ast.Del) else "[]"
        return self.site(Kind.ITEM, name, node, writes=not isinstance(node.ctx, ast.Load))

    def value(self, node: ast.expr, name: str) -> ast.expr:
        """Rewrite an expression of which all is read, if it is a container."""
        if not self.is_inside or not may_hold(node):
            return self.visited(node)
        return hook("touch_value", self.site(Kind.VALUE, name, node), self.visited(node), at=node)

    def whole(self, node: ast.expr) -> ast.expr:
        """Leave an expression as it is, and rewrite what is in it."""
        self.generic_visit(node)
        return node


def key_of(node: ast.expr) -> ast.expr:
    """Give a key to a hook; of a slice it does not matter which."""
    return nothing(node) if isinstance(node, ast.Slice) else node


def sliced(node: ast.expr) -> ast.expr:
    """Make slices calls, which may stand anywhere."""
    if isinstance(node, ast.Slice):
        return call("slice", *(part or nothing(node) for part in (node.lower, node.upper, node.step)), at=node)
    if isinstance(node, ast.Tuple):
        node.elts = [sliced(element) for element in node.elts]
    return node
