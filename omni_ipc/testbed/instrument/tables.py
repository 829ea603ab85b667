"""What operations do, by the names of types, methods and functions."""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Mapping


class Effect(enum.Enum):
    """What is done to a container."""

    KEY_READ = "reads an item"
    KEY_WRITE = "sets an item, that may be new"
    KEY_DELETE = "takes an item away"
    SHAPE_READ = "reads which items there are"
    READ = "reads all items"
    WRITE = "changes any items"

    __hash__ = object.__hash__  # that of enumerations is slow, and this is a part of keys

    @property
    def writes(self) -> bool:
        return self in (Effect.KEY_WRITE, Effect.KEY_DELETE, Effect.WRITE)


def _table(**methods: str) -> dict[str, Effect]:
    return {name: Effect[effect] for effect, names in methods.items() for name in names.split()}


_MAPPING = _table(
    KEY_READ="get __getitem__ __contains__",
    KEY_WRITE="setdefault __setitem__",
    KEY_DELETE="pop __delitem__",
    SHAPE_READ="keys __iter__ __len__ __reversed__ fromkeys",
    READ="items values copy __eq__ __ne__ __or__ __ror__ __repr__ __str__ most_common elements total",
    WRITE="update clear popitem move_to_end subtract __ior__ __init__",
)
_SEQUENCE = _table(
    KEY_READ="__getitem__",
    KEY_WRITE="__setitem__",
    SHAPE_READ="__len__",
    READ="index count copy __iter__ __contains__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __add__ __mul__ __rmul__ "
    "__repr__ __str__ __reversed__ hex decode find startswith endswith join split strip lower upper",
    WRITE="append extend insert remove pop clear sort reverse appendleft extendleft popleft rotate __delitem__ "
    "__iadd__ __imul__ __init__",
)
_SET = _table(
    KEY_READ="__contains__",
    KEY_WRITE="add",
    KEY_DELETE="discard remove",
    SHAPE_READ="__len__",
    READ="copy union intersection difference symmetric_difference issubset issuperset isdisjoint __iter__ __eq__ "
    "__ne__ __or__ __and__ __sub__ __xor__ __le__ __lt__ __ge__ __gt__ __repr__ __str__",
    WRITE="update clear pop intersection_update difference_update symmetric_difference_update __ior__ __iand__ "
    "__isub__ __ixor__ __init__",
)
TABLES: Mapping[type, Mapping[str, Effect]] = {
    dict: _MAPPING,
    list: _SEQUENCE,
    deque: _SEQUENCE,
    bytearray: _SEQUENCE,
    set: _SET,
}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MAKERS = _words("list dict set bytearray deque OrderedDict defaultdict Counter copy deepcopy sorted iter")
"""Functions that make a container; a class is known by its capital."""

OBLIVIOUS = _words("isinstance issubclass type id callable super print locals globals TypeVar cast current_thread")
"""Functions that read nothing of what they are given, unless it is a file."""

LOOKING = frozenset(name for table in TABLES.values() for name, effect in table.items() if not effect.writes)
"""Methods of containers that change nothing."""

READERS = _words(
    "len int float list tuple set frozenset dict sorted sum min max any all str repr format bytes bytearray deque "
    "OrderedDict Counter defaultdict enumerate zip map filter reversed iter aiter hash join dumps deepcopy copy islice "
    "chain reduce ascii bool choice nsmallest nlargest bisect bisect_left bisect_right product debug info warning "
    "error exception log pformat pprint fromkeys accumulate groupby namedtuple partial"
)
"""Functions that only read what they are given."""

SHALLOW = _words(
    "len list tuple set frozenset dict iter aiter enumerate zip map filter reversed any all bool chain islice next "
    "partial bool + * ** for extend"
)
"""What does not look into the things that a container holds."""

THROUGH = _words("copy deepcopy dumps asdict astuple replace format format_map vars match")
"""What gets at the attributes of an object, whatever methods its class has."""

BY_NAME = dict.fromkeys(("getattr", "hasattr", "vars", "dir"), False)
SETTING = ("setattr", "delattr")
BY_NAME |= dict.fromkeys((*SETTING, "next", "anext"), True)
"""Functions that use an attribute by its name, or all of them, or take a step; and whether they change anything."""

CALLERS = _words(
    "Thread Timer submit map call_soon call_soon_threadsafe call_later call_at run_in_executor to_thread "
    "add_done_callback start_new_thread run_coroutine_threadsafe"
)
"""Python code that calls what it is given later, in a task of its own."""

TOOLS = ("threading", "queue", "concurrent.futures", "asyncio", "contextvars", "omni_ipc.testbed")
"""Modules that pass things on unseen; what stands for them under control, such as the event loop, tells by itself."""

_STATELESS = ("abc", "typing", "contextlib", "logging", "enum", "_thread", "warnings", "dataclasses")
_STREAMS = "omni_ipc.testbed.oracles"  # what stands for standard output while it is muted
STATELESS = (*TOOLS, *_STATELESS, _STREAMS, "builtins")
"""Modules whose functions keep no state in the objects of other classes."""

LATER = _words("__anext__ asend athrow aclose anext closing aclosing")
"""What gives something that uses a generator when it is awaited, or its block ends."""

PURE = ("__getitem__", "__contains__", "__len__", "__iter__", "__eq__")
"""Methods of somebody else's C code that change nothing."""

IN_PLACE = _words(
    "__iadd__ __isub__ __imul__ __imatmul__ __itruediv__ __ifloordiv__ __imod__ __ipow__ __ilshift__ __irshift__ "
    "__iand__ __ior__ __ixor__"
)
"""Methods behind ``x += y`` and the like."""

TAKERS = IN_PLACE | _words(
    "__init__ update extend extendleft union intersection difference symmetric_difference intersection_update "
    "difference_update symmetric_difference_update"
)
"""Methods of containers that read one that they are given; others keep it at most."""

KEPT = frozenset().union(*TABLES.values(), ("__next__", "send", "throw", "__anext__", "asend", "athrow")) - {"__init__"}
"""Methods of containers and iterators, which may be kept and called later."""

TESTS = {"bool": ("__bool__", "__len__"), "==": ("__eq__",), "str": ("__format__", "__str__", "__repr__")}
"""What runs, by what is asked; else the object is looped over."""

EXCHANGED = _words("__class__ __bases__ __code__ __defaults__ __kwdefaults__ cell_contents")
"""Attributes that make another thing of their object, whatever it is; nobody who uses it names them."""

DESCRIBING = _words("__name__ __qualname__ __module__ __doc__ __annotations__ __dict__ __wrapped__")
"""Special attributes of a class that nothing works by."""

OF_ERRORS = _words("__context__ __cause__ __traceback__ __suppress_context__")
"""Special attributes of exceptions that change as others do."""


def is_special(name: str) -> bool:
    """Tell whether a name is one of those that Python itself looks for."""
    return name.startswith("__") and name.endswith("__")
