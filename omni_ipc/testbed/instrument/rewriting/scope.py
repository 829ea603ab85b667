"""One scope of a module, and what its names are."""

from __future__ import annotations

import dataclasses
from typing import Literal

Where = Literal["local", "cell", "global"]


@dataclasses.dataclass(eq=False)
class Scope:
    """One scope, and what is bound in it.

    Attributes:
        stores: how often each name is assigned here, or in an inner function that calls it nonlocal; in a loop, twice.
        definitions: functions that are defined here, without a decorator.
        first_store, first_capture: order of the first assignment, and of the first inner function that uses the name.
    """

    kind: Literal["module", "class", "function", "comprehension"]
    parent: Scope | None = None
    name: str = ""
    globals: set[str] = dataclasses.field(default_factory=set)
    nonlocals: set[str] = dataclasses.field(default_factory=set)
    stores: dict[str, int] = dataclasses.field(default_factory=dict)
    first_store: dict[str, int] = dataclasses.field(default_factory=dict)
    captures: dict[str, int] = dataclasses.field(default_factory=dict)
    reassigned: set[str] = dataclasses.field(default_factory=set)
    definitions: set[str] = dataclasses.field(default_factory=set)
    is_lazy: bool = False  # of a generator expression

    def find(self, name: str) -> tuple[Where, Scope | None]:
        """Tell what a name used here is, and whose."""
        if name in self.globals:
            return "global", None
        if name in self.stores and name not in self.nonlocals:
            return ("global", None) if self.kind == "module" else ("local", self)
        scope = self.parent
        while scope is not None:
            if scope.kind in ("function", "comprehension") and name in scope.stores and name not in scope.nonlocals:
                return ("global", None) if name in scope.globals else ("cell", scope)
            if scope.kind == "function" and name in scope.globals:
                return "global", None
            scope = scope.parent
        return "global", None

    def shares(self, name: str) -> bool:
        """Tell whether an inner function holds this local variable, and it may change from then on."""
        if self.kind not in ("function", "comprehension") or name not in self.captures:
            return False
        again = self.stores[name] > 1 or name in self.reassigned
        return again or self.first_store[name] > self.captures[name]


def outlives(scope: Scope, owner: Scope) -> bool:
    """Tell whether an inner scope may run while its owner does something else; a list comprehension does not."""
    while scope is not owner and scope.parent is not None:
        if scope.kind == "function" or scope.is_lazy:
            return True
        scope = scope.parent
    return False
