"""Rewrites calls: they are announced when all their arguments have been evaluated."""

from __future__ import annotations

import ast

from omni_ipc.testbed.instrument.rewriting.accesses import Accesses
from omni_ipc.testbed.instrument.rewriting.nodes import hook, is_super, makes_another, mangle, may_hold
from omni_ipc.testbed.instrument.sites import Kind
from omni_ipc.testbed.instrument.tables import BY_NAME, CALLERS, LATER, MAKERS, OBLIVIOUS, SETTING

_BY_NAME = {"vars": "touch_names", "next": "touch_next", "anext": "touch_next"}
_OF_TYPE = {"__setattr__": "setattr", "__delattr__": "delattr"}
_MAKES_CODE = ("exec", "eval")


class Invocations(Accesses):
    """The part that rewrites calls.

    A method's call is announced for the object, a function's for those arguments that are containers.
    """

    _awaited: ast.expr | None = None  # at once

    def visit_Call(self, node: ast.Call) -> ast.expr:  # noqa: N802
        if not self.is_inside or is_super(node):
            return self.whole(node)
        self._hand(node)
        is_later = _last_name(node.func) in LATER and node is not self._awaited
        makes = _makes(node.func)
        is_method = isinstance(node.func, ast.Attribute) and not self.is_module(node.func.value)
        called = self._method(node) if is_method else self._function(node)
        if is_later:
            called = hook("touch_later", called, at=node)
        return hook("new", called, at=node) if makes else called

    def visit_Await(self, node: ast.Await) -> ast.expr:  # noqa: N802
        self._awaited = node.value
        awaited = self.visited(node.value)
        if not self.is_inside:
            node.value = awaited
            return node
        node.value = hook("touch_awaited", self.site(Kind.STEP, "await", node), awaited, at=node.value)
        return self.running_on(node, node)

    def _hand(self, node: ast.Call) -> None:
        """Let functions of C that are handed to Python code, which calls them later, announce their calls."""
        if _last_name(node.func) not in CALLERS or (isinstance(node.func, ast.Name) and node.func.id == "map"):
            return
        node.args = [self._handed(argument) for argument in node.args]
        for keyword in node.keywords:
            keyword.value = self._handed(keyword.value)

    def _handed(self, node: ast.expr) -> ast.expr:
        if not isinstance(node, (ast.Name, ast.Attribute, ast.Call)):
            return node
        return hook("touch_handed", self.site(Kind.ARGUMENT, "", node), node, at=node)

    def _method(self, node: ast.Call) -> ast.expr:
        method = node.func
        assert isinstance(method, ast.Attribute)
        target = method.value
        if self._is_own(method):
            return self.whole(node)
        if _is_type(target) and method.attr in _OF_TYPE and _names_first(node) and len(node.args) > 1:
            return self._by_name(node, _OF_TYPE[method.attr])
        outer = is_super(target)
        site = self.call_site(mangle(method.attr, self.owner), node, outer=outer)
        arguments = _values(node)
        if not _spreads(node) and all(self.is_stable(argument) for argument in arguments):
            how = "touch_outer" if outer else "touch_call"
            method.value = hook(how, site, self.visited(target), *arguments, at=target)
            return node
        if self.is_stable(target) and self._are_stable_but_last(arguments):
            return self._with_last(node, "touch_last", site, target)
        node.func = self.attribute(method)
        return self._packed(node, site)

    def _is_own(self, method: ast.Attribute) -> bool:
        """Tell whether a method is one that the class at hand defines, and nothing in the module replaces."""
        return (
            isinstance(method.value, ast.Name)
            and method.value.id == self.first
            and method.attr in self.methods
            and method.attr not in self.scopes.assigned
        )

    def _function(self, node: ast.Call) -> ast.expr:
        function, name, arguments = node.func, _last_name(node.func), _values(node)
        known = isinstance(function, ast.Name) and self._is_defined(function.id)
        hands = any(may_hold(argument) for argument in arguments) or self._is_variable(function)
        oblivious = name in OBLIVIOUS and not any(keyword.arg == "file" for keyword in node.keywords)
        if known or oblivious or not (hands or name in _MAKES_CODE):
            return self.whole(node)
        if name in BY_NAME and _names_first(node):
            return self._by_name(node, name)
        site = self.site(Kind.ARGUMENT, name, node)
        plain = self.is_stable(function) or (isinstance(function, ast.Attribute) and self.is_of_module(function))
        if arguments and plain and self._are_stable_but_last(arguments):
            return self._with_last(node, "touch_passed", site, function)
        node.func = self.visited(function)
        return self._packed(node, site)

    def _is_defined(self, name: str) -> bool:
        """Tell whether a name is that of a plain definition of the module, which no variable of the function hides."""
        return name in self.scopes.defined and self.scope.find(name)[0] == "global" and not self.shared(name)

    def _is_variable(self, function: ast.expr) -> bool:
        """Tell whether a function is one that nobody knows before it is called, as a `functools.partial`."""
        if not isinstance(function, ast.Name):
            return True
        where, owner = self.scope.find(function.id)
        if where == "global":
            known = (self.scopes.values, self.scopes.unbound, self.scopes.decorated, self.scopes.imported)
            return any(function.id in names for names in known)
        return owner is not None and function.id not in owner.definitions

    def _by_name(self, node: ast.Call, name: str) -> ast.expr:
        site, first = self.site(Kind.BY_NAME, name, node), node.args[0]
        if len(_values(node)) == 1:
            node.args[0] = hook(_BY_NAME.get(name, "touch"), site, self.visited(first), at=first)
            return node
        sets = name in SETTING and _may_make_another(node)
        if self._are_stable_but_last(_values(node)) and not (sets and _spreads(node)):
            return self._with_last(node, "touch_set" if sets else "touch_named", site, None)
        return self._packed(node, site)

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        node.value = self.value(node.value, "**") if node.arg is None else self.visited(node.value)
        return node

    def _are_stable_but_last(self, arguments: list[ast.expr]) -> bool:
        return all(self.is_stable(argument) for argument in arguments[:-1])

    def _with_last(self, node: ast.Call, how: str, site: ast.Constant, first: ast.expr | None) -> ast.expr:
        """Announce a call when its last argument has been evaluated; it is safe to evaluate the others twice."""
        *others, last = _values(node)
        spread = bool(node.keywords and node.keywords[-1].arg is None) or (
            not node.keywords and isinstance(node.args[-1], ast.Starred)
        )
        evaluated = self.value(last, "*") if spread else self.visited(last)
        value = hook(how, site, *([] if first is None else [first]), evaluated, *others, at=last)
        if node.keywords:
            node.keywords[-1].value = value
        elif isinstance(node.args[-1], ast.Starred):
            node.args[-1].value = value
        else:
            node.args[-1] = value
        return node

    def _packed(self, node: ast.Call, site: ast.Constant) -> ast.expr:
        """Announce a call whatever its arguments are."""
        packed = hook("touch_packed", site, node.func, *(self.visited(argument) for argument in node.args), at=node)
        packed.keywords = [self.visit(keyword) for keyword in node.keywords]
        return ast.copy_location(ast.Call(packed, [], []), node)


