"""Rewrites functions: each access to state is announced right before it is made.

The access itself stays as it is, so errors, tracebacks, properties, ``super()`` and private names do, too::

    self.total            touch(7, self).total
    self.items[key]       touch_item(9, touch(8, self).items, key)[key]
    queue.append(f(x))    queue.append(touch_last(11, queue, f(x)))
    f(x())(y(), z())      touch_packed(12, f(x()), y(), z())()
    self.total += n       touch(13, self).total = iadd(touch(12, self).total, n)
    count                 touch_global(14) and count
    [1, 2]                new([1, 2])

An expression is evaluated twice only if that cannot be told: a constant, or a variable of the function's own. Where
that is not enough, C functions of `operator` take what a hook returns, as they leave no frame in a traceback.

Not rewritten: what runs at import, annotations, and patterns.
"""

from omni_ipc.testbed.instrument.rewriting.definitions import Rewriter
from omni_ipc.testbed.instrument.rewriting.reflection import Reflection

__all__ = ["Reflection", "Rewriter"]
