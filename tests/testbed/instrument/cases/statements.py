"""Every kind of statement."""

import contextlib
from typing import Any

total = 0
names: list[str] = []
_private = {"a": 1}


class Box:
    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


def assignments() -> object:
    box = Box(a=1, items=[0, 0, 0], inner=Box(b=2))
    box.a = box.c = first = 3
    box.items[0], box.items[1:], box.d = 1, [2, 3], 4
    (x, [y, *rest]), z = (1, [2, 3, 4]), 5
    box.inner.b, box.a = box.a, box.inner.b
    *start, box.last = "abc"
    value: int = 6
    box.typed: int = 7
    later: int
    a = b = c = [1]
    a.append(2)
    return (
        vars(box).keys(),
        box.items,
        box.a,
        box.inner.b,
        first,
        x,
        y,
        rest,
        z,
        start,
        box.last,
        value,
        box.typed,
        c,
        b,
    )


def augmented() -> object:
    box = Box(n=1, items=[1], text="a", bits=6, table={"k": {"deep": 1}})
    alias = box.items
    box.n += 1
    box.n -= 5
    box.n *= -3
    box.n **= 2
    box.n //= 2
    box.n %= 50
    box.bits &= 3
    box.bits |= 8
    box.bits ^= 1
    box.bits <<= 2
    box.bits >>= 1
    box.half = 3
    box.half /= 2
    box.items += [2]
    box.items *= 2
    box.text += "b"
    box.table["k"]["deep"] += 1
    box.table[box.text] = 0
    box.table[box.text] += box.n
    local = [1]
    other = local
    local += [2]
    number = 1
    number += box.n
    return vars(box), alias is box.items, other is local, number


def augmented_reads_once() -> object:
    calls = []

    class Watched:
        def __getattr__(self, name: str) -> Any:
            calls.append(name)
            return 1

        def __setattr__(self, name: str, value: Any) -> None:
            calls.append((name, value))

        def __getitem__(self, key: Any) -> Any:
            calls.append(key)
            return 2

        def __setitem__(self, key: Any, value: Any) -> None:
            calls.append((key, value))

    def make() -> Watched:
        calls.append("make")
        return Watched()

    make().field += 1
    make()[calls.append("key") or "k"] += 1
    return calls


def variables() -> object:
    global total
    total = 5
    total += 1
    count = 0

    def increment() -> int:
        nonlocal count
        count += 1
        return count

    increment()
    count += 10
    seen = [increment() for _ in range(2)]
    for count in range(3):
        pass
    with contextlib.nullcontext(7) as count:
        seen.append(count)
    (count, other), more = (8, 9), 10
    if (count := count + 1) > 8:
        seen.append(increment())
    kept, total = total, 0
    return kept, seen, count, other, more, total


def variables_of_their_own_statement() -> object:
    """Targets are bound from left to right, and later ones may read what earlier ones have bound."""
    global total
    table: dict[Any, Any] = {}
    total, table[total] = 3, "unpacked"
    total = table[total + 1] = 4
    for total, table[total, "in a loop"] in [(5, "a"), (6, "b")]:
        table[total, "body"] = "c"
    (total, (table[total], *rest)), table["rest"] = (7, ("deep", 8, 9)), 10
    *total, table[str(total)] = "xyz"
    seen: list[Any] = []
    for number in range(2):
        with contextlib.nullcontext(number + 1) as first, contextlib.nullcontext(first + 1) as second:
            seen.append((lambda: (first, second))())
        with (
            contextlib.nullcontext((first, second)) as (total, table[total, "with"]),
            contextlib.nullcontext(total) as third,
        ):
            seen.append(third)
    return table, rest, seen, total


def blocks_that_wait() -> object:
    """The same of blocks of coroutines."""
    import asyncio

    out: list[Any] = []

    @contextlib.asynccontextmanager
    async def given(value: Any) -> Any:
        await asyncio.sleep(0)
        yield value
        out.append(f"leaves {value}")

    async def work() -> None:
        for number in range(2):
            async with given(number) as held, given(held + 10) as other, given("last"):
                out.append((lambda: (held, other))())

    asyncio.run(work())
    return out


def deletions() -> object:
    box = Box(a=1, b=[1, 2, 3], c={"x": 1, "y": 2})
    held = 1

    def reads() -> object:
        try:
            return held
        except NameError as error:
            return str(error)

    del box.a, box.b[0], box.c["x"]
    before = reads()
    del held
    del box.b[:]
    return vars(box), before, reads()


