"""Classes, and what is built on them."""

from __future__ import annotations

import abc
import asyncio
import copy
import dataclasses
import enum
import functools
import inspect
import pickle
import typing
from collections import OrderedDict, UserDict
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Base:
    """A documented class."""

    count = 0
    __secret = "base"

    def __init__(self, name: str) -> None:
        self.name = name
        self.__hidden = name.upper()
        Base.count += 1

    def hidden(self) -> str:
        """Return what is hidden."""
        return self.__hidden + self.__secret

    @property
    def size(self) -> int:
        return len(self.name)

    @size.setter
    def size(self, value: int) -> None:
        self.name = "x" * value

    @size.deleter
    def size(self) -> None:
        self.name = ""

    @classmethod
    def make(cls, name: str) -> Base:
        return cls(name)

    @staticmethod
    def double(value: int) -> int:
        return value * 2

    def __getattr__(self, name: str) -> str:
        if name.startswith("_"):
            raise AttributeError(name)
        return f"no {name}"


class Derived(Base):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.extra = super().size

    def hidden(self) -> str:
        return "derived " + super().hidden() + super().hidden()

    @property
    def size(self) -> int:
        return super().size + 100

    def who(self) -> type:
        return __class__  # type: ignore[name-defined]


@dataclasses.dataclass(order=True)
class Item:
    rank: int
    name: str = "x"
    tags: list[str] = dataclasses.field(default_factory=list, compare=False)
    limit: ClassVar[int] = 3

    def __post_init__(self) -> None:
        self.tags.append(self.name)


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    x: int
    y: int = 2


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self) -> None:
        self.a = 1


class Typed:
    def __set_name__(self, owner: type, name: str) -> None:
        self.name = "_" + name

    def __get__(self, instance: Any, owner: type) -> Any:
        return self if instance is None else instance.__dict__.get(self.name, "unset")

    def __set__(self, instance: Any, value: Any) -> None:
        if not isinstance(value, int):
            raise TypeError(f"{self.name} is a number")
        instance.__dict__[self.name] = value


class Described:
    field = Typed()


class Meta(type):
    made: ClassVar[list[str]] = []

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any], **options: Any) -> Any:
        mcs.made.append(name)
        return super().__new__(mcs, name, bases, body)

    def __init__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any], **options: Any) -> None:
        super().__init__(name, bases, body)
        cls.options = options

    def __call__(cls, *args: Any) -> Any:
        made = super().__call__(*args)
        made.made_by_meta = True
        return made


class WithMeta(metaclass=Meta, colour="red"):
    pass


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self) -> int: ...


class Square(Shape):
    def __init__(self, side: int) -> None:
        self.side = side

    def area(self) -> int:
        return self.side**2


class Colour(enum.Enum):
    RED = 1
    BLUE = 2

    @property
    def pretty(self) -> str:
        return self.name.title()


class Stack(Generic[T]):
    def __init__(self) -> None:
        self._items: list[T] = []

    def push(self, item: T) -> None:
        self._items.append(item)

    def __iter__(self) -> Any:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, item: object) -> bool:
        return item in self._items

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, index: int) -> T:
        return self._items[index]


class Recent(OrderedDict[str, int]):
    def __setitem__(self, key: str, value: int) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key, last=False)

    def __missing__(self, key: str) -> int:
        return -1


class Wrapped(UserDict[str, int]):
    def __getitem__(self, key: str) -> int:
        return super().__getitem__(key) * 10


class Pair(NamedTuple):
    left: int
    right: int = 0

    def total(self) -> int:
        return self.left + self.right


def logged(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any, **options: Any) -> Any:
        wrapper.calls += 1
        return function(*args, **options)

    wrapper.calls = 0
    return wrapper


@logged
def greet(name: str, /, *, loud: bool = False) -> str:
    """Say hello."""
    return f"HELLO {name}" if loud else f"hello {name}"


@functools.cache
def cached(n: int) -> int:
    return n if n < 2 else cached(n - 1) + cached(n - 2)


@functools.singledispatch
def kind_of(value: object) -> str:
    return "object"


@kind_of.register
def _(value: int) -> str:
    return "int"


def inheritance() -> object:
    Base.count = 0
    base, derived = Base.make("ab"), Derived.make("cde")
    base.size = 4
    out = [base.hidden(), derived.hidden(), base.size, derived.size, derived.extra, Base.count, Base.double(3)]
    del base.size
    return [
        *out,
        base.size,
        base.missing,
        derived.who(),
        type(derived),
        sorted(vars(derived)),
        derived.__class__.__mro__,
    ]


