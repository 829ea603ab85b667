"""Rewrites statements that have others in them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import TypeVar

from omni_ipc.testbed.instrument.rewriting.storing import Statements, Storing
from omni_ipc.testbed.instrument.rewriting.values import is_pair

Loop = TypeVar("Loop", ast.For, ast.AsyncFor)
Block = TypeVar("Block", ast.With, ast.AsyncWith)


class Compounds(Storing):
    """The part that rewrites loops, branches and blocks."""

    def _loop(self, node: Loop, iterable: ast.expr) -> Loop:
        node.iter = iterable
        targets = [node.target]
        after = self._spread(targets)
        node.target = targets[0]
        node.body = after + self._statements(node.body)
        node.orelse = self._statements(node.orelse)
        return node

    def visit_For(self, node: ast.For) -> ast.stmt:  # noqa: N802
        return self._loop(node, self.steps(node.iter))

    def visit_AsyncFor(self, node: ast.AsyncFor) -> ast.stmt:  # noqa: N802
        return self._loop(node, self.steps(node.iter, is_async=True))

    def _block(self, node: Block) -> Block:
        after: list[ast.stmt] = []
        for item in node.items:
            item.context_expr = self.visited(item.context_expr)
            if item.optional_vars is not None:
                item.optional_vars = self._target(item.optional_vars, after)
        node.body = after + self._statements(node.body)
        return node

    def visit_With(self, node: ast.With) -> ast.stmt:  # noqa: N802
        return self._block(node)

    def visit_AsyncWith(self, node: ast.AsyncWith) -> ast.stmt:  # noqa: N802
        block, last = self._block(node), node.body[-1]
        if self.is_inside:  # it may wait at its beginning and at its end
            for item in block.items:
                item.context_expr = self.running_on(item.context_expr, item.context_expr)
            block.body.append(ast.copy_location(ast.Expr(self.running_on(last)), last))
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
            node.test = self.compared(node.test, None if stable else self._hold(node.test))
        else:
            node.test = self.truth(node.test)
        node.msg = None if node.msg is None else self.visited(node.msg)
        return node

    def visit_Match(self, node: ast.Match) -> ast.stmt:  # noqa: N802
        node.subject = self.value(node.subject, "match")
        for case in node.cases:
            bound = self._bound([name for pattern in ast.walk(case.pattern) for name in _captured(pattern)], case)
            case.guard = None if case.guard is None else self.truth(case.guard)
            case.body = bound + self._statements(case.body)
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:  # noqa: N802
        node.type = None if node.type is None else self.visited(node.type)
        node.body = self._bound([node.name] if node.name else [], node) + self._statements(node.body)
        return node

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> Statements:  # noqa: N802
        return [node, *self._bound([alias.asname or alias.name.partition(".")[0] for alias in node.names], node)]

    visit_ImportFrom = visit_Import  # noqa: N815

    def _bound(self, names: Iterable[str], at: ast.AST) -> list[ast.stmt]:
        """Announce what a statement binds by other means than an assignment, right after it did."""
        shared = [(kind, name) for name in names if (kind := self.shared(name))]
        announced = [self.announce(kind, name, at, writes=True) for kind, name in shared]
        return [ast.copy_location(ast.Expr(seen), at) for seen in announced]

    def _statements(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        rewritten: list[ast.stmt] = []
        for statement in body:
            result = self.visit(statement)
            rewritten += result if isinstance(result, list) else [result]
        return rewritten


def _captured(pattern: ast.AST) -> list[str]:
    match pattern:
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            return [name]
    return []
