"""Rewrites functions, classes, and with them a module."""

from __future__ import annotations

import ast

from omni_ipc.testbed.instrument.rewriting.compounds import Compounds
from omni_ipc.testbed.instrument.rewriting.nodes import hook, load, shown
from omni_ipc.testbed.instrument.rewriting.running import running

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Rewriter(Compounds):
    """Rewrites the syntax tree of a module, in place."""

    def visit_Return(self, node: ast.Return) -> ast.stmt:  # noqa: N802
        node.value = None if node.value is None else self.visited(node.value)
        if self.running == "cached":
            node.value = self.inside(node, node.value)
        return node

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.stmt:
        node.decorator_list = [self.visited(decorator) for decorator in node.decorator_list]
        self._defaults(node.args)
        before = self.scope, self.path, self.first, self.running
        parameters = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        if self.scope.kind == "class":
            self.first = parameters[0] if parameters and not _is_static(node) else None
        elif self.first in parameters:
            self.first = None
        self.scope, self.path = self.scopes.of[node], [*self.path, node.name]
        self.running = running(node)
        documented = int(ast.get_docstring(node, clean=False) is not None)
        cells = [hook("new_cell", shown(name, node.body[0]), at=node.body[0]) for name in sorted(self._own_cells())]
        rest: list[ast.stmt] = node.body[documented:]
        body = self._statements(rest)
        around = [self._ongoing(node.body[0])] if self.running else []
        made: list[ast.stmt] = [ast.copy_location(ast.Expr(each), node.body[0]) for each in (*cells, *around)]
        node.body = [*node.body[:documented], *made, *self._ended(body, rest)] or node.body
        self.scope, self.path, self.first, self.running = before
        self._announce_definition(node)
        return node

    def _announce_definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        """Let the decorator that is called last announce what is stored in a shared variable."""
        if not self.shared(node.name):
            return
        at = node.decorator_list[0] if node.decorator_list else node
        defined = ast.copy_location(ast.arg("defined"), at)
        arguments = ast.arguments(posonlyargs=[], args=[defined], kwonlyargs=[], kw_defaults=[], defaults=[])
        announced = ast.Lambda(arguments, self.stored(node.name, load("defined", at)))
        node.decorator_list.insert(0, ast.copy_location(announced, at))

    def _ended(self, body: list[ast.stmt], plain: list[ast.stmt]) -> list[ast.stmt]:
        """Let a function whose end others may meet announce it: what awaits may end in a later step than it began.

        Args:
            body: its statements, rewritten.
            plain: the same as they were.
        """
        if self.running in ("", "generator") or not plain:
            return body
        last = ast.copy_location(ast.Expr(self._ongoing(plain[-1])), plain[-1])
        if self.running == "cached":
            return [*body, last]
        return [ast.copy_location(ast.Try(body, [], [], [last]), plain[0])]

    def _ongoing(self, at: ast.AST) -> ast.Call:
        return self.running_on(at) if self.running == "coroutine" else self.inside(at)

    def _own_cells(self) -> list[str]:
        return [name for name in self.scope.stores if self.scope.shares(name)]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:  # noqa: N802
        return self._define(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.stmt:  # noqa: N802
        return self._define(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:  # noqa: N802
        self._defaults(node.args)
        before = self.scope, self.path, self.running
        self.scope, self.path, self.running = self.scopes.of[node], [*self.path, "<lambda>"], ""
        node.body = self.visited(node.body)
        self.scope, self.path, self.running = before
        return node

    def _defaults(self, arguments: ast.arguments) -> None:
        arguments.defaults = [self.visited(default) for default in arguments.defaults]
        arguments.kw_defaults = [None if value is None else self.visited(value) for value in arguments.kw_defaults]

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:  # noqa: N802
        node.decorator_list = [self.visited(decorator) for decorator in node.decorator_list]
        before = self.scope, self.path, self.owner, self.methods
        self.scope, self.path, self.owner = self.scopes.of[node], [*self.path, node.name], node.name
        self.methods = frozenset(item.name for item in node.body if isinstance(item, _FUNCTIONS))
        node.body = self._statements(node.body)
        self.scope, self.path, self.owner, self.methods = before
        self._announce_definition(node)
        return node

    def visit_Module(self, node: ast.Module) -> ast.Module:  # noqa: N802
        node.body = self._statements(node.body)
        return ast.fix_missing_locations(node)


def _is_static(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Tell whether a method is given no object."""
    return any(isinstance(each, ast.Name) and each.id == "staticmethod" for each in node.decorator_list)
