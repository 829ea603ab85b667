"""Every kind of expression."""

from __future__ import annotations

import collections
import itertools
from typing import Any


class Box:
    """Something with attributes."""

    kind = "box"

    def __init__(self, value: Any) -> None:
        self.value = value
        self.log: list[Any] = []

    def note(self, what: Any) -> Any:
        self.log.append(what)
        return what

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Box) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"Box({self.value!r})"


def arithmetic() -> object:
    box = Box(7)
    return [
        box.value + 1,
        box.value - 2 * box.value,
        box.value / 2,
        box.value // 2,
        box.value % 4,
        box.value**2,
        -box.value,
        +box.value,
        ~box.value,
        box.value << 1,
        box.value >> 1,
        box.value & 3,
        box.value | 8,
        box.value ^ 5,
        "%s is %d" % ("box", box.value),
        [1] * 3 + [box.value],
        {1} | {2},
        {"a": 1} | {"b": 2},
    ]


def comparisons() -> object:
    box, other = Box([1, 2]), Box([1, 2])
    return [
        box == other,
        box != other,
        box is other,
        box.value == other.value,
        1 < 2 < 3 > 2,
        2 in box.value,
        5 not in box.value,
        "x" in "xyz",
        None is None,
        [1] < [2],
        1 in {1: 2} in [{1: 2}],
    ]


def booleans() -> object:
    box, empty = Box([1]), Box([])
    return [
        box.value and empty.value,
        box.value or empty.value,
        not empty.value,
        empty.value or box.value or 3,
        1 if box.value else 2,
        1 if empty.value else 2,
        (not box.value) or (empty.value and 1),
        bool(box.value),
        any(empty.value),
    ]


def subscripts() -> object:
    box = Box({"a": [1, 2, 3], (1, 2): 3})
    items = box.value["a"]
    index = 1
    order: list[str] = []

    def key(name: str) -> str:
        order.append(name)
        return name

    box.value[key("new")] = key("value")
    return [
        box.value["a"][0],
        items[index],
        items[-1],
        items[::-1],
        items[index:],
        items[: len(items) - 1],
        box.value[1, 2],
        Box([5]).value[0],
        box.value[key("a")][key("0") and 0],
        order,
        "text"[1],
        (1, 2, 3)[1:],
        list(range(10))[2 : box.value["a"][2] * 2 : index],
    ]


def calls() -> object:
    def show(*args: Any, **options: Any) -> Any:
        return args, sorted(options.items())

    box = Box(1)
    pair, extra = [1, 2], {"x": 1}
    return [
        show(),
        show(1, box.value),
        show(*pair, box.note(3), **extra, y=box.note(4)),
        show(*pair, *pair),
        show(*[box.value], key=pair),
        box.note(box.note(box.note(5))),
        box.log,
        (lambda x, y=box.value: x + y)(2),
        max(pair, key=lambda value: -value),
        sorted(pair, reverse=True),
        "-".join(["a", "b"]),
        len(pair),
        str(box),
        box.value,
        getattr(box, "nothing", "default"),
        hasattr(box, "value"),
        isinstance(box, Box),
        dict(a=1, **extra),
        print(end=""),
    ]


def order_of_evaluation() -> object:
    seen: list[str] = []

    def say(name: str, value: Any) -> Any:
        seen.append(name)
        return value

    box = Box(0)
    table: dict[Any, Any] = {}
    say("object", box).value = say("assigned", 1)
    say("table", table)[say("key", "k")] = say("stored", 2)
    say("table", table)[say("key", "k")] += say("added", 3)
    say("object", box).value += say("added", 4)
    say("list", [1, 2]).append(say("item", 3))
    say("f", say)(say("x", "y"), say("value", 5))
    _ = say("left", 1) + say("right", 2)
    _ = say("a", 1) < say("b", 0) < say("never", 5)
    _ = {say("key1", 1): say("value1", 1), **say("more", {2: 2})}
    _ = say("seq", [1, 2, 3])[say("from", 0) : say("to", 2)]
    return seen, box.value, table


def displays() -> object:
    box = Box([3, 1, 2])
    return [
        [*box.value, 4],
        {*box.value, 4},
        (*box.value, 4),
        {"a": 1, "b": 2},
        [x * 2 for x in box.value],
        {x for x in box.value if x > 1},
        {x: y for x, y in zip(box.value, "abc", strict=True)},
        list(x for x in box.value),
        sum(x for row in [[1, 2], [3]] for x in row if x != 2),
        [[y for y in range(x)] for x in box.value],
        [(a := 5), a + 1],
        [last := x for x in box.value] and last,
    ]


def strings() -> object:
    box = Box({"k": [1, 2]})
    width = 8
    return [
        f"{box.value}",
        f"{box!r:>{width}}|{box.value['k'][0]:04d}",
        f"{box.value=}",
        f"{'nested'!r} {f'{width}'}",
        f"{box.value['k']}",
        f"{3.14159:.{width - 5}f}",
        b"bytes" + b"more",
        "ab",
    ]


def generators() -> object:
    def count(n: int) -> Any:
        try:
            for i in range(n):
                got = yield i
                if got:
                    yield got
        finally:
            closed.append(n)

    closed: list[int] = []
    it = count(5)
    first = [next(it), it.send("sent"), next(it)]
    it.close()
    for value in count(9):
        if value == 2:
            break
    del value

    def chained() -> Any:
        result = yield from inner()
        yield f"result {result}"
        yield from [1, 2]

    def inner() -> Any:
        yield "inner"
        return "returned"

    return first, closed, list(chained()), list(itertools.islice(itertools.count(3), 2))


def break_closes_a_generator_at_once() -> object:
    events: list[str] = []

    def source() -> Any:
        try:
            yield 1
            yield 2
        finally:
            events.append("closed")

    for _ in source():
        events.append("got")
        break
    events.append("after")
    return events


def named_containers() -> object:
    order: collections.OrderedDict[str, int] = collections.OrderedDict(a=1, b=2)
    order.move_to_end("a")
    counter = collections.Counter("banana")
    counter["x"] += 2
    groups: dict[str, list[int]] = collections.defaultdict(list)
    groups["new"].append(1)
    queue = collections.deque([1, 2], maxlen=3)
    queue.append(3)
    queue.appendleft(0)
    queue.rotate(1)
    point = collections.namedtuple("point", "x y")(1, 2)
    data = bytearray(b"abc")
    data[0] = 65
    data += b"!"
    return list(order), counter.most_common(2), dict(groups), list(queue), point.x, point, bytes(data), counter["none"]


def lambdas_and_defaults() -> object:
    functions = [lambda i=i: i for i in range(3)]
    late = [lambda: i for i in range(3)]
    return [f() for f in functions], [f() for f in late], (lambda *a, k=1, **o: (a, k, o))(1, 2, z=3)
