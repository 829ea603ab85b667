"""Programs whose threads share state in ways that are easy to overlook."""

from __future__ import annotations

_TOGETHER = """
import threading
def run(*fs):
    ts=[threading.Thread(target=f) for f in fs]
    for t in ts: t.start()
    for t in ts: t.join()
"""

_BODIES = {
    "memview": """
def main():
    m=memoryview(bytearray(2))
    def a(): m[0]=m[0]+1
    run(a,a); return m[0]
""",
    "intsub": """
class N(int): pass
def main():
    n=N(3); n.x=0
    def a(): n.x=n.x+1
    run(a,a); return n.x
""",
    "tuplesub": """
class N(tuple): pass
def main():
    n=N((3,)); n.x=0
    def a(): n.x=n.x+1
    run(a,a); return n.x
""",
    "enumattr": """
import enum
class E(enum.Enum):
    A=1
def main():
    E.A.n=0
    def a(): E.A.n=E.A.n+1
    run(a,a); return E.A.n
""",
    "listmul": """
def main():
    l=[1]; out=[]
    def a():
        l.append(2); l.append(3)
    def b():
        x=l*2
        out.append(len(x))
    run(a,b); return out
""",
    "dceq": """
import dataclasses
@dataclasses.dataclass
class D:
    x:int=0
    y:int=0
def main():
    d=D(); e=D(1,1); out=[]
    def a():
        d.x=1; d.y=1
    def b():
        out.append(repr(d));
    run(a,b); return out
""",
    "dceq2": """
import dataclasses
@dataclasses.dataclass
class D:
    x:int=0
    y:int=0
def main():
    d=D(); e=D(1,0); out=[]
    def a():
        d.x=1; d.y=1
    def b():
        out.append(d==e);
    run(a,b); return out
""",
    "nestedjson": """
import json
def main():
    inner=[]; d={"a":inner}; out=[]
    def a():
        inner.append(1); inner.append(2)
    def b():
        out.append(json.dumps(d))
    run(a,b); return out
""",
    "nestedeq": """
def main():
    inner=[]; d=[inner]; e=[[1]]; out=[]
    def a():
        inner.append(1); inner.append(2)
    def b():
        out.append(d==e)
    run(a,b); return out
""",
    "nestedrepr": """
def main():
    inner=[]; d=[inner]; out=[]
    def a():
        inner.append(1); inner.append(2)
    def b():
        out.append(f"{d}")
    run(a,b); return out
""",
    "nestedtuple": """
def main():
    inner=[]; d=(inner,); out=[]
    def a():
        inner.append(1); inner.append(2)
    def b():
        out.append(str(d))
    run(a,b); return out
""",
    "deepcopy": """
import copy
def main():
    inner=[]; d={"a":inner}; out=[]
    def a():
        inner.append(1); inner.append(2)
    def b():
        out.append(copy.deepcopy(d))
    run(a,b); return out
""",
    "copyobj": """
import copy
class C: pass
def main():
    c=C(); c.x=0; c.y=0; out=[]
    def a():
        c.x=1; c.y=1
    def b():
        k=copy.copy(c)
        out.append((k.x,k.y))
    run(a,b); return out
""",
    "enumerate": """
def main():
    l=[1,2,3]; out=[]
    def a():
        l.append(9); l.pop(0)
    def b():
        for i,x in enumerate(l): out.append(x)
    run(a,b); return out
""",
    "zip": """
def main():
    l=[1,2]; out=[]
    def a():
        l.append(9)
    def b():
        for i,x in zip("abc",l): out.append(x)
    run(a,b); return out
""",
    "items": """
def main():
    d={1:1,2:2}; out=[]
    def a():
        d[3]=3
    def b():
        for k,v in d.items(): out.append(k)
    run(a,b); return out
""",
    "itemsval": """
def main():
    d={1:1,2:2}; out=[]
    def a():
        d[2]=3; d[1]=5
    def b():
        for k,v in d.items(): out.append(v)
    run(a,b); return out
""",
    "iterstored": """
def main():
    l=[1,2]; out=[]
    def a():
        l.append(9)
    def b():
        it=iter(l)
        for x in it: out.append(x)
    run(a,b); return out
""",
    "iternext": """
def main():
    l=[1]; out=[]
    def a():
        l.append(9)
    def b():
        it=iter(l)
        out.append(next(it,None))
        out.append(next(it,None))
    run(a,b); return out
""",
    "reversed": """
def main():
    l=[1,2]; out=[]
    def a():
        l.clear()
    def b():
        for x in reversed(l): out.append(x)
    run(a,b); return out
""",
    "viewstored": """
def main():
    d={1:1}; out=[]; v=d.values()
    def a():
        d[2]=2; d[3]=1
    def b():
        out.append(len(v)); out.append(sum(v))
    run(a,b); return out
""",
    "classattr": """
class C:
    total=0
def main():
    C.total=0
    c=C(); out=[]
    def a():
        C.total=C.total+1
    def b():
        out.append(c.total); out.append(c.total)
    run(a,b); return out
""",
    "classattr_inh": """
class B:
    total=0
class C(B): pass
def main():
    out=[]
    def a():
        B.total=1; B.total=2
    def b():
        out.append(C.total)
    run(a,b); return out
""",
    "classattr_cls": """
class B:
    total=0
    @classmethod
    def inc(cls): cls.total+=1
    def get(self): return self.total
def main():
    out=[]; b0=B()
    def b():
        out.append(b0.get());
    run(B.inc,b,B.inc); return out, B.total
""",
    "globalsdict": """
x=0
def main():
    out=[]
    def a():
        globals()["x"]=globals()["x"]+1
    run(a,a); return x
""",
    "boundlocal": """
def main():
    l=[]; out=[]
    app=l.append
    def a():
        app(1); app(2)
    def b():
        out.append(len(l))
    run(a,b); return out
""",
    "boundattr": """
class C: pass
def main():
    l=[]; out=[]
    c=C(); c.add=l.append
    def a():
        c.add(1); c.add(2)
    def b():
        out.append(len(l))
    run(a,b); return out
""",
    "bounddict": """
def main():
    l=[]; out=[]
    h={"add":l.append}
    def a():
        h["add"](1); h["add"](2)
    def b():
        out.append(len(l))
    run(a,b); return out
""",
    "countnext": """
import itertools
def main():
    n=itertools.count().__next__; out=[]
    def a():
        out.append(("a",n()))
    def b():
        out.append(("b",n()))
    run(a,b); return sorted(out)
""",
    "sumiter": """
def main():
    g=iter([1,2]); out={}
    def a(): out["a"]=sum(g)
    def b(): out["b"]=next(g,None)
    run(a,b); return sorted(out.items())
""",
    "starstar": """
def f(**k): return sorted(k.items())
def main():
    d={}; out=[]
    def a():
        d["x"]=1; d["y"]=2
    def b():
        out.append(f(**d))
    run(a,b); return out
""",
    "matchcls": """
class C:
    pass
def main():
    c=C(); c.x=0; out=[]
    def a():
        c.x=1; c.x=2
    def b():
        match c:
            case C(x=0): out.append(0)
            case C(x=v): out.append(v)
    run(a,b); return out
""",
    "matchmap": """
def main():
    d={"k":{"v":0}}; out=[]; inner=d["k"]
    def a():
        inner["v"]=1; inner["v"]=2
    def b():
        match d:
            case {"k":{"v":v}}: out.append(v)
    run(a,b); return out
""",
    "attrgetter": """
import operator
class C: pass
def main():
    c=C(); c.x=0; out=[]; g=operator.attrgetter("x")
    def a():
        c.x=1; c.x=2
    def b():
        out.append(g(c))
    run(a,b); return out
""",
    "strformat": """
class C: pass
def main():
    c=C(); c.x=0; out=[]
    def a():
        c.x=1; c.x=2
    def b():
        out.append("{0.x}".format(c))
    run(a,b); return out
""",
    "counterupdate": """
from collections import Counter
def main():
    c=Counter(); out=[]
    def a():
        c.update("ab")
    def b():
        c["a"]+=1
    run(a,b); return sorted(c.items())
""",
    "varsobj": """
class C: pass
def main():
    c=C(); c.x=0
    def a(): vars(c)["x"]=vars(c)["x"]+1
    def b(): c.x=c.x+1
    run(a,b); return c.x
""",
    "maxkey": """
class C: pass
def main():
    l=[1,2]; out=[]; c=C(); c.n=0
    def key(x):
        c.n+=1
        return x
    def a():
        l.append(9)
        c.n=10
    def b():
        out.append(max(l,key=key))
    run(a,b); return out
""",
    "sortkey": """
class C: pass
def main():
    l=[2,1]; out=[]; c=C(); c.n=0
    def key(x):
        c.n+=1
        return x
    def a():
        out.append(len(l))
        c.n=10
    def b():
        l.sort(key=key)
    run(a,b); return out
""",
    "listmap": """
class C: pass
def main():
    l=[2,1]; out=[]; c=C(); c.n=0
    def key(x):
        c.n+=1
        return x
    def a():
        c.n=10
        l.append(5)
    def b():
        out.append(list(map(key,l)))
    run(a,b); return out
""",
    "partialC": """
import functools, heapq
def main():
    l=[]; out=[]; p=functools.partial(heapq.heappush,l)
    def a():
        p(1); p(2)
    def b(): out.append(len(l))
    run(a,b); return out
""",
    "array": """
import array
def main():
    l=array.array("i",[0])
    def a(): l[0]+=1
    run(a,a); return l[0]
""",
    "packinto": """
import struct
def main():
    l=bytearray(4); out=[]
    def a(): struct.pack_into("<I",l,0,7); struct.pack_into("<I",l,0,9)
    def b(): out.append(struct.unpack_from("<I",l)[0])
    run(a,b); return out
""",
    "packmv": """
import struct
def main():
    l=memoryview(bytearray(4)); out=[]
    def a(): struct.pack_into("<I",l,0,7); struct.pack_into("<I",l,0,9)
    def b(): out.append(struct.unpack_from("<I",l)[0])
    run(a,b); return out
""",
    "stringio": """
import io
def main():
    s=io.StringIO(); out=[]
    def a(): s.write("a"); s.write("b")
    def b(): out.append(s.getvalue())
    run(a,b); return out
""",
    "setattr": """
class C: pass
def main():
    c=C(); c.x=0
    def a(): setattr(c,"x",getattr(c,"x")+1)
    run(a,a); return c.x
""",
    "hasdel": """
class C: pass
def main():
    c=C(); c.x=0; out=[]
    def a():
        if hasattr(c,"x"): delattr(c,"x"); out.append(1)
    run(a,a); return out
""",
    "osetattr": """
class C: pass
def main():
    c=C(); c.x=0
    def a(): object.__setattr__(c,"x",object.__getattribute__(c,"x")+1)
    run(a,a); return c.x
""",
    "dsetattr": """
class C: pass
def main():
    c=C(); c.x=0
    def a(): c.__setattr__("x",c.__getattribute__("x")+1)
    run(a,a); return c.x
""",
    "simplens": """
import types
def main():
    m=types.SimpleNamespace(x=0); out=[]
    def a(): m.x=1; m.x=2
    def b(): out.append(repr(m))
    run(a,b); return out
""",
    "defaultarg": """
def f(acc=[0]):
    acc[0]+=1
    return acc[0]
def main():
    f.__defaults__[0][0]=0
    run(f,f); return f.__defaults__[0][0]
""",
    "funcattr": """
def f():
    f.n=f.n+1
f.n=0
def main():
    run(f,f); return f.n
""",
    "slots": """
class C:
    __slots__=("x",)
def main():
    c=C(); c.x=0
    def a(): c.x=c.x+1
    run(a,a); return c.x
""",
    "rotate": """
from collections import deque
def main():
    d=deque([1,2,3]); out=[]
    def a(): d.rotate(1); d.rotate(1)
    def b(): out.append(list(d))
    run(a,b); return out
""",
    "dequeiter": """
from collections import deque
def main():
    d=deque([1,2,3]); out=[]
    def a(): d.append(1)
    def b():
        for x in d: out.append(x)
    run(a,b); return out
""",
    "userdict": """
from collections import UserDict
def main():
    d=UserDict(); out=[]
    def a(): d["x"]=1; d["y"]=2
    def b(): out.append(len(d))
    run(a,b); return out
""",
    "percentd": """
def main():
    d={"a":0}; out=[]
    def a(): d["a"]=1; d["a"]=2
    def b(): out.append("%(a)s" % d)
    run(a,b); return out
""",
    "formatmap": """
def main():
    d={"a":0}; out=[]
    def a(): d["a"]=1; d["a"]=2
    def b(): out.append("{a}".format_map(d))
    run(a,b); return out
""",
    "logging": """
import logging
def main():
    d={"a":0}; out=[]
    class H(logging.Handler):
        def emit(self, r): out.append(r.getMessage())
    lg=logging.Logger("q"); lg.addHandler(H())
    def a(): d["a"]=1; d["a"]=2
    def b(): lg.info("%s", d)
    run(a,b); return out
""",
    "excattr": """
def main():
    e=ValueError(); e.n=0
    def a(): e.n=e.n+1
    run(a,a); return e.n
""",
    "finally": """
class C: pass
def main():
    c=C(); c.x=0
    def a():
        try:
            raise KeyError
        except KeyError:
            c.x+=1
        finally:
            c.x+=1
    run(a,a); return c.x
""",
    "walrus": """
class C: pass
def main():
    c=C(); c.x=0; n=0; out=[]
    def a():
        nonlocal n
        if (n:=n+1) > 1: out.append(n)
    run(a,a); return n,out
""",
    "getattrdyn": """
class C:
    def __getattr__(self,k): return self.__dict__.setdefault(k,len(log))
log=[]
def main():
    c=C(); out=[]
    def a(): log.append(1); out.append(c.q)
    run(a,a); return sorted(out), c.q
""",
    "dictsub": """
class D(dict):
    def inc(self): self["n"]=self.get("n",0)+1
def main():
    d=D()
    run(d.inc,d.inc); return dict(d)
""",
    "listsub": """
class L(list):
    def append(self,x):
        super().append(x); super().append(len(self))
def main():
    l=L()
    def a(): l.append(0)
    run(a,a); return list(l)
""",
    "dict_d": """
def main():
    d={}; out=[]
    def a(): d[1]=1; d[2]=2
    def b(): out.append(dict(d));
    run(a,b); return out
""",
    "slice": """
def main():
    d=[0,0]; out=[]
    def a(): d[:]=[1,1]; d[0:1]=[]
    def b(): out.append(d[:]);
    run(a,b); return out
""",
    "sliceobj": """
def main():
    d=[0,0]; out=[]; s=slice(0,2)
    def a(): d[1]=1; d[0]=1
    def b(): out.append(d[s]);
    run(a,b); return out
""",
    "unjoined": """
def main():
    d=[0]
    def a(): d[0]=1
    t=threading.Thread(target=a); t.start()
    x=d[0]
    t.join()
    return x
""",
    "unionop": """
def main():
    d={1}; out=[]
    def a(): d.add(2); d.add(3)
    def b(): out.append(sorted(d|{9}))
    run(a,b); return out
""",
    "tupcmp": """
def main():
    d=[0]; out=[]
    def a(): d[0]=1; d[0]=2
    def b(): out.append((d,1)==([1],1))
    run(a,b); return out
""",
    "isinst_proxy": """
import types
def main():
    d={}; p=types.MappingProxyType(d); out=[]
    def a(): d[1]=1; d[2]=1
    def b(): out.append(len(p)); out.append(p.get(1))
    run(a,b); return out
""",
    "chaincall": """
from itertools import chain
def main():
    d=[1]; out=[]
    def a(): d.append(1)
    def b():
        for x in chain([0],d): out.append(x)
    run(a,b); return out
""",
    "comp_enum": """
def main():
    d=[1,1]; out=[]; k=[0]
    def a(): k[0]=1; d.append(1)
    def b():
        out.append([x+k[0] for x in filter(None,d)])
    run(a,b); return out
""",
    "yieldfrom": """
def main():
    d=[1,1]; out=[]
    def g(): yield from d
    def a(): d.append(1)
    def b():
        for x in g(): out.append(x)
    run(a,b); return out
""",
    "keyattr_in": """
class R:
    def __init__(self): self.id=1
def main():
    seen=set(); r=R(); out=[]
    def a():
        if r.id not in seen:
            seen.add(r.id); out.append(1)
    run(a,a); return out
""",
    "keyattr_del": """
class R:
    def __init__(self): self.id=1
def main():
    r=R(); r.t={1:2}; out=[]
    def a(): del r.t[r.id]
    def b(): out.append(r.t.get(1))
    run(a,b); return out
""",
    "keyattr_target": """
class R:
    def __init__(self): self.id=1
def main():
    r=R(); r.t={1:2}; out=[]
    def a(): r.t[r.id], y = 3, 4
    def b(): out.append(r.t.get(1))
    run(a,b); return out
""",
    "equal_keys": """
from pathlib import Path
def main():
    d={}; out=[]
    def a(): d[Path("k")]=1
    def b(): out.append(d.get(Path("k")))
    run(a,b); return out
""",
    "equal_keys_in_tuples": """
from pathlib import Path
def main():
    d={}; out=[]
    def a(): d["a",Path("k")]=1
    def b(): out.append(d.get(("a",Path("k"))))
    run(a,b); return out
""",
    "int_enum_key": """
import enum
class Slot(enum.IntEnum):
    A=1
def main():
    l=[0,0]; out=[]
    def a(): l[Slot.A]=5
    def b(): out.append(l[1])
    run(a,b); return out
""",
    "slots_behind": """
import dataclasses
@dataclasses.dataclass(slots=True)
class P:
    items: list
def main():
    p=P([]); l=p.items; out=[]
    def a(): l.append(1); l.append(2)
    def b(): out.append(repr(p))
    run(a,b); return out
""",
    "slots_copied": """
import copy
class P:
    __slots__=("items",)
def main():
    p=P(); p.items=l=[]; out=[]
    def a(): l.append(1); l.append(2)
    def b(): out.append(copy.deepcopy(p).items)
    run(a,b); return out
""",
    "yieldfromitems": """
def main():
    d=[1,1]; out=[]
    def g(): yield from d
    def a(): d[0]=5; d[1]=5
    def b():
        for x in g(): out.append(x)
    run(a,b); return out
""",
    "loop_array": """
import array
def main():
    d=array.array("i",[0,0]); out=[]
    def a(): d[0]=1; d[1]=1
    def b():
        for x in d: out.append(x)
    run(a,b); return out
""",
    "loop_userdict": """
import collections
def main():
    d=collections.UserDict(x=0); out=[]
    def a(): d["y"]=1
    def b(): out.append([k for k in d])
    run(a,b); return out
""",
    "loop_userlist_inside": """
import collections
def main():
    d=collections.UserList([0,0]); out=[]; inner=d.data
    def a(): inner[0]=1; inner[1]=1
    def b():
        for x in d: out.append(x)
    run(a,b); return out
""",
    "loop_weakset": """
import weakref
class C: pass
def main():
    kept=[C(),C()]; d=weakref.WeakSet(kept[:1]); out=[]
    def a(): d.add(kept[1])
    def b():
        for x in d: out.append(kept.index(x))
    run(a,b); return out
""",
    "known_by_name_only": """
def load(x): return x
def main():
    d=[0,0]; out=[]
    def a(): d[0]=1; d[1]=1
    def b(load): out.append(load(d))
    run(a,lambda: b(tuple)); return out
""",
    "first_of_a_static_method": """
import array
class Stack:
    def pop(self): return None
    @staticmethod
    def drain(items): out.append((items.pop(), items.pop()))
out=[]
def main():
    out.clear(); d=array.array("i",[1,2,3,4])
    def a(): Stack.drain(d)
    run(a,a); return out
""",
    "loop_unpacks": """
def main():
    d=[[0,0]]; out=[]
    def a(): d[0][0]=1; d[0][1]=1
    def b():
        for x,y in d: out.append((x,y))
    run(a,b); return out
""",
    "comprehension_unpacks": """
def main():
    d=[[0,0]]; out=[]
    def a(): d[0][0]=1; d[0][1]=1
    def b(): out.append([(x,y) for x,y in d])
    run(a,b); return out
""",
    "assignment_unpacks_what_is_inside": """
def main():
    d=([0,0],0); out=[]
    def a(): d[0][0]=1; d[0][1]=1
    def b():
        (x,y),z=d; out.append((x,y))
    run(a,b); return out
""",
    "block_unpacks": """
import contextlib
def main():
    d=[0,0]; out=[]
    def a(): d[0]=1; d[1]=1
    def b():
        with contextlib.nullcontext(d) as (x,y): out.append((x,y))
    run(a,b); return out
""",
    "error_forgotten": """
def main():
    out=[]; begun=threading.Event()
    def b():
        begun.set(); out.append(str(look()))
    try: raise ValueError("first")
    except ValueError as e:
        look=lambda: e
        t=threading.Thread(target=b); t.start(); begun.wait()
    t.join()
    return out
""",
    "walrus_in_a_comprehension": """
def main():
    out=[]
    ts=[(last:=n, t:=threading.Thread(target=lambda: out.append(last)), t.start()) for n in range(2)]
    for each in ts: each[1].join()
    return out
""",
    "late_binding": """
def main():
    out=[]
    ts=[(t:=threading.Thread(target=lambda: out.append(n)), t.start()) for n in range(2)]
    for each in ts: each[0].join()
    return out
""",
    "made_as_its_base": """
class Snapshot(dict): pass
def main():
    d={}; out=[]
    def a(): d[1]=1; d[2]=2
    def b(): out.append(Snapshot(d))
    run(a,b); return out
""",
    "made_as_a_tuple": """
class Row(tuple): pass
def main():
    l=[]; out=[]
    def a(): l.append(1); l.append(2)
    def b(): out.append(Row(l))
    run(a,b); return out
""",
    "made_by_its_base": """
class S(dict):
    def __init__(self,d): super().__init__(d)
def main():
    d={}; out=[]
    def a(): d[1]=1; d[2]=2
    def b(): out.append(S(d))
    run(a,b); return out
""",
    "filled_by_its_base": """
class L(list):
    def extend(self,xs): super().extend(xs)
def main():
    d=[]; l=L(); out=[]
    def a(): d.append(1); d.append(2)
    def b(): l.extend(d); out.append(list(l))
    run(a,b); return out
""",
    "array_grown": """
import array
def main():
    t=array.array("i",[1]); out=[]
    def a():
        x=t; x+=array.array("i",[2]); x*=2
    def b(): out.append(len(t))
    run(a,b); return out
""",
    "array_divided": """
import numpy
def main():
    t=numpy.ones(2); out=[]
    def a():
        x=t; x/=2; x**=2
    def b(): out.append(float(t[0]))
    run(a,b); return out
""",
    "own_iter": """
class Bag:
    def __init__(self): self.items=[1,1]
    def __iter__(self): return iter(self.items)
def main():
    bag=Bag(); l=bag.items; out=[]
    def a(): l[0]=5; l[1]=5
    def b():
        for x in bag: out.append(x)
    run(a,b); return out
""",
    "futattr": """
from concurrent.futures import Future
def main():
    f=Future(); f.tag=0
    def a(): f.tag=f.tag+1
    run(a,a); return f.tag
""",
}


def together(body: str) -> str:
    """Make a program of a function ``main``, which may run functions in threads by ``run``."""
    return f"{_TOGETHER}\n\n{body}"


PROGRAMS = {name: together(body) for name, body in _BODIES.items()}
