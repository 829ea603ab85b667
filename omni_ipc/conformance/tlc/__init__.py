"""TLC as a component: found, run, read, and remembered.

toolchain.py  where TLC and Java are found
java.py       one program of the jar, run in private
running.py    one model, checked by it
labels.py     each instance of an action under a name of its own, so that TLC tells its arguments
output.py     what it printed, read; result.py: what that comes to
progress.py   how far a run of hours has come
cache.py      what it said of the same files before; archive.py: Java's classes, loaded and checked once
syntax.py     what a module defines, as TLA+'s own parser reads it
"""
