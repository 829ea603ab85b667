"""Rewrites statements: where values are stored, loops, and functions themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import TypeVar

from omni_ipc.testbed.instrument.rewriting.accesses import sliced
from omni_ipc.testbed.instrument.rewriting.nodes import hook, in_place, load, mangle, shown, starred
from omni_ipc.testbed.instrument.rewriting.running import running
from omni_ipc.testbed.instrument.rewriting.values import Values, is_pair
from omni_ipc.testbed.instrument.sites import Kind

Loop = TypeVar("Loop", ast.For, ast.AsyncFor)
Block = TypeVar("Block", ast.With, ast.AsyncWith)
Statements = ast.stmt | list[ast.stmt]
_GROWING = (ast.Add, ast.BitOr, ast.BitAnd, ast.Sub, ast.BitXor, ast.Mult)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Rewriter(Values):
    """Rewrites the syntax tree of a module, in place."""

    _held = 0

    # Storing

    def visit_Assign(self, node: ast.Assign) -> Statements:  # noqa: N802
        unpacks = any(isinstance(target, (ast.Tuple, ast.List)) for target in node.targets)
        node.value = self.value(node.value, "*") if unpacks else self.visited(node.value)
        match node.targets:
            case [ast.Name(id=name)]:
                node.value = self.stored(name, node.value)
                return node
            case [ast.Subscript() as target] if self.is_inside and not self._is_plain(target):
                return self._set_item(node, target)
        return [node, *self._spread(node.targets)]

    def _is_plain(self, target: ast.Subscript) -> bool:
        return self.is_stable_key(target.slice) or (
            self.is_stable(target.value) and not isinstance(target.slice, ast.Slice)
        )

    def _set_item(self, node: ast.Assign, target: ast.Subscript) -> ast.stmt:
        site = self.item_site(target)
        key = sliced(self.visited(target.slice))
        entry = hook("touch_entry", site, node.value, self.visited(target.value), key, at=target)
        return ast.copy_location(ast.Expr(hook("setitem", starred(entry), at=target)), node)

    def _spread(self, targets: list[ast.expr]) -> list[ast.stmt]:
        """Rewrite targets; shared variables among them are stored one by one afterwards, by the statements returned."""
        after: list[ast.stmt] = []
        for place, target in enumerate(targets):
            targets[place] = self._target(target, after)
        return after

    def _target(self, target: ast.expr, after: list[ast.stmt]) -> ast.expr:
        match target:
            case ast.Name(id=name) if self.shared(name):
                held = self._hold(target)
                value = self.stored(name, load(held.id, target))
                after.append(ast.copy_location(ast.Assign([target], value), target))
                return held
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                target.elts = [self._target(element, after) for element in elements]
                return target
            case ast.Starred(value=value):
                target.value = self._target(value, after)
                return target
        return self.visited(target)

    def _hold(self, at: ast.AST) -> ast.Name:
        """Make a variable of the function's own, for the time of one statement."""
        self._held += 1
        return ast.copy_location(ast.Name(f"__omni_held_{self._held}__", ast.Store()), at)

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
        if not isinstance(node.op, _GROWING):
            return hook(in_place(node.op), before, self.visited(node.value), at=node)
        pair = hook("touch_grown", self.call_site("+=", node), before, self.visited(node.value), at=node)
        return hook(in_place(node.op), starred(pair), at=node)

    def _twice(self, node: ast.expr) -> tuple[ast.expr, ast.expr]:
        """Evaluate an expression once, for two uses."""
        if self.is_stable_key(node) and not isinstance(node, ast.Slice):
            return node, node
        held = self._hold(node)
        value = sliced(self.visited(node))
        return ast.copy_location(ast.NamedExpr(held, value), node), load(held.id, node)

    def _attribute(self, node: ast.Attribute, value: ast.expr, context: ast.expr_context) -> ast.expr:
        name, writes = mangle(node.attr, self.owner), isinstance(context, ast.Store)
        target = hook("touch", self.site(Kind.ATTRIBUTE, name, node, writes=writes), value, at=node.value)
        return ast.copy_location(ast.Attribute(target, node.attr, context), node)

    def _item(self, node: ast.Subscript, value: ast.expr, key: ast.expr, context: ast.expr_context) -> ast.expr:
        site = self.site(Kind.ITEM, "[]", node, writes=isinstance(context, ast.Store))
        if isinstance(key, ast.NamedExpr):  # after the container, before the access
            pair = hook("touch_pair", site, value, key, at=node)
            return hook("getitem", starred(pair), at=node)
        target = hook("touch_item", site, value, key, at=node.value)
        return ast.copy_location(ast.Subscript(target, key, context), node)

    def _grow_local(self, node: ast.AugAssign) -> ast.stmt:
        """Rewrite ``x += y`` of a local variable: a container that others have, too, grows in place."""
        assert isinstance(node.target, ast.Name)
        node.value = self.visited(node.value)
        if isinstance(node.op, _GROWING):
            site = self.call_site("+=", node)
            node.value = hook("touch_added", site, load(node.target.id, node), node.value, at=node.value)
        return node

    def _grow_variable(self, node: ast.AugAssign, target: ast.Name) -> ast.stmt:
        before = self.visited(load(target.id, target))
        grown = self._grown(node, before)
        return ast.copy_location(ast.Assign([target], self.stored(target.id, grown)), node)

    def visit_Return(self, node: ast.Return) -> ast.stmt:  # noqa: N802
        node.value = None if node.value is None else self.visited(node.value)
        if self.running == "cached":
            node.value = self.inside(node, node.value)
        return node

    def visit_Delete(self, node: ast.Delete) -> list[ast.stmt]:  # noqa: N802
        statements: list[ast.stmt] = []
        for target in node.targets:
            if isinstance(target, ast.Name) and (kind := self.shared(target.id)):
                seen = self.announce(kind, target.id, target, writes=True)
                statements.append(ast.copy_location(ast.Expr(seen), node))
            statements.append(ast.copy_location(ast.Delete([self.visited(target)]), node))
        return statements

    # Compound statements

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
        return self._loop(node, self.visited(node.iter))

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
        return self._block(node)

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

    # Definitions

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:
        node.decorator_list = [self.visited(decorator) for decorator in node.decorator_list]
        self._defaults(node.args)
        before = self.scope, self.path, self.first, self.running
        parameters = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        if self.scope.kind == "class":
            self.first = parameters[0] if parameters else None
        elif self.first in parameters:
            self.first = None
        self.scope, self.path = self.scopes.of[node], [*self.path, node.name]
        self.running = running(node)
        documented = int(ast.get_docstring(node, clean=False) is not None)
        cells = [hook("new_cell", shown(name, node.body[0]), at=node.body[0]) for name in sorted(self._own_cells())]
        rest: list[ast.stmt] = node.body[documented:]
        body = self._statements(rest)
        around = [self.inside(node.body[0])] if self.running else []
        made: list[ast.stmt] = [ast.copy_location(ast.Expr(each), node.body[0]) for each in (*cells, *around)]
        last = (
            [ast.copy_location(ast.Expr(self.inside(rest[-1])), rest[-1])] if self.running == "cached" and rest else []
        )
        node.body = [*node.body[:documented], *made, *body, *last] or node.body
        self.scope, self.path, self.first, self.running = before
        return [node, *self._bound([node.name], node)]

    def _own_cells(self) -> list[str]:
        return [name for name in self.scope.stores if self.scope.shares(name)]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> list[ast.stmt]:  # noqa: N802
        return self._define(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> list[ast.stmt]:  # noqa: N802
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

    def visit_ClassDef(self, node: ast.ClassDef) -> list[ast.stmt]:  # noqa: N802
        node.decorator_list = [self.visited(decorator) for decorator in node.decorator_list]
        before = self.scope, self.path, self.owner, self.methods
        self.scope, self.path, self.owner = self.scopes.of[node], [*self.path, node.name], node.name
        self.methods = frozenset(item.name for item in node.body if isinstance(item, _FUNCTIONS))
        node.body = self._statements(node.body)
        self.scope, self.path, self.owner, self.methods = before
        return [node, *self._bound([node.name], node)]

    def visit_Module(self, node: ast.Module) -> ast.Module:  # noqa: N802
        node.body = self._statements(node.body)
        return ast.fix_missing_locations(node)


def _captured(pattern: ast.AST) -> list[str]:
    match pattern:
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            return [name]
    return []
