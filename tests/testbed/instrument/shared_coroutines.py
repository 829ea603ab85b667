"""Programs in which threads with an event loop each share a coroutine, or a generator that is awaited as it is."""

from __future__ import annotations

from tests.testbed.instrument.hidden import together
from tests.testbed.instrument.two_loops import LOOPS

BODIES = {
    "awaited": """
def main():
    out = []
    async def once():
        return 1
    c = once()
    async def a():
        try: out.append(await c)
        except (RuntimeError, ValueError) as e: out.append(said(e))
    loops(a, a); return sorted(map(str, out))
""",
    "it_waits": """
def main():
    out = []
    async def once():
        await asyncio.sleep(0)
        return 1
    c = once()
    async def a():
        try: out.append(await c)
        except (RuntimeError, ValueError) as e: out.append(said(e))
    loops(a, a); return sorted(map(str, out))
""",
    "it_awaits_another": """
def main():
    out = []
    async def inner():
        await asyncio.sleep(0)
    async def once():
        await inner()
        return 1
    c = once()
    async def a():
        try: out.append(await c)
        except (RuntimeError, ValueError) as e: out.append(said(e))
    loops(a, a); return sorted(map(str, out))
""",
    "run_by_two_loops": """
def main():
    out = []
    async def once():
        await asyncio.sleep(0)
        return 1
    c = once()
    def a():
        try: out.append(asyncio.run(c))
        except (RuntimeError, ValueError) as e: out.append(said(e))
    run(a, a); return sorted(map(str, out))
""",
    "run_and_awaited": """
def main():
    out = []
    async def once():
        await asyncio.sleep(0)
        return 1
    c = once()
    def a():
        try: out.append(asyncio.run(c))
        except (RuntimeError, ValueError) as e: out.append(said(e))
    async def b():
        try: out.append(await c)
        except (RuntimeError, ValueError) as e: out.append(said(e))
    run(a, lambda: asyncio.run(b())); return sorted(map(str, out))
""",
    "closed": """
def main():
    out = []
    async def once():
        await asyncio.sleep(0)
        return 1
    c = once()
    async def a():
        try: out.append(await c)
        except (RuntimeError, ValueError) as e: out.append(said(e))
    def b():
        try: out.append(c.close())
        except (RuntimeError, ValueError) as e: out.append(said(e))
    run(lambda: asyncio.run(a()), b); return sorted(map(str, out))
""",
    "one_of_the_library": """
def main():
    out = []
    c = asyncio.sleep(0)
    async def a():
        try: out.append(await c)
        except (RuntimeError, ValueError) as e: out.append(said(e))
    loops(a, a); return sorted(map(str, out))
""",
    "it_fails": """
def main():
    out = []
    async def once():
        await asyncio.sleep(0)
        raise KeyError(1)
    c = once()
    async def a():
        try: out.append(await c)
        except (RuntimeError, ValueError, KeyError) as e: out.append(said(e))
    loops(a, a); return sorted(map(str, out))
""",
    "awaited_in_the_library": """
def main():
    out = []
    async def once():
        await asyncio.sleep(0)
        return 1
    c = once()
    async def a():
        try: out.append(await asyncio.wait_for(c, None))
        except (RuntimeError, ValueError) as e: out.append(said(e))
    loops(a, a); return sorted(map(str, out))
""",
    "tasks_of_it": """
def main():
    out = []
    async def once():
        return 1
    c = once()
    async def a():
        try: out.append(await asyncio.create_task(c))
        except (RuntimeError, ValueError) as e: out.append(said(e))
    loops(a, a); return sorted(map(str, out))
""",
    "kept_method": """
def main():
    out = []
    async def once():
        return 1
    c = once()
    go = c.send
    def a():
        try: out.append(go(None))
        except (RuntimeError, ValueError, StopIteration) as e: out.append(said(e))
    run(a, a); return sorted(map(str, out))
""",
    "a_block_closes_it": """
def main():
    out = []
    async def once():
        return 1
    c = once()
    async def a():
        try: out.append(await c)
        except (RuntimeError, ValueError) as e: out.append(said(e))
    def b():
        try:
            with contextlib.closing(c): out.append("in")
        except (RuntimeError, ValueError) as e: out.append(said(e))
    run(lambda: asyncio.run(a()), b); return sorted(map(str, out))
""",
    "it_enters_a_block": """
def main():
    out = []
    @contextlib.asynccontextmanager
    async def room():
        await asyncio.sleep(0)
        yield
        await asyncio.sleep(0)
    async def once():
        async with room(): out.append("in")
        return 1
    c = once()
    async def a():
        try: out.append(await c)
        except (RuntimeError, ValueError) as e: out.append(said(e))
    loops(a, a); return sorted(map(str, out))
""",
    "it_loops": """
def main():
    out = []
    async def numbers():
        yield 1
        await asyncio.sleep(0)
        yield 2
    async def once():
        return [n async for n in numbers()]
    c = once()
    async def a():
        try: out.append(await c)
        except (RuntimeError, ValueError) as e: out.append(said(e))
    loops(a, a); return sorted(map(str, out))
""",
    "generator": """
def main():
    out = []
    @types.coroutine
    def once():
        yield
        return 1
    c = once()
    async def a():
        try: out.append(await c)
        except (RuntimeError, ValueError) as e: out.append(said(e))
    loops(a, a); return sorted(map(str, out))
""",
    "generator_of_a_module": """
@types.coroutine
def once():
    yield
    return 1
def main():
    out = []
    c = once()
    async def a():
        try: out.append(await c)
        except (RuntimeError, ValueError) as e: out.append(said(e))
    loops(a, a); return sorted(map(str, out))
""",
    "yielded_from": """
def main():
    out = []
    async def inner():
        await asyncio.sleep(0)
        return 1
    c = inner()
    @types.coroutine
    def outer():
        return (yield from c)
    async def a():
        try: out.append(await outer())
        except (RuntimeError, ValueError) as e: out.append(said(e))
    loops(a, a); return sorted(map(str, out))
""",
    "sent_by_hand": """
def main():
    out = []
    @types.coroutine
    def step(): yield 1
    async def once():
        await step()
        return 1
    c = once()
    def a():
        try: out.append(c.send(None))
        except (RuntimeError, ValueError, StopIteration) as e: out.append(said(e))
    run(a, a); return sorted(map(str, out))
""",
}
PROGRAMS = {f"coroutine_{name}": together(LOOPS + body) for name, body in BODIES.items()}
_SHORT = ("it_waits", "awaited_in_the_library")
FEW = {name: PROGRAMS[name] for name in map("coroutine_{}".format, _SHORT)}
MORE = {name: source for name, source in PROGRAMS.items() if name not in FEW}
