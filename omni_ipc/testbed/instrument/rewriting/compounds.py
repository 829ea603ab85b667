"""Rewrites statements that have others in them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeVar

from omni_ipc.testbed.instrument.rewriting.nodes import load, nothing
from omni_ipc.testbed.instrument.rewriting.storing import Statements, Storing
from omni_ipc.testbed.instrument.rewriting.values import is_pair

Loop = TypeVar("Loop", ast.For, ast.AsyncFor)
Block = TypeVar("Block", ast.With, ast.AsyncWith)


class Compounds(Storing):
    """The part that rewrites loops, branches and blocks."""

    def _loop(self, node: Loop, iterable: ast.expr) -> Loop:
        node.iter = iterable
        node.target, after = self._entered(node.target)
        node.body = after + self._statements(node.body)
        node.orelse = self._statements(node.orelse)
        return node

    def visit_For(self, node: ast.For) -> ast.stmt:  # noqa: N802
        return self._loop(node, self.steps(node.iter))

    def visit_AsyncFor(self, node: ast.AsyncFor) -> ast.stmt:  # noqa: N802
        return self._loop(node, self.steps(node.iter, "touch_async_steps"))

    def _entered(self, target: ast.expr) -> tuple[ast.expr, list[ast.stmt]]:
        """Rewrite what a loop or a block binds, and return with it the statements that its body begins with."""
        if not self.is_held(target):
            return self.visited(target), []
        held, parts = self.held(target)
        return held, self.bound(parts)

    def _block(self, node: Block, *ends: ast.stmt) -> Block:
        """Rewrite a block; what stands behind a variable that is bound in steps is a block inside, which may read it.

        Args:
            ends: what its body ends with.
        """
        begins = [self._enter(item) for item in node.items]
        body = [*self._statements(node.body), *ends]
        items: list[ast.withitem] = []
        for item, begin in zip(reversed(node.items), reversed(begins), strict=True):
            if begin and items:
                body, items = [ast.copy_location(type(node)(items, body), node)], []
            body, items = begin + body, [item, *items]
        node.items, node.body = items, body
        return node

    def _enter(self, item: ast.withitem) -> list[ast.stmt]:
        item.context_expr = self.visited(item.context_expr)
        if item.optional_vars is None:
            return []
        item.optional_vars, begin = self._entered(item.optional_vars)
        return begin

    def visit_With(self, node: ast.With) -> ast.stmt:  # noqa: N802
        return self._block(node)

    def visit_AsyncWith(self, node: ast.AsyncWith) -> ast.stmt:  # noqa: N802
        if not self.is_inside:
            return self._block(node)
        items, last = node.items, node.body[-1]
        block = self._block(node, ast.copy_location(ast.Expr(self.running_on(last)), last))
        for item in items:  # it may wait at its beginning and at its end
            item.context_expr = self.running_on(item.context_expr, item.context_expr)
        return block

    def visit_If(self, node: ast.If) -> ast.stmt:  # noqa: N802
        node.test = self.truth(node.test)
        node.body, node.orelse = self._statements(node.body), self._statements(node.orelse)
        return node

    def visit_While(self, node: ast.While) -> ast.stmt:  # noqa: N802
        node.test = self.truth(node.test)
        node.body, node.orelse = self._statements(node.body), self._statements(node.orelse)
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:  # noqa: N802
        if isinstance(node.test, ast.Compare) and is_pair(node.test) and self.is_inside:
            stable = self.is_stable(node.test.left)  # it stays a comparison, which a traceback underlines
            node.test = self.compared(node.test, None if stable else self.hold(node.test))
        else:
            node.test = self.truth(node.test)
        node.msg = None if node.msg is None else self.visited(node.msg)
        return node

    def visit_Match(self, node: ast.Match) -> ast.stmt:  # noqa: N802
        node.subject = self.value(node.subject, "match")
        for case in node.cases:
            stores = self._captures(case.pattern)
            case.guard = None if case.guard is None else self.truth(case.guard)
            if stores:  # before the guard, which may use what they bind
                bound = ast.copy_location(ast.List(stores, ast.Load()), case.pattern)
                case.guard = bound if case.guard is None else ast.BoolOp(ast.And(), [bound, case.guard])
                ast.copy_location(case.guard, case.pattern)
            case.body = self._statements(case.body)
        return node

    def _captures(self, pattern: ast.pattern) -> list[ast.expr]:
        """Let a pattern bind variables of the function's own in place of shared ones, and return what stores these."""
        held: dict[str, ast.Name] = {}
        for part in ast.walk(pattern):
            field = "rest" if isinstance(part, ast.MatchMapping) else "name"
            name = getattr(part, field, None)
            if isinstance(part, ast.pattern) and name is not None and self.shared(name):
                if name not in held:
                    held[name] = self.hold(pattern)
                setattr(part, field, held[name].id)
        return [
            ast.copy_location(ast.NamedExpr(_store(name, pattern), self.stored(name, load(value.id, pattern))), pattern)
            for name, value in held.items()
        ]

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:  # noqa: N802
        node.type = None if node.type is None else self.visited(node.type)
        name, node.body = node.name, self._statements(node.body)
        if name is None or not (kind := self.shared(name)):
            return node
        node.name = self.hold(node).id
        seen = ast.Expr(self.announce(kind, name, node, writes=True))
        forget: list[ast.stmt] = [seen, ast.Assign([_store(name, node)], nothing(node)), ast.Delete([_del(name, node)])]
        kept = self._store_held(name, node.name, node)
        around = ast.Try(node.body, [], [], [ast.copy_location(each, node) for each in forget])
        node.body = [kept, ast.copy_location(around, node)]
        return node

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> Statements:  # noqa: N802
        before: list[ast.stmt] = []
        after: list[ast.stmt] = []
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            if not (kind := self.shared(name)):
                continue
            if alias.asname is None and "." in alias.name:  # which binds the package
                before.append(ast.copy_location(ast.Expr(self.announce(kind, name, node, writes=True)), node))
            else:
                alias.asname = self.hold(node).id
                after.append(self._store_held(name, alias.asname, node))
        return [*before, node, *after]

    visit_ImportFrom = visit_Import  # noqa: N815

    def _store_held(self, name: str, held: str, at: ast.AST) -> ast.stmt:
        """Store in a shared variable what something else has bound to one of the function's own."""
        return ast.copy_location(ast.Assign([_store(name, at)], self.stored(name, load(held, at))), at)

    def _statements(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        rewritten: list[ast.stmt] = []
        for statement in body:
            result = self.visit(statement)
            rewritten += result if isinstance(result, list) else [result]
        return rewritten


def _store(name: str, at: ast.AST) -> ast.Name:
    return ast.copy_location(ast.Name(name, ast.Store()), at)


def _del(name: str, at: ast.AST) -> ast.Name:
    return ast.copy_location(ast.Name(name, ast.Del()), at)
