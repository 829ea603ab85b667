"""Random small programs of plain Python, as text: threads that work on what they share, in every way."""

from __future__ import annotations

import importlib.util
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

PRELUDE = """\
import asyncio
import dataclasses
import queue
import threading
import time
from concurrent.futures import Future


class Box:
    total = 0

    def __init__(self):
        self.x = 0
        self.items = []

    @property
    def double(self):
        return self.x * 2

    def add(self):
        self.x += 1

    def tell(self):
        return self.x, len(self.items)

    def __repr__(self):
        return "a box"


class Late(Box):
    pass


@dataclasses.dataclass
class Pair:
    a: int = 0
    b: int = 0


count = 0


class Steps:
    def __init__(self):
        self.left = iter([1, 2, 3])

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.left)


def bump():
    global count
    count += 1
"""
WORLD = """\
    box, late, pair, lock, done = Box(), Late(), Pair(), threading.Lock(), threading.Event()
    again, full = threading.RLock(), threading.Condition(lock)
    table, items, names = {"a": 0}, [1, 2], {1}
    nested = {"in": items, "box": box}
    post, promise, room = queue.Queue(1), Future(), threading.Semaphore(1)
    keep, pull, walk, n = items.append, iter([1, 2, 3]), Steps(), 0
    inner = nested["in"]
"""
THEMES: tuple[tuple[str, ...], ...] = (
    ("box.x += 1", "see(box.x)", "box.add()", "see(box.double)", "box.x = len(box.items)", "see(box.tell())"),
    ("setattr(box, 'x', 5)", "see(vars(box)['x'])", "see(getattr(box, 'x'))", "see(nested['box'].x)"),
    ("Box.total += 1", "see(late.total)", "Late.total = 7", "see(Box.total)", "see(box.total)"),
    ("pair.a = 1", "pair.b = 1", "see(pair == Pair(1, 1))", "see(repr(pair))", "see(dataclasses.astuple(pair))"),
    ("table['a'] += 1", "see(table.get('a'))", "table.pop('b', None)", "see('b' in table)", "table.setdefault('b', 3)"),
    ("table.update(c=1)", "see(len(table))", "see([k for k in table])", "see(list(table.values()))", "table['b'] = 2"),
    ("table['b'] = 4", "see(dict(table))", "see([v for _, v in table.items()])", "del table['a']", "see({**table})"),
    ("items.append(3)", "see(len(inner))", "see(items[:])", "see(items == [1, 2, 3])", "see(f'{nested}')"),
    ("keep(4)", "inner.pop(0)", "see([i for i in items])", "see(items[-1])", "items[:] = [9]", "see(items * 2)"),
    ("items += [5]", "see([*enumerate(inner)])", "see(sum(items))", "see(str(nested))", "inner.sort(reverse=True)"),
    ("names.add(2)", "see(1 in names)", "names.discard(1)", "see(sorted(names | {7}))", "see(len(names))"),
    ("bump()", "see(count)", "count_up()", "see(n)", "count_up()"),
    ("see(next(pull, None))", "see(list(pull))", "see([s for s in pull])", "see(next(walk, None))", "see([*walk])"),
    ("with lock: box.x += 1", "see(box.x)", "with again: box.items.append(1)", "see(box.tell())"),
    ("post.put(1)", "see(post.get(timeout=1))", "see(post.qsize())", "box.x = 3", "see(box.x)"),
    ("box.x = 1; done.set()", "see((done.wait(1), box.x))", "see((done.is_set(), box.x))", "done.clear()"),
    ("promise.set_result(items)", "see(promise.result(1))", "items.append(6)", "see(promise.done())"),
    ("with full: items.append(7); full.notify()", "with full: see((full.wait(1), len(items)))", "items.clear()"),
    ("with room: box.x += 1", "see(box.x)", "time.sleep(1); see(box.x)", "threading.Thread(target=box.add).start()"),
)
_END = """\
    seen = [*map(str, sorted(seen, key=str))]
    return str(seen), box.x, str(items), str(table), str(names), count, n, Box.total, str(pair)
"""
SHAPES = ((1, 1), (2, 1), (1, 2), (2, 2), (1, 1, 1), (3, 1), (2, 1, 1))


