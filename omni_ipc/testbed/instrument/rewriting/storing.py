"""Rewrites statements that store values, or delete them."""

from __future__ import annotations

import ast

from omni_ipc.testbed.instrument.rewriting.accesses import sliced
from omni_ipc.testbed.instrument.rewriting.nodes import hook, in_place, load, mangle, starred
from omni_ipc.testbed.instrument.rewriting.unpacking import Part
from omni_ipc.testbed.instrument.rewriting.values import Values
from omni_ipc.testbed.instrument.sites import Kind

Statements = ast.stmt | list[ast.stmt]


class Storing(Values):
    """The part that rewrites what stores."""

    def visit_Assign(self, node: ast.Assign) -> Statements:  # noqa: N802
        unpacks = any(isinstance(target, (ast.Tuple, ast.List)) for target in node.targets)
        node.value = self.value(node.value, "*") if unpacks else self.visited(node.value)
        match node.targets:
            case [ast.Subscript() as target] if self.is_inside and not self._is_plain(target):
                return self._set_item(node, target)
            case [target]:
                return self.bound(self.parts(target, node.value))
            case targets if any(map(self.is_held, targets)):
                held = self.hold(node)
                parts = [part for target in targets for part in self.parts(target, load(held.id, target))]
                return self.bound([(held, node.value), *parts])
        node.targets = [self.visited(target) for target in node.targets]
        return node

    def bound(self, parts: list[Part]) -> list[ast.stmt]:
        """Make statements that bind targets."""
        return [ast.copy_location(ast.Assign([target], value), target) for target, value in parts]

    def _is_plain(self, target: ast.Subscript) -> bool:
        return self.is_stable_key(target.slice) or (
            self.is_stable(target.value) and not isinstance(target.slice, ast.Slice)
        )

    def _set_item(self, node: ast.Assign, target: ast.Subscript) -> ast.stmt:
        site = self.item_site(target)
        key = sliced(self.visited(target.slice))
        entry = hook("touch_entry", site, node.value, self.visited(target.value), key, at=target)
        return ast.copy_location(ast.Expr(hook("setitem", starred(entry), at=target)), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:  # noqa: N802
        if node.value is not None:
            node.value = self.visited(node.value)
            if isinstance(node.target, ast.Name):
                node.value = self.stored(node.target.id, node.value)
            else:
                node.target = self.visit(node.target)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Statements:  # noqa: N802
        if not self.is_inside or self.scope.kind == "class":
            return node
        target = node.target
        if isinstance(target, ast.Name):
            return self._grow_variable(node, target) if self.shared(target.id) else self._grow_local(node)
        if isinstance(target, ast.Attribute):
            value, again = self._twice(target.value)
            first, second = self._attribute(target, value, ast.Load()), self._attribute(target, again, ast.Store())
        else:
            value, again = self._twice(target.value)
            key, key_again = self._twice(target.slice)
            first = self._item(target, value, key, ast.Load())
            second = self._item(target, again, key_again, ast.Store())
        grown = self._grown(node, first)
        return ast.copy_location(ast.Assign([second], grown), node)

    def _grown(self, node: ast.AugAssign, before: ast.expr) -> ast.expr:
        """Rewrite what makes the new value; a container is the same as before, and has changed."""
        pair = hook("touch_grown", self._growing(node), before, self.visited(node.value), at=node)
        return hook(in_place(node.op), starred(pair), at=node)

    def _growing(self, node: ast.AugAssign) -> ast.Constant:
        return self.call_site(f"__{in_place(node.op)}__", node)

    def _twice(self, node: ast.expr) -> tuple[ast.expr, ast.expr]:
        """Evaluate an expression once, for two uses."""
        if self.is_stable_key(node) and not isinstance(node, ast.Slice):
            return node, node
        held = self.hold(node)
        value = sliced(self.visited(node))
        return ast.copy_location(ast.NamedExpr(held, value), node), load(held.id, node)

    def _attribute(self, node: ast.Attribute, value: ast.expr, context: ast.expr_context) -> ast.expr:
        name, writes = mangle(node.attr, self.owner), isinstance(context, ast.Store)
        how = self.touched(node, writes=writes)
        target = hook(how, self.site(Kind.ATTRIBUTE, name, node, writes=writes), value, at=node.value)
        return ast.copy_location(ast.Attribute(target, node.attr, context), node)

    def _item(self, node: ast.Subscript, value: ast.expr, key: ast.expr, context: ast.expr_context) -> ast.expr:
        site = self.site(Kind.ITEM, "[]", node, writes=isinstance(context, ast.Store))
        if isinstance(key, ast.NamedExpr):  # after the container, before the access
            pair = hook("touch_pair", site, value, key, at=node)
            return hook("getitem", starred(pair), at=node)
        target = hook("touch_item", site, value, key, at=node.value)
        return ast.copy_location(ast.Subscript(target, key, context), node)

    def _grow_local(self, node: ast.AugAssign) -> ast.stmt:
        """Rewrite ``x += y`` of a local variable: a container or an array that others have, too, grows in place."""
        assert isinstance(node.target, ast.Name)
        grown, added = load(node.target.id, node), self.visited(node.value)
        node.value = hook("touch_added", self._growing(node), grown, added, at=node.value)
        return node

    def _grow_variable(self, node: ast.AugAssign, target: ast.Name) -> ast.stmt:
        before = self.visited(load(target.id, target))
        grown = self._grown(node, before)
        return ast.copy_location(ast.Assign([target], self.stored(target.id, grown)), node)

    def visit_Delete(self, node: ast.Delete) -> list[ast.stmt]:  # noqa: N802
        statements: list[ast.stmt] = []
        for target in node.targets:
            if isinstance(target, ast.Name) and (kind := self.shared(target.id)):
                seen = self.announce(kind, target.id, target, writes=True)
                statements.append(ast.copy_location(ast.Expr(seen), node))
            statements.append(ast.copy_location(ast.Delete([self.visited(target)]), node))
        return statements
