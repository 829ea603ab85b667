"""Small pieces of syntax tree: how rewritten code calls the hooks."""

from __future__ import annotations

import ast

from omni_ipc.testbed.instrument.tables import EXCHANGED, is_special

_ARITHMETIC = ("iadd", "isub", "imul", "imatmul", "itruediv", "ifloordiv", "imod", "ipow", "ilshift", "irshift")
GROWS = (*_ARITHMETIC, "iand", "ior", "ixor")
"""Functions of `operator`."""

_COMPARISONS: dict[type, str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
}
_BINARY: dict[type, str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Mod: "mod",
    ast.BitOr: "or_",
    ast.BitAnd: "and_",
}
_BINARY |= {ast.BitXor: "xor"}
PLAIN = (*_COMPARISONS.values(), *_BINARY.values())
"""More of them, for operators of which containers may be operands."""

HOOKS = (
    "touch",  # (site, obj) -> obj
    "touch_names",  # (site, obj) -> obj, of which all attributes are got at
    "touch_exchanged",  # (site, obj) -> obj, which becomes another thing
    "touch_item",  # (site, obj, key) -> obj
    "touch_key",  # (site, obj, key) -> key
    "touch_pair",  # (site, obj, key) -> (obj, key)
    "touch_entry",  # (site, value, obj, key) -> (obj, key, value)
    "touch_outer",  # (site, super object) -> super object
    "touch_value",  # (site, value) -> value
    "touch_call",  # (site, obj, *arguments) -> obj
    "touch_last",  # (site, obj, last argument, *other arguments) -> last argument
    "touch_passed",  # (site, function, last argument, *other arguments) -> last argument
    "touch_named",  # (site, last argument, *other arguments) -> last argument
    "touch_set",  # (site, last argument, *other arguments) -> last argument
    "touch_packed",  # (site, function, *arguments, **keywords) -> all of it, to be called with nothing
    "touch_both",  # (site, left, right) -> left, right
    "touch_grown",  # (site, obj, added) -> obj, added
    "touch_added",  # (site, obj, added) -> added
    "touch_second",  # (site, right, left) -> right
    "touch_bound",  # (site, method) -> method
    "touch_steps",  # (site, iterable) -> iterable
    "touch_unpacked",  # (site, value) -> value
    "touch_delegated",  # (site, iterable) -> iterable
    "touch_async_steps",  # (site, asynchronous iterable) -> asynchronous iterable
    "touch_handed",  # (site, function) -> function
    "address",  # (object) -> its id()
    "touch_later",  # (what may use a generator later) -> the same, or what stands for it
    "touch_next",  # (site, iterator) -> iterator
    "touch_awaited",  # (site, what is awaited) -> the same
    "touch_running",  # (site, value) -> value
    "touch_inside",  # (site, value, object whose method runs) -> value
    "touch_global",  # (site) -> True
    "store_global",  # (site, value) -> value
    "touch_cell",  # (site, function that holds it) -> True
    "store_cell",  # (site, function that holds it, value) -> value
    "new_cell",  # (function that holds it)
    "new",  # (object) -> object
    "getitem",
    "setitem",
    *GROWS,
    *PLAIN,
)
"""Each is known to rewritten code as ``__omni_NAME__``: so it is not mangled in classes."""

MARK = "__omni_cell__"
"""The parameter of functions that only show a cell."""

_IN_PLACE = {
    ast.Add: "iadd",
    ast.Sub: "isub",
    ast.Mult: "imul",
    ast.MatMult: "imatmul",
    ast.Div: "itruediv",
    ast.FloorDiv: "ifloordiv",
    ast.Mod: "imod",
    ast.Pow: "ipow",
    ast.LShift: "ilshift",
    ast.RShift: "irshift",
    ast.BitAnd: "iand",
    ast.BitOr: "ior",
    ast.BitXor: "ixor",
}
_FRESH = (ast.Constant, ast.Compare, ast.JoinedStr, ast.Lambda, ast.UnaryOp, ast.BinOp, ast.FormattedValue)


def hook_name(hook: str) -> str:
    """Return the name that rewritten code has for a hook."""
    return f"__omni_{hook}__"


def hook(name: str, *arguments: ast.expr, at: ast.AST) -> ast.Call:
    """Call a hook, at the place of a node."""
    return call(hook_name(name), *arguments, at=at)


def number(value: int, at: ast.AST) -> ast.Constant:
    """Make a number."""
    return ast.copy_location(ast.Constant(value), at)


def load(name: str, at: ast.AST) -> ast.Name:
    """Make a variable that is read."""
    return ast.copy_location(ast.Name(name, ast.Load()), at)


def starred(value: ast.expr) -> ast.Starred:
    """Make an argument of many."""
    return ast.copy_location(ast.Starred(value, ast.Load()), value)


def shown(name: str, at: ast.AST) -> ast.Lambda:
    """Make a function that holds a variable, for its cell."""
    arguments = ast.arguments(
        posonlyargs=[], args=[ast.copy_location(ast.arg(MARK), at)], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    return ast.copy_location(ast.Lambda(arguments, load(name, at)), at)


def in_place(operator: ast.operator) -> str:
    """Name the function of `operator` that grows a value in place."""
    return _IN_PLACE[type(operator)]


def function_of(operator: ast.operator | ast.cmpop) -> str | None:
    """Name the function of `operator` that does the same with two operands; None if no container can be one."""
    return _COMPARISONS.get(type(operator)) or _BINARY.get(type(operator))


def may_hold(node: ast.expr) -> bool:
    """Tell whether an expression may give an object that others have, too, or one that holds such an object."""
    match node:
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts) | ast.Dict(values=parts):
            return any(may_hold(part) for part in parts)
    return not isinstance(node, _FRESH)


def nothing(at: ast.AST) -> ast.Constant:
    """Make a None."""
    return ast.copy_location(ast.Constant(None), at)


def unknown(at: ast.AST) -> ast.Constant:
    """Make an ellipsis, which stands for a key that cannot be evaluated twice."""
    return ast.copy_location(ast.Constant(...), at)


def call(name: str, *arguments: ast.expr, at: ast.AST) -> ast.Call:
    """Call a function by its name, at the place of a node."""
    return ast.copy_location(ast.Call(load(name, at), list(arguments), []), at)


def is_super(node: ast.expr) -> bool:
    """Tell whether an expression is a call of ``super()``."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def makes_another(target: ast.expr, name: str) -> bool:
    """Guess whether to store an attribute makes another thing of its object, to which nobody's use of it comes."""
    is_of_all = isinstance(target, ast.Name) and target.id == "builtins"
    return is_of_all or name in EXCHANGED or is_special(name)


def mangle(name: str, owner: str | None) -> str:
    """Return the name of an attribute as it is in a class."""
    if owner is None or not name.startswith("__") or name.endswith("__") or not (bare := owner.lstrip("_")):
        return name
    return f"_{bare}{name}"
