"""Reading the state graph that TLC dumps in the language of graphviz.

-8768 [label="/\\\\ cached = {}\\n/\\\\ inbox = {}",style = filled]           a state; filled: an initial one
-8768 -> 88693 [label="PumpUnpack__1",color="black",fontcolor="black"];     a step, and the operator that took it
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from omni_ipc.conformance.graphs.graph import Graph, Label, Origin
from omni_ipc.conformance.models.values import parse
from omni_ipc.conformance.tlc.output import assignments
from omni_ipc.errors import FormatError
from omni_ipc.values import Value

_STATE = re.compile(r'(-?\d+) \[label="((?:[^"\\]|\\.)*)"(,style = filled)?\];?')
_STEP = re.compile(r'(-?\d+) -> (-?\d+) \[label="([^"]*)"')
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


def parse_dot(text: str, labels: Mapping[str, Label], origin: Origin | None = None) -> Graph:
    """Read a dump with labelled actions.

    Args:
        labels: what the operators are instances of; others are actions without parameters.

    Raises:
        FormatError: a line is neither a state nor a step, or a step has an end that is no state.
    """
    states: dict[str, tuple[Value, ...]] = {}
    initial: list[str] = []
    steps: list[tuple[str, Label, str]] = []
    names: tuple[str, ...] = ()
    value = functools.cache(parse)
    for line in text.splitlines():
        if step := _STEP.match(line):
            steps.append((step[1], labels.get(step[3], Label(step[3])), step[2]))
        elif state := _STATE.match(line):
            described = dict(assignments(_ESCAPED.sub(_unescape, state[2])))
            names = names or tuple(described)
            states[state[1]] = tuple(value(described[name]) for name in names)
            initial += [state[1]] if state[3] else []
        elif line.lstrip()[:1] in ("-", *"0123456789"):
            raise FormatError(f"Neither a state nor a step of a dump: {line[:80]!r}.")
    lost = {end for source, _, target in steps for end in (source, target)} - states.keys()
    if lost or not initial:
        raise FormatError(f"The dump lacks {len(lost)} states of its steps, and has {len(initial)} initial ones.")
    return Graph(
        names,
        states.values(),
        [states[key] for key in initial],
        [(states[source], label, states[target]) for source, label, target in steps],
        origin,
    )


def _unescape(found: re.Match[str]) -> str:
    return "\n" if found[1] == "n" else found[1]