def _spreads(node: ast.Call) -> bool:
    """Tell whether a call is given all that is in a container."""
    return any(isinstance(argument, ast.Starred) for argument in node.args) or any(
        keyword.arg is None for keyword in node.keywords
    )


def _may_make_another(node: ast.Call) -> bool:
    """Tell whether a call of ``setattr`` may store what makes another thing of its object."""
    match node.args:
        case [target, ast.Constant(value=str(name)), *_]:
            return makes_another(target, name)
    return True


def _is_type(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "type"


def _names_first(node: ast.Call) -> bool:
    """Tell whether the first argument of a call stands there by itself."""
    return bool(node.args) and not isinstance(node.args[0], ast.Starred)


def _values(node: ast.Call) -> list[ast.expr]:
    """Give the arguments of a call, as they are evaluated."""
    plain = [argument.value if isinstance(argument, ast.Starred) else argument for argument in node.args]
    return plain + [keyword.value for keyword in node.keywords]


def _last_name(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=value):
            return _last_name(value)
    return ""


def _makes(function: ast.expr) -> bool:
    """Guess whether a call makes an object; a wrong guess costs time, or an object its own identity."""
    name = _last_name(function)
    return name in MAKERS or name.lstrip("_")[:1].isupper() or isinstance(function, ast.Call)