AWAITED: tuple[tuple[str, ...], ...] = (
    ("await asyncio.sleep(0); see(box.x)", "box.x += await twice(box.x)", "box.x += 1", "await asyncio.sleep(1)"),
    ("async with turn: box.x += await twice(1)", "async with turn: see(box.tell())", "items.append(await twice(2))"),
    ("see(await asyncio.wait_for(inbox.get(), 1))", "inbox.put_nowait(box.x)", "see(inbox.qsize())", "box.add()"),
    ("see(await asyncio.wait_for(gate.wait(), 1)); see(box.x)", "see(gate.is_set())", "box.x = 3; gate.set()"),
    ("see(await asyncio.to_thread(box.tell))", "see([n async for n in count_to(2)])", "table['a'] += await twice(1)"),
)
"""What coroutines do."""
CALLED: tuple[tuple[str, ...], ...] = (
    ("loop.call_soon_threadsafe(box.add)", "see(box.x)", "box.x += 1", "loop.call_soon_threadsafe(gate.set)"),
    ("loop.call_soon_threadsafe(inbox.put_nowait, box.x)", "box.x = 5", "see(len(items))", "items.append(8)"),
    ("see(asyncio.run_coroutine_threadsafe(twice(box.x), loop).result(1))", "table['a'] += 1", "see(box.tell())"),
)
"""What threads beside the loop do."""
TOGETHER = ((1, 1), (2, 1), (1, 2), (1, 1, 1), (2, 2))
LOOP = """\
    async def run():
        loop, gate, inbox, turn = asyncio.get_running_loop(), asyncio.Event(), asyncio.Queue(), asyncio.Lock()

        async def twice(number):
            await asyncio.sleep(0)
            return number * 2

        async def count_to(most):
            for number in range(most):
                yield number + box.x
                await asyncio.sleep(0)

"""


def draw_loop(seed: int) -> str:
    """Draw a program of a loop with a task or two, and one thread beside it."""
    chance = random.Random(seed)
    awaited, called = chance.choice(AWAITED), chance.choice(CALLED)
    *tasks, thread = chance.choice(TOGETHER)
    bodies = [[chance.choice(awaited) for _ in range(size)] for size in tasks]
    return "".join(_lines_of_loop(bodies, [chance.choice(called) for _ in range(thread)]))


def _lines_of_loop(tasks: list[list[str]], thread: list[str]) -> Iterator[str]:
    yield f"{PRELUDE}\n\ndef main():\n{WORLD}    seen = []\n\n{LOOP}"
    for number, body in enumerate(tasks):
        yield from _body(number, body, "        async def")
    yield from _body(len(tasks), thread, "        def")
    names = ", ".join(f"body{number}()" for number in range(len(tasks)))
    yield f"        beside = threading.Thread(target=body{len(tasks)})\n        beside.start()\n"
    yield f"        await asyncio.gather({names})\n        await asyncio.to_thread(beside.join)\n\n"
    yield f"    asyncio.run(run())\n{_END}"


def draw(seed: int) -> str:
    """Draw a program: a module whose ``main`` returns all that was seen, and how things are in the end."""
    chance = random.Random(seed)
    actions = (*chance.choice(THEMES), *(chance.choice(THEMES) if chance.random() < 0.4 else ()))
    bodies = [[chance.choice(actions) for _ in range(size)] for size in chance.choice(SHAPES)]
    return "".join(_lines(chance, bodies))


def _lines(chance: random.Random, bodies: list[list[str]]) -> Iterator[str]:
    yield f"{PRELUDE}\n\ndef main():\n{WORLD}"
    yield "    seen = []\n\n"
    yield "    def count_up():\n        nonlocal n\n        n += 1\n\n"
    *others, own = bodies
    for number, body in enumerate(others):
        yield from _body(number, body)
    yield from _body(len(others), own)
    yield "    threads = []\n"
    for number in range(len(others)):
        yield f"    threads.append(threading.Thread(target=body{number}))\n    threads[-1].start()\n"
    yield f"    body{len(others)}()\n"
    if chance.random() < 0.7:
        yield "    for thread in threads:\n        thread.join()\n"
    yield _END


def _body(number: int, actions: list[str], head: str = "    def") -> Iterator[str]:
    inner = " " * (len(head) - len(head.lstrip()) + 4)
    yield f"{head} body{number}():\n"
    if any(action.startswith("items += ") for action in actions):
        yield f"{inner}nonlocal items\n"
    yield f"{inner}def see(what):\n{inner}    seen.append(({number}, str(what)))\n\n"
    for action in actions:
        yield f"{inner}try:\n"
        yield f"{inner}    {action}\n"
        yield f"{inner}except (KeyError, IndexError, ValueError, queue.Empty, TimeoutError, RuntimeError) as error:\n"
        yield f"{inner}    see(type(error).__name__)\n"


@contextmanager
def written(source: str, name: str, folder: Path) -> Iterator[ModuleType]:
    """Write a program to a file, and import it for a while."""
    file = folder / f"{name}.py"
    file.write_text(source)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
        yield module
    finally:
        del sys.modules[name]
