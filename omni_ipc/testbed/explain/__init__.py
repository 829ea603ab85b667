"""Explains a trace: which of its steps matter, and what happened, in words.

words.py      a step in words: "'pump' took from queue1"
conflicts.py  which steps conflict, and what happened before what
causes.py     pairs of steps that a failure is due to; for this, and this alone, the code is run
slicing.py    the steps that matter
story.py      the sentences
names.py      what the code calls the objects that all of this is about
"""

from omni_ipc.explanations import Explanation
from omni_ipc.records import Trace
from omni_ipc.testbed.explain.conflicts import History
from omni_ipc.testbed.explain.names import Names
from omni_ipc.testbed.explain.slicing import steps_that_matter, what_it_is_about
from omni_ipc.testbed.explain.story import tell

__all__ = ["explain"]


def explain(trace: Trace) -> Explanation:
    """Explain a trace, in the words of its code; one of a model has no conflicts, and a short story."""
    names = Names(trace)
    trace = names.trace(trace)
    history = History(trace.steps, names)
    about = what_it_is_about(trace, history)
    matters = steps_that_matter(trace, history, about)
    return Explanation(trace, matters, about, history.conflicts(matters, about), tell(trace, history), names.known)
