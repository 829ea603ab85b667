"""Rewrites expressions that read all of a container, or make one."""

from __future__ import annotations

import ast

from omni_ipc.testbed.instrument.rewriting.invocations import Invocations
from omni_ipc.testbed.instrument.rewriting.nodes import function_of, hook, load, may_hold, starred, unknown
from omni_ipc.testbed.instrument.rewriting.unpacking import Part
from omni_ipc.testbed.instrument.sites import Kind

_MEMBERSHIP = (ast.In, ast.NotIn)
_UNREAD = (ast.In, ast.NotIn, ast.Is, ast.IsNot)
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class Values(Invocations):
    """The part that rewrites what is made of values."""

    def truth(self, node: ast.expr) -> ast.expr:
        """Rewrite an expression of which only the truth is asked."""
        match node:
            case ast.BoolOp(values=values):
                node.values = [self.truth(value) for value in values]
                return node
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                node.operand = self.truth(operand)
                return node
        return self.value(node, "bool")

    def steps(self, node: ast.expr, how: str = "touch_steps") -> ast.expr:
        """Rewrite what is looped over."""
        if not self.is_inside or isinstance(node, (ast.Constant, ast.Tuple, ast.List)):
            return self.visited(node)
        site = self.site(Kind.STEP, "for", node)
        self.site(Kind.VALUE, "*", node)  # of what a view or an iterator shows
        return hook(how, site, self.visited(node), at=node)

    def both(self, node: ast.expr, left: ast.expr, right: ast.expr, function: str, name: str) -> ast.expr:
        """Rewrite an operator that reads all of two operands, when both have been evaluated."""
        pair = hook("touch_both", self.site(Kind.VALUE, name, node), self.visited(left), self.visited(right), at=node)
        return hook(function, starred(pair), at=node)

    def compared(self, node: ast.Compare, held: ast.Name | None = None) -> ast.expr:
        """Rewrite a comparison of two values, and let it be one if the first may be evaluated twice, or held."""
        left, right = node.left, node.comparators[0]
        if not self.is_stable(left) and held is None:
            function = function_of(node.ops[0])
            assert function is not None
            return self.both(node, left, right, function, "==")
        site, first = self.site(Kind.VALUE, "==", node), left
        if held is not None:
            node.left, first = ast.copy_location(ast.NamedExpr(held, self.visited(left)), left), load(held.id, left)
        node.comparators = [hook("touch_second", site, self.visited(right), first, at=right)]
        return node

    # What reads

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:  # noqa: N802
        *tested, last = node.values
        node.values = [*(self.truth(value) for value in tested), self.visited(last)]
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:  # noqa: N802
        node.operand = self.truth(node.operand) if isinstance(node.op, ast.Not) else self.visited(node.operand)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:  # noqa: N802
        node.test, node.body, node.orelse = self.truth(node.test), self.visited(node.body), self.visited(node.orelse)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:  # noqa: N802
        operands = [node.left, *node.comparators]
        reads = not any(isinstance(operand, ast.Constant) for operand in operands)
        if reads and is_pair(node) and self.is_inside:
            return self.compared(node)
        stays = [operator for operator in node.ops if isinstance(operator, _UNREAD)]
        if self.is_inside:
            keys = [operand if self.is_stable_key(operand) else None for operand in operands]
        else:
            keys = [None] * len(operands)
        node.left = self.value(node.left, "==") if reads and not stays else self.visited(node.left)
        node.comparators = [
            self._compared(operator, operand, key, reads=reads)
            for operator, operand, key in zip(node.ops, node.comparators, keys, strict=False)
        ]
        return node

    def _compared(self, operator: ast.cmpop, operand: ast.expr, key: ast.expr | None, *, reads: bool) -> ast.expr:
        if isinstance(operator, _MEMBERSHIP) and self.is_inside and may_hold(operand):
            site = self.site(Kind.MEMBER, "in" if key is not None else "in ?", operand)
            self.site(Kind.VALUE, "*", operand)  # of what a view shows
            return hook("touch_item", site, self.visited(operand), key or unknown(operand), at=operand)
        return self.value(operand, "==") if reads and not isinstance(operator, _UNREAD) else self.visited(operand)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:  # noqa: N802
        function = function_of(node.op)
        numbers = _is_number(node.left) or _is_number(node.right)
        if not self.is_inside or function is None or (numbers and not isinstance(node.op, ast.Mult)):
            return self.whole(node)
        if may_hold(node.left) and may_hold(node.right):
            return self.both(node, node.left, node.right, function, "+")
        node.left, node.right = self.value(node.left, "+"), self.value(node.right, "+")
        return node

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:  # noqa: N802
        node.value = self.value(node.value, "str")
        if node.format_spec is not None:
            node.format_spec = self.visited(node.format_spec)
        return node

    def visit_Starred(self, node: ast.Starred) -> ast.expr:  # noqa: N802
        node.value = self.value(node.value, "*") if isinstance(node.ctx, ast.Load) else self.visited(node.value)
        return node

    def visit_Yield(self, node: ast.Yield) -> ast.expr:  # noqa: N802
        node.value = None if node.value is None else self.visited(node.value)
        if self.running not in ("generator", "async generator"):
            return node
        node.value = self.inside(node, node.value)
        return self.inside(node, node)

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.expr:  # noqa: N802
        node.value = self.steps(node.value, "touch_delegated")
        return node

    # What makes

    def _new(self, node: ast.expr) -> ast.expr:
        return hook("new", node, at=node) if self.is_inside else node

    def visit_List(self, node: ast.List) -> ast.expr:  # noqa: N802
        self.generic_visit(node)
        return self._new(node) if isinstance(node.ctx, ast.Load) else node

    def visit_Set(self, node: ast.Set) -> ast.expr:  # noqa: N802
        return self._new(self.whole(node))

    def visit_Dict(self, node: ast.Dict) -> ast.expr:  # noqa: N802
        pairs = list(zip(node.keys, node.values, strict=True))
        node.values = [self.value(value, "**") if key is None else self.visited(value) for key, value in pairs]
        node.keys = [None if key is None else self.visited(key) for key, _ in pairs]
        return self._new(node)

    def _generated(self, node: ast.comprehension) -> ast.expr:
        return self.steps(node.iter, "touch_async_steps" if node.is_async else "touch_steps")

    def _bound(self, node: ast.comprehension, iterable: ast.expr) -> list[ast.comprehension]:
        """Rewrite a loop of a comprehension; each step of binding its target is a loop over one value, in C a store."""
        node.iter = iterable
        parts: list[Part] = []
        if self.is_held(node.target):
            node.target, parts = self.held(node.target)
        else:
            node.target = self.visited(node.target)
        found = [node, *(ast.comprehension(target, _alone(value), [], 0) for target, value in parts)]
        found[0].ifs, found[-1].ifs = [], [self.truth(condition) for condition in node.ifs]
        return found

    def _comprehension(self, node: Comprehension) -> ast.expr:
        first = self._generated(node.generators[0])
        before, self.scope = self.scope, self.scopes.of[node]
        node.generators = [
            part
            for place, generator in enumerate(node.generators)
            for part in self._bound(generator, self._generated(generator) if place else first)
        ]
        if isinstance(node, ast.DictComp):
            node.key, node.value = self.visited(node.key), self.visited(node.value)
        else:
            node.elt = self.visited(node.elt)
        if isinstance(node, ast.GeneratorExp) and self.is_inside:
            node.elt = self.inside(node.elt, node.elt)
        self.scope = before
        return node if isinstance(node, ast.GeneratorExp) else self._new(node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:  # noqa: N802
        return self._comprehension(node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.expr:  # noqa: N802
        return self._comprehension(node)

    def visit_DictComp(self, node: ast.DictComp) -> ast.expr:  # noqa: N802
        return self._comprehension(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.expr:  # noqa: N802
        return self._comprehension(node)


def is_pair(node: ast.expr) -> bool:
    """Tell whether an expression compares two values that may be containers."""
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            constant = isinstance(left, ast.Constant) or isinstance(right, ast.Constant)
            return function_of(operator) is not None and not constant and (may_hold(left) or may_hold(right))
    return False


def _alone(value: ast.expr) -> ast.expr:
    return ast.copy_location(ast.List([value], ast.Load()), value)


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float, complex))
