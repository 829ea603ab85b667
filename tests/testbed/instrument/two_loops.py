"""Programs in which threads with an event loop each share an asynchronous generator."""

from __future__ import annotations

from tests.testbed.instrument.hidden import together

LOOPS = """
import asyncio, contextlib, types
def loops(*fs): run(*(lambda f=f: asyncio.run(f()) for f in fs))
def said(e): return f"{type(e).__name__} {e}"
"""
BODIES = {
    "anext": """
def main():
    out = []
    async def g():
        yield 1
        yield 2
    it = g()
    async def a():
        try: out.append(await anext(it))
        except RuntimeError as e: out.append(said(e))
    loops(a, a); return sorted(map(str, out))
""",
    "loop_over_it": """
def main():
    out = []
    async def g():
        x = 1
        yield x
        yield x + 1
    it = g()
    async def a():
        try:
            async for x in it: out.append(x)
        except RuntimeError as e: out.append(said(e))
    loops(a, a); return sorted(map(str, out))
""",
    "comprehension": """
def main():
    out = []
    async def g():
        yield 1
    it = g()
    async def a():
        try: out.append([x async for x in it])
        except RuntimeError as e: out.append(said(e))
    loops(a, a); return sorted(map(str, out))
""",
    "expression": """
def main():
    out = []
    async def one():
        yield 1
    async def make(): return (x + 1 async for x in one())
    it = asyncio.run(make())
    async def a():
        try: out.append(await anext(it, "end"))
        except RuntimeError as e: out.append(said(e))
    loops(a, a); return sorted(map(str, out))
""",
    "it_waits": """
def main():
    out = []
    async def g():
        await asyncio.sleep(0)
        yield 1
    it = g()
    async def a():
        try: out.append(await anext(it, "end"))
        except RuntimeError as e: out.append(said(e))
    loops(a, a); return sorted(map(str, out))
""",
    "it_fails": """
def main():
    out = []
    async def g():
        await asyncio.sleep(0)
        raise KeyError(1)
        yield
    it = g()
    async def a():
        try: out.append(await anext(it, "end"))
        except (RuntimeError, KeyError) as e: out.append(said(e))
    loops(a, a); return sorted(map(str, out))
""",
    "asend": """
def main():
    out = []
    async def g():
        got = yield 1
        out.append(got)
        yield 2
    it = g()
    asyncio.run(it.__anext__())
    async def a():
        try: out.append(await it.asend(5))
        except RuntimeError as e: out.append(said(e))
    async def b():
        try: out.append(await it.athrow(KeyError(1)))
        except (RuntimeError, KeyError, StopAsyncIteration) as e: out.append(said(e))
    loops(a, b); return sorted(map(str, out))
""",
    "one_closes_it": """
def main():
    out = []
    async def g():
        yield 1
        yield 2
    it = g()
    async def a():
        try: out.append(await anext(it, "end"))
        except RuntimeError as e: out.append(said(e))
    async def b():
        try: out.append(await it.aclose())
        except RuntimeError as e: out.append(said(e))
    loops(a, b); return sorted(map(str, out))
""",
    "a_block_closes_it": """
def main():
    out = []
    async def g():
        yield 1
        yield 2
    it = g()
    async def a():
        try: out.append(await anext(it, "end"))
        except RuntimeError as e: out.append(said(e))
    async def b():
        try:
            async with contextlib.aclosing(it): out.append("in")
        except RuntimeError as e: out.append(said(e))
    loops(a, b); return sorted(map(str, out))
""",
    "a_loop_ends_and_closes_it": """
def main():
    out = []; begun = threading.Event()
    async def g():
        yield 1
        yield 2
        yield 3
    it = g()
    async def a():
        out.append(await anext(it))
        begun.set()
    async def b():
        begun.wait()
        try: out.append(await anext(it, "end"))
        except RuntimeError as e: out.append(said(e))
    loops(a, b); return sorted(map(str, out))
""",
    "a_timeout_around_it": """
def main():
    out = []
    async def g():
        yield 1
    it = g()
    async def a():
        try: out.append(await asyncio.wait_for(it.__anext__(), None))
        except RuntimeError as e: out.append(said(e))
        except StopAsyncIteration: out.append("end")
    loops(a, a); return sorted(map(str, out))
""",
    "a_task_of_it": """
def main():
    out = []
    async def g():
        await asyncio.sleep(0)
        yield 1
    it = g()
    async def a():
        try: out.append(await asyncio.gather(it.__anext__(), return_exceptions=False))
        except RuntimeError as e: out.append(said(e))
        except StopAsyncIteration: out.append("end")
    async def b():
        step = anext(it, "end")
        try: out.append(await step)
        except RuntimeError as e: out.append(said(e))
    loops(a, b); return sorted(map(str, out))
""",
    "a_block_of_threads_closes_it": """
def main():
    out = []
    def g():
        yield 1
        yield 2
    it = g()
    def a():
        try: out.append(next(it, "end"))
        except ValueError as e: out.append(said(e))
    def b():
        try:
            with contextlib.closing(it): out.append("in")
        except ValueError as e: out.append(said(e))
    run(a, b); return sorted(map(str, out))
""",
    "kept_method": """
def main():
    out = []
    async def g():
        yield 1
        yield 2
    step = g().__anext__
    async def a():
        try: out.append(await step())
        except RuntimeError as e: out.append(said(e))
    loops(a, a); return sorted(map(str, out))
""",
}
PROGRAMS = {name: together(LOOPS + body) for name, body in BODIES.items()}
