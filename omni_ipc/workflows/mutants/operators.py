"""The kinds of faults: each looks at one node of the syntax tree, and gives the edits that put the fault there.

The kinds are those that concurrent code is wrong in when it is wrong: too little under a lock, in the wrong order, a
wake-up that does not come, a look that is not repeated, a wait without end, a path out that leaves something behind.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator

from omni_ipc.workflows.mutants.edits import Edit, Source, indented, span

_STEP = 4  # columns of one level
_FOR_EVER = "1e9"  # seconds: every wait takes it, and none ends by it
_LOOKING = ("bool", "len")
_LOCKS = ("lock", "guard", "changed", "sending", "condition")
_WAKES = {"notify", "notify_all", "wake", "ring", "set"}
_PUBLISHES = _WAKES | {"store", "write", "put", "send", "set_result", "set_exception", "start", "spawn"}
_CLEANS = {"close", "release", "discard", "clear", "cancel", "remove", "unlink", "join", "stop", "shutdown", "forget"}
_TIMEOUTS = ("timeout", "timeout_s", "grace_s")

Operator = Callable[[Source, ast.AST], Iterator[Edit]]


def lock_removed(source: Source, node: ast.AST) -> Iterator[Edit]:
    """A critical section that nobody is kept out of."""
    if not isinstance(node, ast.With):
        return
    for item in node.items:
        if (lock := _lock_of_region(item.context_expr)) is not None:
            yield from _only(source.exchange("lock removed", lock, "None"))
        elif len(node.items) == 1 and _is_lock(item.context_expr):
            yield from _only(_header("lock removed", node, "if True:"))


def lock_narrowed(source: Source, node: ast.AST) -> Iterator[Edit]:
    """A critical section that ends before its last statement, or begins after its first: a check moved out, mostly."""
    if not isinstance(node, ast.With) or len(node.body) < 2 or not any(map(_locks, node.items)):
        return
    header = tuple(source.lines[node.lineno - 1 : node.body[0].lineno - 1])
    first, last = span(node)
    out, rest = node.body[0], source.lines[span(node.body[0])[1] : last]
    yield Edit("lock taken late", first, last, (*indented(source.of(out), -_STEP), *header, *rest))
    out, rest = node.body[-1], source.lines[first - 1 : node.body[-1].lineno - 1]
    if isinstance(out, ast.Return) and not any(_may_be_shared(inner) for inner in ast.walk(out)):
        return  # it gives what only this task knows
    yield Edit("lock given back early", first, last, (*rest, *indented(source.of(out), -_STEP)))


def swapped(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Two statements in the other order, one of which lets others see or go on."""
    for body in _bodies(node):
        for one, other in itertools.pairwise(body):
            if _is_simple(one) and _is_simple(other) and (_publishes(one) or _publishes(other)):
                if _written(one) & _read(other):
                    continue  # it would not run at all
                first, last = span(one)[0], span(other)[1]
                between = source.lines[span(one)[1] : span(other)[0] - 1]
                yield Edit("swapped", first, last, (*source.of(other), *between, *source.of(one)))


def wake_dropped(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Nobody, or only one, is woken."""
    if (call := _called(node)) is None or call.attr not in _WAKES:
        return
    assert isinstance(node, ast.Expr)
    yield source.replace("wake dropped", node, "pass")
    if call.attr == "notify_all":
        line = source.lines[node.lineno - 1].replace(".notify_all(", ".notify(")
        yield Edit("wake narrowed", node.lineno, node.lineno, (line,))


def looked_once(source: Source, node: ast.AST) -> Iterator[Edit]:
    """A condition that is looked at once, and not again after each wake-up."""
    if isinstance(node, ast.While) and not isinstance(node.test, ast.Constant):
        line = source.lines[node.lineno - 1]
        yield Edit("while as if", node.lineno, node.lineno, (line.replace("while ", "if ", 1),))


def fence_dropped(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Stores and loads that may pass one another."""
    if (call := _called(node)) is not None and call.attr == "fence":
        assert isinstance(node, ast.Expr)
        yield source.replace("fence dropped", node, "pass")


def timeout_ignored(source: Source, node: ast.AST) -> Iterator[Edit]:
    """A wait that ends only with what it waits for."""
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg in _TIMEOUTS and not isinstance(keyword.value, ast.Constant):
                yield from _only(source.exchange("timeout ignored", keyword.value, _FOR_EVER))


def cleanup_skipped(source: Source, node: ast.AST) -> Iterator[Edit]:
    """A path out that leaves something behind."""
    if isinstance(node, ast.Try) and node.finalbody:
        first, last = span(node.finalbody[0])[0], span(node.finalbody[-1])[1]
        yield Edit("cleanup skipped", first, last, (" " * node.finalbody[0].col_offset + "pass",))
    if isinstance(node, ast.ExceptHandler) and len(node.body) > 1 and isinstance(node.body[-1], ast.Raise):
        first, last = span(node.body[0])[0], span(node.body[-2])[1]
        yield Edit("cleanup skipped", first, last, (" " * node.body[0].col_offset + "pass",))
    if (call := _called(node)) is not None and call.attr in _CLEANS | {"pop"}:
        assert isinstance(node, ast.Expr)
        yield source.replace("cleanup skipped", node, "pass")


def update_dropped(source: Source, node: ast.AST) -> Iterator[Edit]:
    """Something that has happened, and is not noted."""
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Attribute):
        yield source.replace("update dropped", node, "pass")
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and _is_attribute(node.targets[0]):
        yield source.replace("update dropped", node, "pass")


OPERATORS: tuple[Operator, ...] = (
    lock_removed,
    lock_narrowed,
    swapped,
    wake_dropped,
    looked_once,
    fence_dropped,
    timeout_ignored,
    cleanup_skipped,
    update_dropped,
)


def _only(edit: Edit | None) -> Iterator[Edit]:
    if edit is not None:
        yield edit


def _header(operator: str, node: ast.With, line: str) -> Edit | None:
    """Exchange the line that a block begins with."""
    if node.body[0].lineno != node.lineno + 1:
        return None
    return Edit(operator, node.lineno, node.lineno, (" " * node.col_offset + line,))


def _locks(item: ast.withitem) -> bool:
    return _is_lock(item.context_expr) or _lock_of_region(item.context_expr) is not None


def _lock_of_region(node: ast.expr) -> ast.expr | None:
    """The lock of ``rt.region("Actor.Verb", lock)``."""
    match node:
        case ast.Call(func=ast.Attribute(attr="region"), args=[_, ast.Attribute() as lock]):
            return lock
    return None


def _is_lock(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr.strip("_").endswith(_LOCKS)


def _may_be_shared(node: ast.AST) -> bool:
    """An attribute of something, or a call, but for those that only look at their argument."""
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(node, ast.Attribute) or (called is not None and getattr(called, "id", "") not in _LOOKING)


def _is_attribute(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def _called(node: ast.AST) -> ast.Attribute | None:
    """The method that a statement calls, and does nothing else."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        return node.value.func
    return None


def _bodies(node: ast.AST) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        body = getattr(node, name, None)
        if isinstance(body, list):
            yield body


def _is_simple(node: ast.stmt) -> bool:
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Expr | ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete) and not docstring


def _publishes(node: ast.stmt) -> bool:
    calls = (inner.func for inner in ast.walk(node) if isinstance(inner, ast.Call))
    return any(isinstance(func, ast.Attribute) and func.attr in _PUBLISHES for func in calls)


def _written(node: ast.stmt) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _read(node: ast.stmt) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
