"""Instrumentation: code that knows nothing of the testbed, with a point at each access to state that tasks share.

modules.py      what is to be instrumented, found by name
rewriting/      the syntax tree, with each access announced before it is made
sites.py        the places that were rewritten
codes.py        rewritten code, and how living functions get it, and lose it again
reach.py        what can be reached from a module: functions, and what keeps state
standins.py     look-alikes of locks that modules made for themselves
state.py        that state, put back before each run
tables.py       what operations do, by name; kinds.py: what types are
effects.py      what a site does to an object
tracker.py      what rewritten code calls; touching.py: where it names what it uses
using.py        what is used besides, by code without points; behind.py, callables.py: through what, and by what
awaiting.py     coroutines that several tasks await
exchanging.py   what becomes another thing under its users
generators.py   who runs; addresses.py, bound.py: what ``id()`` gives, and C code that is kept to be called later
noting.py       an access is noted, or made a point
points.py       accesses as operations; names.py: identities of objects, the same in every schedule
memory.py       which arrays have the same elements
shown.py        the values behind accesses
races.py        which accesses may race; unordered.py, ordering.py: which do, as nothing orders them: they become points
inherited.py    attributes of classes, read through objects
world.py        all of it for some modules
session.py      for one exploration
"""