def loops() -> object:
    out: list[Any] = []
    for i in range(10):
        if i == 2:
            continue
        if i == 5:
            break
        out.append(i)
    else:
        out.append("never")
    n = 3
    while n:
        n -= 1
    else:
        out.append("else")
    for key, value in {"a": 1}.items():
        out.append((key, value))
    for box.index in range(2) if (box := Box(index=None)) else ():
        out.append(box.index)
    for (a, *b), c in [((1, 2, 3), 4)]:
        out.append((a, b, c))
    pairs = [([1, 2, 3], 4), ("xyz", 5)]
    out.append([(a, b, c, d) for (a, *b), c in pairs if c for d in range(2) if b])
    out.append({a: list(b for [b, *_], _ in pairs) for a, [c, *_] in zip("ab", ["c", "d"], strict=True) if c > "c"})
    for letter in "ab":
        out.append(letter)
    items = [1, 2, 3]
    for item in items:
        if item < 3:
            items.append(item + 10) if len(items) < 5 else None
    return out, items, i


def changes_while_iterating() -> object:
    table = {1: 1, 2: 2}
    try:
        for key in table:
            table[key + 10] = 0
    except RuntimeError as error:
        return str(error)
    return "no error"


def exceptions() -> object:
    out: list[Any] = []

    def attempt(what: Any) -> None:
        try:
            what()
        except (KeyError, IndexError) as error:
            out.append((type(error).__name__, error.args))
        except Exception as error:
            out.append(str(error))
        else:
            out.append("fine")
        finally:
            out.append("finally")

    attempt(lambda: {}["missing"])
    attempt(lambda: [][5])
    attempt(lambda: Box().nothing)
    attempt(lambda: 1 + "a")
    attempt(lambda: None)
    attempt(lambda: undefined)  # type: ignore[name-defined] # noqa: F821
    attempt(lambda: _private["a"]())
    try:
        try:
            raise ValueError("inner")
        except ValueError as error:
            raise KeyError("outer") from error
    except KeyError as error:
        out.append((error.__cause__, error.__context__ is error.__cause__))
    try:
        raise ExceptionGroup("many", [ValueError(1), TypeError(2), ValueError(3)])
    except* ValueError as group:
        out.append([e.args for e in group.exceptions])
    except* TypeError as group:
        out.append(len(group.exceptions))
    try:
        assert names, f"no names: {names}"
    except AssertionError as error:
        out.append(str(error))
    return [str(item) for item in out]


def contexts() -> object:
    out: list[Any] = []

    @contextlib.contextmanager
    def noted(name: str) -> Any:
        out.append(f"enter {name}")
        try:
            yield name
        finally:
            out.append(f"exit {name}")

    box = Box(name=None)
    with noted("a") as box.name, noted("b") as [letter]:
        out.append((box.name, letter))
    with contextlib.suppress(KeyError), noted("c"):
        raise KeyError
    return out


def matching() -> object:
    class Point:
        __match_args__ = ("x", "y")

        def __init__(self, x: int, y: int) -> None:
            self.x, self.y = x, y

    def describe(value: Any) -> object:
        match value:
            case 0 | 1:
                return "small"
            case int(n) if n > 100:
                return f"large {n}"
            case [first, *rest]:
                return first, rest
            case {"kind": "box", **others}:
                return others
            case Point(0, y=where):
                return f"on the axis at {where}"
            case Point() as point:
                return point.x
            case str() | bytes():
                return "text"
            case None:
                return None
            case _:
                return "other"

    values = [0, 500, [1, 2, 3], {"kind": "box", "w": 1}, Point(0, 3), Point(4, 5), "s", None, 2.5]
    return [describe(value) for value in values]


def imports() -> object:
    import collections.abc as abc
    import os.path
    from textwrap import dedent

    return dedent("  x"), os.path.basename("a/b"), abc.Mapping.__name__


def nested_scopes() -> object:
    def outer(x: int) -> Any:
        y = x

        def middle() -> Any:
            def inner() -> int:
                nonlocal y
                y += x
                return y

            return inner

        return middle(), lambda: y

    add, read = outer(2)
    add()
    add()
    again, _ = outer(10)
    late = [(lambda: x, lambda: (x, y)) for x, (y, *_) in [(1, "ab"), (2, "cd")] if x]
    held = [first() for first, _ in late], [second() for _, second in late], [sum(x for _ in "ab") for x in range(3)]
    return read(), again(), [z for z in range(3)], "z" in dir(), held


def frames() -> object:
    import sys

    a = 1
    own = {name: value for name, value in locals().items() if not name.startswith("__omni")}
    del own["sys"]
    return own, sys._getframe().f_code.co_name, sys._getframe().f_lineno, "total" in globals(), a


def dynamic() -> object:
    space: dict[str, Any] = {}
    exec("def f(x):\n    return x * 2", space)
    return space["f"](4), eval("1 + 2"), eval("total", globals())
