"""Takes assignments apart whose targets are bound one by one, from left to right, as something is announced between."""

from __future__ import annotations

import ast

from omni_ipc.testbed.instrument.rewriting.base import Place
from omni_ipc.testbed.instrument.rewriting.nodes import hook, load
from omni_ipc.testbed.instrument.sites import Kind

Part = tuple[ast.expr, ast.expr]
"""A target, and what it is bound to."""


class Unpacking(Place):
    """The part that binds targets in steps: later ones may read what earlier ones have bound."""

    _holds = 0

    def hold(self, at: ast.AST) -> ast.Name:
        """Make a variable of the function's own, for the time of one statement."""
        self._holds += 1
        return ast.copy_location(ast.Name(f"__omni_held_{self._holds}__", ast.Store()), at)

    def is_held(self, target: ast.expr) -> bool:
        """Tell whether a value is held in a variable of the function's own before a target is bound to it."""
        match target:
            case ast.Name(id=name):
                return bool(self.shared(name))
            case ast.Starred(value=value):
                return self.is_held(value)
            case ast.Tuple() | ast.List():  # others may change what is unpacked
                return self.is_inside and self.scope.kind != "class"
        return False

    def parts(self, target: ast.expr, value: ast.expr) -> list[Part]:
        """Rewrite a target, and take apart what binds it to a value."""
        match target:
            case ast.Name(id=name):
                return [(target, self.stored(name, value))]
            case ast.Tuple(elts=elements) | ast.List(elts=elements) if any(map(self.is_held, elements)):
                found = [self.held(element) for element in elements]
                target.elts = [held for held, _ in found]
                return [(target, value), *(part for _, parts in found for part in parts)]
        return [(self.visited(target), value)]

    def held(self, target: ast.expr) -> tuple[ast.expr, list[Part]]:
        """Let a variable of the function's own stand for a target, and return with it what binds the target then."""
        if isinstance(target, ast.Starred):
            held, parts = self.held(target.value)
            return ast.copy_location(ast.Starred(held, ast.Store()), target), parts
        held = self.hold(target)
        return held, self.parts(target, self._unpacked(target, load(held.id, target)))

    def _unpacked(self, target: ast.expr, value: ast.expr) -> ast.expr:
        """Announce that a value is read, if it is unpacked into a target."""
        if not isinstance(target, (ast.Tuple, ast.List)):
            return value
        return hook("touch_unpacked", self.site(Kind.VALUE, "*", target), value, at=value)
