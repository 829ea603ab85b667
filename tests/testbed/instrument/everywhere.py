"""All that code comes to if others may run between any two of its operations: the truth, found without instrumentation.

A program's text is rewritten in the bluntest way: where a function begins, and behind each expression, there is a point
that conflicts with every other. No table, no race and no reduction decides what is run; so what is missed elsewhere is
seen here.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import Any

from omni_ipc.testbed.failures import shape
from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.operations import Operation, always
from omni_ipc.testbed.runner import Runner
from omni_ipc.testbed.strategies import Strategy

POINT = "__point__"


class Everywhere(ast.NodeTransformer):
    """Puts a point behind each expression in functions, and one where they begin."""

    def __init__(self) -> None:
        self._inside = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        before, self._inside = self._inside, True
        node.body = self.visit(node.body)
        self._inside = before
        return node

    def _function(self, node: Any) -> ast.AST:
        before, self._inside = self._inside, True
        first = ast.copy_location(ast.Expr(ast.Call(ast.Name(POINT, ast.Load()), [], [])), node.body[0])
        start = (
            [] if node.name.startswith("__") else [first]
        )  # who prints an object in the middle of its print sees "..."
        node.body = [*start, *(self.visit(statement) for statement in node.body)]
        self._inside = before
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        node.value = self._behind(node.value)
        return node

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:
        return node

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.AST:
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                part.value = self.visit(part.value)
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        wrapped = isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Load)
        is_builtin = isinstance(node, ast.Name) and node.id in vars(builtins)
        is_operation = wrapped or isinstance(node, (ast.Call, ast.BinOp, ast.Compare, ast.Await))
        return self._behind(node) if self._inside and is_operation and not is_builtin else node

    def _behind(self, node: Any) -> ast.expr:
        return ast.copy_location(ast.Call(ast.Name(POINT, ast.Load()), [node], []), node)


def code_of(source: str, file: str) -> Any:
    """Compile a program with points everywhere."""
    tree = Everywhere().visit(ast.parse(source))
    return compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)


class Truth:
    """Runs a program whose module is made anew in each run.

    Args:
        source: a module with a function ``main``.
    """

    def __init__(self, source: str, name: str) -> None:
        self._code = code_of(source, f"<{name}>")
        self._name = name
        self._kernel: Kernel | None = None
        self._bit = 0

    def point(self, value: object = None) -> object:
        """Let others run."""
        kernel = self._kernel
        if kernel is not None and not kernel.over and kernel.current.index >= 0:
            step = Operation("anything", None, lambda: None, always)
            step.reads, step.writes = self._bit, self._bit
            kernel.perform(step)
        return value

    def scenario(self) -> object:
        space = {"__name__": self._name, POINT: self.point}
        exec(self._code, space)
        return space["main"]()  # type: ignore[operator]

    def sights(self, search: Strategy, runs: int) -> tuple[set[str], bool]:
        """Run so many schedules; return what was seen, and whether these were all."""
        seen: set[str] = set()
        done = 0
        with Runner(self.scenario_alone()) as runner:
            runner.instrumentation = None
            self._bit = runner.identities["everything"]
            search.allot(runs, None)
            while (prefix := search.next_prefix()) is not None and done < runs:
                kernel, rt = runner.begin(search, prefix)
                self._kernel = kernel
                try:
                    runner.start(kernel, rt)
                finally:
                    run = runner.finish(kernel, rt)
                    self._kernel = None
                search.learn(run)
                done += 1
                if not run.pruned:
                    seen.add(sight(run))
        return seen, prefix is None

    def scenario_alone(self) -> Callable[[], object]:
        return lambda: self.scenario()


def sight(run: Any) -> str:
    """Say what a run came to."""
    if run.failure is None:
        return repr(run.value)
    kind, message = shape(run.failure)
    return f"{kind.name}" if kind.name != "EXCEPTION" else f"{kind.name} {message}"
