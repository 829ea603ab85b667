"""Programs whose threads share state under a second name, through C code, or in the middle of what somebody runs."""

from __future__ import annotations

from tests.testbed.instrument.hidden import together

BODIES = {
    "globals_item": """
n = 0
def main():
    globals()["n"] = 0
    def a(): globals()["n"] = n + 1
    run(a,a); return n
""",
    "globals_kept": """
n = 0
def main():
    global n
    n = 0
    names = globals()
    def a():
        global n
        n = n + 1
    def b(): names["n"] = names["n"] + 1
    run(a,b); return n
""",
    "module_attr_and_global": """
import sys
n = 0
def main():
    global n
    n = 0
    me = sys.modules[__name__]
    def a():
        global n
        n = n + 1
    def b(): me.n += 1
    run(a,b); return n
""",
    "setattr_module": """
import sys
n = 0
def main():
    global n
    n = 0
    def a():
        global n
        n = n + 1
    def b(): setattr(sys.modules[__name__], "n", getattr(sys.modules[__name__], "n") + 1)
    run(a,b); return n
""",
    "module_attr_by_assignment": """
import string
def main():
    string.n = 0
    def a(): string.n = string.n + 1
    run(a,a); n = string.n; del string.n; return n
""",
    "module_attr_called": """
import string
def main():
    string.hook = lambda x: 1; out = []
    def a(): string.hook = lambda x: 2
    def b(): out.append(string.hook(len(out)))
    run(a,b); del string.hook; return out
""",
    "attr_of_a_special_name": """
class C: pass
def main():
    c = C(); c.__n__ = 0
    def a(): c.__n__ = c.__n__ + 1
    run(a,a); return c.__n__
""",
    "dict_kept": """
class C: pass
def main():
    c = C(); c.x = 0
    d = c.__dict__
    def a(): c.x = c.x + 1
    def b(): d["x"] = d["x"] + 1
    run(a,b); return c.x
""",
    "vars_kept": """
class C: pass
def main():
    c = C(); c.x = 0
    d = vars(c)
    def a(): c.x = c.x + 1
    def b(): d["x"] = d["x"] + 1
    run(a,b); return c.x
""",
    "dict_kept_at_import": """
class C: pass
c = C(); c.x = 0
d = c.__dict__
def main():
    c.x = 0
    def a(): c.x = c.x + 1
    def b(): d["x"] = d["x"] + 1
    run(a,b); return c.x
""",
    "dict_update": """
class C: pass
def main():
    c = C(); c.x = 0; out = []
    d = vars(c)
    def a():
        c.x = 1; c.x = 2
    def b(): out.append(dict(d))
    run(a,b); return out
""",
    "class_setattr": """
class B:
    total = 0
class L(B): pass
def main():
    setattr(B, "total", 0); out = []; l = L()
    def a(): setattr(B, "total", 1); setattr(B, "total", 2)
    def b(): out.append(l.total)
    run(a,b); return out
""",
    "chainmap_write": """
from collections import ChainMap
def main():
    d = {"x": 0}; m = ChainMap(d); out = []
    def a(): m["x"] = m["x"] + 1
    def b(): d["x"] = d["x"] + 1
    run(a,b); return d["x"]
""",
    "userdict_data": """
from collections import UserDict
def main():
    u = UserDict(x=0); d = u.data
    def a(): u["x"] = u["x"] + 1
    def b(): d["x"] = d["x"] + 1
    run(a,b); return d["x"]
""",
    "sorted_map_attrgetter": """
from operator import attrgetter
class C:
    def __init__(self, x): self.x = x
def main():
    cs = [C(0), C(0)]; out = []
    def a(): cs[0].x = 1; cs[1].x = 1
    def b(): out.append(sorted(map(attrgetter("x"), cs)))
    run(a,b); return out
""",
    "sorted_key_attrgetter": """
from operator import attrgetter
class C:
    def __init__(self, x): self.x = x
def main():
    cs = [C(0), C(0)]; out = []; get = attrgetter("x")
    def a(): cs[0].x = 1; cs[1].x = 1
    def b(): out.append([c.x for c in sorted(cs, key=get)])
    run(a,b); return out
""",
    "min_itemgetter_at_import": """
from operator import itemgetter
FIRST = itemgetter(0)
def main():
    cs = [[0], [0]]; out = []
    def a(): cs[0][0] = 1; cs[1][0] = 1
    def b(): out.append(min(map(FIRST, cs)))
    run(a,b); return out
""",
    "map_pop": """
def main():
    d = {1: 1}; out = []
    def a(): out.append(list(map(d.pop, [1], [0])))
    def b(): out.append(1 in d); out.append(1 in d)
    run(a,b); return out
""",
    "map_unbound_append": """
def main():
    ls = [[], []]; out = []
    def a(): list(map(list.append, ls, [1, 2]))
    def b(): out.append((len(ls[0]), len(ls[1])))
    run(a,b); return out
""",
    "map_len": """
def main():
    ls = [[], []]; out = []
    def a(): ls[0].append(1); ls[1].append(1)
    def b(): out.append(list(map(len, ls)))
    run(a,b); return out
""",
    "methodcaller_map": """
from operator import methodcaller
def main():
    ls = [[1], [2]]; out = []
    def a(): ls[0].clear(); ls[1].clear()
    def b(): out.append(list(map(methodcaller("copy"), ls)))
    run(a,b); return out
""",
    "setattr_map": """
class C: pass
def main():
    c = C(); c.x = 0; out = []
    def a(): list(map(setattr, [c, c], ["x", "x"], [1, 2]))
    def b(): out.append(c.x)
    run(a,b); return out
""",
    "operator_setitem_thread": """
import operator
def main():
    d = {}; out = []
    def b(): out.append(len(d)); out.append(len(d))
    ts=[threading.Thread(target=operator.setitem, args=(d, 1, 2)), threading.Thread(target=b)]
    for t in ts: t.start()
    for t in ts: t.join()
    return out
""",
    "unbound_append_thread": """
def main():
    d = []; out = []
    def b(): out.append(len(d)); out.append(len(d))
    ts=[threading.Thread(target=list.append, args=(d, 1)), threading.Thread(target=b)]
    for t in ts: t.start()
    for t in ts: t.join()
    return out
""",
    "setattr_thread": """
class C: x = 0
def main():
    c = C(); out = []
    def b(): out.append(c.x); out.append(c.x)
    ts=[threading.Thread(target=setattr, args=(c, "x", 2)), threading.Thread(target=b)]
    for t in ts: t.start()
    for t in ts: t.join()
    return out
""",
    "reduce_operator": """
import functools, operator
def main():
    ls = [[1], [2]]; out = []
    def a(): ls[0].append(1); ls[1].append(1)
    def b(): out.append(functools.reduce(operator.add, ls))
    run(a,b); return out
""",
    "defaultdict_lambda": """
from collections import defaultdict
def main():
    d = defaultdict(lambda: object()); out = []
    def a(): out.append(d["k"])
    run(a,a); return out[0] is out[1]
""",
    "defaultdict_class": """
from collections import defaultdict
class C:
    def __init__(self): self.x = 0
def main():
    d = defaultdict(C); out = []
    def a(): d["k"].x += 1
    run(a,a); return d["k"].x
""",
    "defaultdict_state": """
from collections import defaultdict
def main():
    n = [0]
    def f():
        n[0] = n[0] + 1
        return n[0]
    d = defaultdict(f); out = []
    def a(): out.append(d["k"])
    run(a,a); return out
""",
    "bound_by_import": """
import sys
m=None
def main():
    global m
    m=None; out=[]
    def a():
        global m
        import json as m
        out.append(m.__name__)
    def b_():
        global m
        import string as m
        out.append(m.__name__)
    run(a,b_); return sorted(out)
""",
    "bound_by_import_of_two": """
name=sep=None
def main():
    global name, sep
    name=sep=None; out=[]
    def a():
        global name, sep
        from os import name, sep
    def b(): out.append((name is None, sep is None))
    run(a,b); return out
""",
    "bound_by_import_of_a_package": """
os=None
def main():
    global os
    os=None; out=[]
    def a():
        global os
        import os.path
    def b(): out.append(os is None)
    run(a,b); return out
""",
    "bound_by_def": """
def main():
    f=None; out=[]
    def deco(n):
        def d(g): return lambda: n
        return d
    def a(n):
        nonlocal f
        @deco(n)
        def f(): return 0
        out.append(f())
    run(lambda: a(1),lambda: a(2)); return out
""",
    "bound_by_class": """
K=None
def main():
    global K
    K=None; out=[]
    def a(n):
        global K
        class K:
            x=n
        out.append(K.x)
    run(lambda: a(1),lambda: a(2)); return out
""",
    "bound_by_except": """
def main():
    d={"e":None}; out=[]
    e=None
    def a(v):
        nonlocal e
        try: raise ValueError(v)
        except ValueError as e: out.append(e.args==(v,))
    def safe(v):
        try: a(v)
        except NameError: out.append("N")
    run(lambda: safe(1), lambda: safe(2)); return out
""",
    "bound_by_match": """
v=None
def main():
    global v
    v=0; out=[]
    def a(x):
        global v
        match [x]:
            case [v] if v == x: out.append(v)
            case _: out.append("other")
    run(lambda: a(1),lambda: a(2)); return out
""",
    "array_view": """
import numpy
def main():
    whole = numpy.zeros(4, int); part = whole.reshape(2, 2)[1:]; out = []
    def a(): part[0, 1] = 1; part[0, 1] = 2
    def b(): out.append(int(whole[3]))
    run(a,b); return out
""",
    "array_of_a_buffer": """
import numpy
def main():
    memory = bytearray(8); numbers = numpy.frombuffer(memory, numpy.uint8); out = []
    def a(): numbers[0] = 1; numbers[0] = 2
    def b(): out.append(memory[0])
    run(a,b); return out
""",
    "array_as_number": """
import numpy
def main():
    one = numpy.zeros((), int); out = []
    def a(): one.fill(1)
    def b(): out.append(int(one))
    run(a,b); return out
""",
    "print_to_a_file": """
import io
def main():
    file = io.StringIO(); out = []
    def a(): print("x", file=file)
    def b(): out.append(file.getvalue())
    run(a,b); return out
""",
    "generator": """
def main():
    out = []
    def g():
        yield 1
        yield 2
    it = g()
    def a():
        try: out.append(next(it))
        except ValueError as e: out.append(str(e))
    run(a,a); return sorted(map(str, out))
""",
    "generator_for": """
def main():
    out = []
    def g():
        x = 1
        yield x
        x = x + 1
        yield x
    it = g()
    def a():
        try:
            for x in it: out.append(x)
        except ValueError as e: out.append(str(e))
    run(a,a); return sorted(map(str, out))
""",
    "genexp": """
def main():
    out = []
    it = (x + 1 for x in [1, 2])
    def a():
        try: out.append(next(it))
        except ValueError as e: out.append(str(e))
    run(a,a); return sorted(map(str, out))
""",
    "lru_miss": """
import functools
def main():
    calls = [0]
    @functools.lru_cache(maxsize=None)
    def f(x): return object()
    out = []
    def a(): out.append(f(1))
    run(a,a); return out[0] is out[1]
""",
    "lru_miss_module": """
import functools
@functools.cache
def f(x):
    y = x + 1
    return [y]
def main():
    out = []
    def a(): out.append(f(1))
    run(a,a); return out[0] is out[1]
""",
    "daemon_last": """
class C: x = 0
def main():
    c = C()
    def d(): c.x = 1
    t = threading.Thread(target=d, daemon=True); t.start()
    return c.x
""",
    "daemon_lock": """
class C: x = 0
def main():
    c = C(); l = threading.Lock()
    def d():
        with l: pass
        c.x = 1
    t = threading.Thread(target=d, daemon=True); t.start()
    with l: pass
    return c.x
""",
    "daemon_independent": """
class C: x = 0
def main():
    c = C(); l = threading.Lock()
    def d():
        with l: pass
        c.x = 1
    t = threading.Thread(target=d, daemon=True); t.start()
    return c.x
""",
    "yield_from": """
def main():
    out = []
    def h():
        yield 1
        yield 2
    def g(): yield from h()
    it = g()
    def a():
        try: out.append(next(it))
        except ValueError as e: out.append(str(e))
    run(a,a); return sorted(map(str, out))
""",
    "generator_list": """
def main():
    out = []
    def g():
        yield 1
        yield 2
    it = g()
    def a():
        try: out.append(list(it))
        except ValueError as e: out.append(str(e))
    run(a,a); return sorted(map(str, out))
""",
    "generator_send": """
def main():
    out = []
    def g():
        got = yield 1
        out.append(got)
        yield 2
    it = g(); next(it)
    def a(n):
        try: out.append(it.send(n))
        except ValueError as e: out.append(str(e))
        except StopIteration: out.append("end")
    run(lambda: a(5),lambda: a(6)); return sorted(map(str, out))
""",
    "lru_method": """
import functools
class C:
    @functools.lru_cache(maxsize=4)
    def f(self, x): return object()
def main():
    c = C(); out = []
    def a(): out.append(c.f(1))
    run(a,a); return out[0] is out[1]
""",
    "lru_clear": """
import functools
@functools.cache
def f(x): return [x]
def main():
    f(1); out = []
    def a(): out.append(f(1))
    def b(): f.cache_clear()
    one = f(1)
    run(a,b); return out[0] is one
""",
    "context_of_an_exception": """
def main():
    e = ValueError(); out = []
    def a(): out.append(e.__context__ is None)
    def b(): e.__context__ = KeyError()
    run(a,b); return out
""",
    "type_setattr": """
class C: x = 0
def main():
    C.x = 0
    def a(): type.__setattr__(C, "x", C.x + 1)
    run(a,a); return C.x
""",
}
PROGRAMS = {name: together(body) for name, body in BODIES.items()}