def data_classes() -> object:
    items = sorted([Item(2), Item(1, "y")])
    frozen = Frozen(1)
    try:
        frozen.x = 3  # type: ignore[misc]
    except dataclasses.FrozenInstanceError as error:
        refused = str(error)
    changed = dataclasses.replace(frozen, y=5)
    return items, items[0].tags, frozen, refused, changed, frozen == Frozen(1), {frozen: 1}[Frozen(1)], Item.limit


def slots_and_descriptors() -> object:
    slotted = Slotted()
    described = Described()
    out: list[Any] = [slotted.a, hasattr(slotted, "b"), described.field]
    described.field = 5
    for attempt in (lambda: setattr(slotted, "c", 1), lambda: slotted.b, lambda: setattr(described, "field", "x")):
        try:
            attempt()
        except (AttributeError, TypeError) as error:
            out.append(str(error))
    return [*out, described.field, type(Described.field).__name__]


def metaclasses() -> object:
    made = WithMeta()
    local = Meta("Local", (WithMeta,), {"x": 1})
    names = list(Meta.made)
    Meta.made.remove("Local")
    return made.made_by_meta, WithMeta.options, local.x, names, type(local).__name__


def abstract() -> object:
    try:
        Shape()  # type: ignore[abstract]
    except TypeError as error:
        return str(error), Square(3).area(), isinstance(Square(1), Shape)


def enums_and_generics() -> object:
    stack = Stack[int]()
    stack.push(1)
    stack.push(2)
    return [
        Colour.RED.pretty,
        Colour(2),
        list(Colour),
        list(stack),
        len(stack),
        2 in stack,
        bool(Stack()),
        stack[0],
        [*stack],
        Pair(1).total(),
        Pair(1, 2)._replace(left=5),
    ]


def containers_by_inheritance() -> object:
    recent = Recent(a=1)
    recent["b"] = 2
    recent["a"] = 3
    wrapped = Wrapped(a=1)
    wrapped["b"] = 2
    return (
        list(recent.items()),
        recent["none"],
        dict(wrapped),
        wrapped.get("z"),
        "a" in recent,
        len(wrapped),
        bool(recent),
    )


def decorated() -> object:
    greet("a")
    said = greet("b", loud=True), greet.calls, greet.__name__, greet.__doc__, str(inspect.signature(greet))
    greet.calls = 0
    return said, cached(20), cached.cache_info().currsize >= 20, kind_of(1), kind_of("s")


def introspection() -> object:
    return [
        Base.hidden.__qualname__,
        Base.hidden.__name__,
        Base.__doc__,
        inspect.getsource(Base.hidden),
        inspect.getsourcelines(Derived)[1],
        inspect.getmodule(Base).__name__.rpartition(".")[2],
        typing.get_type_hints(Item.__init__)["rank"],
        Base.__init__.__annotations__,
        Base.hidden.__code__.co_firstlineno,
        inspect.signature(Item),
        Base.make.__func__.__code__.co_varnames,
        [name for name, _ in inspect.getmembers(Base, inspect.isfunction)],
    ]


def copies() -> object:
    item = Item(1, "z")
    deep = copy.deepcopy(item)
    deep.tags.append("more")
    return (
        pickle.loads(pickle.dumps(item)),
        copy.copy(item) == item,
        item.tags,
        deep.tags,
        pickle.loads(pickle.dumps(greet)) is greet,
    )


def coroutines() -> object:
    out: list[Any] = []

    class Resource:
        async def __aenter__(self) -> str:
            out.append("enter")
            return "resource"

        async def __aexit__(self, *_: object) -> None:
            out.append("exit")

    async def numbers(n: int) -> Any:
        for i in range(n):
            await asyncio.sleep(0)
            yield i

    async def main() -> object:
        box = Base("async")
        async with Resource() as box.held:
            out.append(box.held)
        async for box.last in numbers(3):
            out.append(box.last)
        squares = [x**2 async for x in numbers(3)]
        results = await asyncio.gather(*(asyncio.sleep(0, n) for n in squares))
        return squares, results, [await asyncio.sleep(0, x) for x in range(2)]

    return asyncio.run(main()), out
