"""Instrumentation: code that knows nothing of the testbed, with a point at each access to state that tasks share.

scopes.py       which names are shared variables: globals that functions assign, cells that change after their capture
rewrite.py      the syntax tree, with each access announced before it is made; calls.py and stores.py help
sites.py        the places that were rewritten
codes.py        compiled trees, and how they are exchanged in living functions, for a time
world.py        what can be reached from a module: functions to exchange, state to put back
hooks.py        what rewritten code calls: it notes an access, or makes a point of it
effects.py      what an operation on an object reads and writes
names.py        identities of objects, the same in every schedule
races.py        which accesses no lock orders: they become points
session.py      all of it, for one exploration
"""
