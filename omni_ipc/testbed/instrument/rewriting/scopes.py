"""Which variables of a module tasks may share: found in its syntax tree, before it is rewritten.

A local variable is its function's own. A variable of an enclosing function counts if it may change once an inner
function holds it; a global, if a function assigns it, or another module does (``pump.limit = 3``).
"""

from __future__ import annotations

import ast
import builtins
from typing import Literal

from omni_ipc.testbed.instrument.rewriting.binding import Function, bound_by, declare, outside
from omni_ipc.testbed.instrument.rewriting.reflection import ANY, Reflection
from omni_ipc.testbed.instrument.rewriting.scope import Scope, outlives

Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


class Scopes(ast.NodeVisitor):
    """The scopes of a module.

    Args:
        written_outside: names of attributes of modules that other modules assign.

    Attributes:
        of: scope by the node that opens it.
        shared_globals: globals that functions may see change.
        values: names that assignments bind.
        imported: names that only imports bind.
        decorated: names that definitions bind to whatever a decorator makes of them.
        defined: names that only plain definitions bind, at the level of the module; not of classes that are made as
            their bases are, which may be in C.
        unbound: globals that nothing in the module binds, and Python does not have.
        assigned: names of attributes that something in the module assigns or deletes.
        written: names of attributes of modules that some module assigns, or `ANY`.
    """

    def __init__(self, tree: ast.Module, written_outside: frozenset[str] = frozenset()) -> None:
        self.of: dict[ast.AST, Scope] = {}
        self.shared_globals: set[str] = set()
        self._scope = self.module = Scope("module")
        self._order = 0
        self._depth = 0  # of loops
        self._uses: list[tuple[str, Scope, int]] = []
        self._nonlocal_stores: list[tuple[str, Scope]] = []
        self.of[tree] = self.module
        bound = bound_by(tree)
        self.imported = bound["import"] - bound["value"] - bound["definition"] - bound["decorated"]
        self.values = bound["value"]
        self.decorated = bound["decorated"]
        others = ("derived", "value", "import", "decorated")
        self.defined = bound["definition"].difference(*(bound[other] for other in others))
        reflection = Reflection(tree)
        self.assigned = reflection.assigned
        self.written = reflection.written | written_outside
        for statement in tree.body:
            self.visit(statement)
        self._capture()
        self.unbound = self._unbound()
        if reflection.reflects or ANY in written_outside:
            self.shared_globals |= bound["value"] | self.unbound
        else:
            self.shared_globals |= bound["value"] & written_outside

    def _capture(self) -> None:
        for name, scope, order in self._uses:
            where, owner = scope.find(name)
            if where == "cell" and owner is not None and outlives(scope, owner):
                owner.captures[name] = min(order, owner.captures.get(name, order))
        for name, scope in self._nonlocal_stores:
            _, owner = scope.find(name)
            if owner is not None:
                owner.reassigned.add(name)
                owner.captures.setdefault(name, self._order)

    def binds(self, name: str) -> bool:
        """Tell whether something at the level of the module binds a name."""
        return name in self.module.stores or name in self.shared_globals

    def _unbound(self) -> set[str]:
        used = {name for name, scope, _ in self._uses if scope.find(name)[0] == "global"}
        return used - self.module.stores.keys() - vars(builtins).keys()

    # Scopes

    def _open(self, node: ast.AST, kind: Literal["class", "function", "comprehension"], name: str) -> Scope:
        scope = Scope(kind, self._scope, name)
        self.of[node] = scope
        self._order += 1
        return scope

    def _function(self, node: Function, name: str) -> None:
        for expression in outside(node):
            self.visit(expression)
        scope = self._open(node, "function", name)
        before, self._scope = (self._scope, self._depth), scope
        self._depth = 0
        body = node.body if isinstance(node.body, list) else [node.body]
        declare(scope, body)
        arguments = node.args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            self._store(argument.arg)
        for starred in (arguments.vararg, arguments.kwarg):
            if starred is not None:
                self._store(starred.arg)
        for statement in body:
            self.visit(statement)
        self._scope, self._depth = before

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if not node.decorator_list:
            self._scope.definitions.add(node.name)
        self._store(node.name)
        self._function(node, node.name)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._store(node.name)
        self._function(node, node.name)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._function(node, "<lambda>")

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for expression in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(expression)
        self._store(node.name)
        scope = self._open(node, "class", node.name)
        before, self._scope = self._scope, scope
        declare(scope, node.body)
        for statement in node.body:
            self.visit(statement)
        self._scope = before

    def generic_visit(self, node: ast.AST) -> None:
        if isinstance(node, _COMPREHENSIONS):
            self._comprehension(node)
        elif isinstance(node, _LOOPS):
            self._depth += 1
            super().generic_visit(node)
            self._depth -= 1
        else:
            super().generic_visit(node)

    def _comprehension(self, node: Comprehension) -> None:
        self.visit(node.generators[0].iter)
        scope = self._open(node, "comprehension", "")
        scope.is_lazy = isinstance(node, ast.GeneratorExp)
        before, self._scope = self._scope, scope
        for place, generator in enumerate(node.generators):
            self.visit(generator.target)
            if place:
                self.visit(generator.iter)
            for condition in generator.ifs:
                self.visit(condition)
        for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            self.visit(part)
        self._scope = before

    # Names

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._order += 1
            self._uses.append((node.id, self._scope, self._order))
        else:
            self._store(node.id, again=self._scope.kind == "comprehension")

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        scope = self._scope
        while scope.kind == "comprehension" and scope.parent is not None:
            scope = scope.parent
        self._store(node.target.id, scope, again=scope is not self._scope)  # a comprehension is a loop

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            self._store(alias.asname or alias.name.partition(".")[0])

    visit_ImportFrom = visit_Import  # noqa: N815

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name is not None:
            self._store(node.name, again=True)  # it is deleted at the end
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs | ast.MatchStar) -> None:
        if node.name is not None:
            self._store(node.name)
        self.generic_visit(node)

    visit_MatchStar = visit_MatchAs  # noqa: N815

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        if node.rest is not None:
            self._store(node.rest)
        self.generic_visit(node)

    def _store(self, name: str, scope: Scope | None = None, *, again: bool = False) -> None:
        scope = scope or self._scope
        self._order += 1
        if name in scope.globals:
            if scope is not self.module:
                self.shared_globals.add(name)
            return
        if name in scope.nonlocals:
            self._nonlocal_stores.append((name, scope))
            return
        scope.stores[name] = scope.stores.get(name, 0) + (2 if self._depth or again else 1)
        scope.first_store.setdefault(name, self._order)
