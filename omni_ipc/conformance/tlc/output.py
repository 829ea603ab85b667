"""From the words of TLC's tool mode to a `Result`.

    @!@!@STARTMSG code:severity @!@!@
    text, which may contain further messages
    @!@!@ENDMSG code @!@!@

Output that stops before TLC says that it has finished (2186) is truncated, whatever it claimed so far.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from omni_ipc.conformance.models.parts import parts
from omni_ipc.conformance.models.values import parse
from omni_ipc.conformance.tlc.result import Coverage, Kind, Place, Result, State
from omni_ipc.values import Value

_STATE, _STUTTERING, _BACK = 2217, 2218, 2122
_SUCCESS, _FINISHED = 2193, 2186
_SYNTAX = {3002, 2171}  # there are errors; there is no module
_PROGRESS, _TOTALS, _DEPTH = 2200, 2199, 2194
_COVERAGE_BEGINS, _COVERAGE = 2201, 2772
_POSITIONS = 2103
_VIOLATED_INITIALLY = 2107
_VIOLATIONS = {
    _VIOLATED_INITIALLY: Kind.INVARIANT,
    2110: Kind.INVARIANT,
    2108: Kind.TEMPORAL,
    2112: Kind.ACTION_PROPERTY,
    2114: Kind.DEADLOCK,
    2116: Kind.TEMPORAL,
    2104: Kind.ASSUMPTION,
}
_CONFIGURATION = {*range(2222, 2246), *range(5001, 5010)}  # of TLC, and of its reader
_GENERAL = 1000  # an error that TLC did not expect; its reason often is a message inside of it
_ERRORS = (1, 2)  # severities: an error of the spec, of TLC itself

_FRAME = re.compile(r"@!@!@(?:STARTMSG (?P<start>\d+):(?P<severity>\d+)|ENDMSG \d+) @!@!@")
_COUNTS = re.compile(r"([\d,]+) states generated.*, ([\d,]+) distinct states found.*, ([\d,]+) states left on queue")
_TAKEN = re.compile(r"<([^\s(>]+).*>: ([\d,]+):([\d,]+)")
_LABEL = re.compile(r"(\d+): (?:Back to state: )?<([^\s(>]+)")  # a newer TLC adds the arguments
_VARIABLE = re.compile(r"^(?:/\\ )?(\w+) = ", re.MULTILINE)
_NAMED = re.compile(r"(?:Invariant|Action property|Property|Assumption) (.+?) is (?:violated|false)")
_SYNTAX_ERRORS = (
    re.compile(
        r"\*\*\* Errors: \d+\s+line (?P<line>\d+), col \d+ to line \d+, col \d+ of module (?P<module>\w+)"
        r"\s+(?P<what>\S[\s\S]*?)(?:\n\s*\n|\Z)"
    ),
    re.compile(
        r"(?P<what>(?:Was expecting|Lexical error|Encountered)[\s\S]*? line (?P<line>\d+).*)"
        r"[\s\S]*?Could not parse module (?P<module>\w+)"
    ),
    re.compile(r"(?P<what>Cannot find source file for module \w+ imported in module (?P<module>\w+)\.)(?P<line>)"),
    re.compile(
        r"Fatal errors while parsing TLA\+ spec in file (?P<module>\w+)\s"
        r"[\s\S]*?\*\*\* Abort messages: \d+\s+Unknown location\s+(?P<what>\S.*)(?P<line>)"
    ),
    re.compile(r"(?P<what>Fatal errors while parsing) TLA\+ spec in file (?P<module>\w+)(?P<line>)"),
)
_EXCEPTION = re.compile(r"TLC threw an unexpected exception\.[\s\S]*?The exception was an? ")
_POSITION = re.compile(r"Line (\d+), column \d+ to line \d+, column \d+ in (\w+)")


class Message(NamedTuple):
    """One framed message; the text of a nested one is not part of the outer one's."""

    code: int
    severity: int
    text: str


def parse_output(text: str, *, seconds: float = 0.0) -> Result:
    """Read the whole output of one run; of kind TRUNCATED if TLC did not come to its end.

    Raises:
        FormatError: a state holds something that is no TLA+ value.
    """
    said = messages(text)
    if any(message.code == _FINISHED for message in said):
        kind, words, place = _verdict(said)
    else:
        kind, words, place = Kind.TRUNCATED, "TLC ended before it had finished.", None
    named = _NAMED.match(words)
    generated, distinct, queue = _counts(said)
    trace, loop, closing = _behaviour(said)
    return Result(
        kind=kind,
        message=words,
        name=named[1] if named else None,
        place=place,
        generated=generated,
        distinct=distinct,
        queue=queue,
        search_depth=_depth(said),
        actions=_coverage(said),
        trace=trace,
        loop=loop,
        closing=closing,
        seconds=seconds,
    )


def messages(text: str) -> list[Message]:
    """Split the output into its messages, in the order of their ends; what stands outside comes last, as code 0."""
    ended: list[Message] = []
    open_ones: list[tuple[int, int, list[str]]] = [(0, 0, [])]
    at = 0
    for frame in _FRAME.finditer(text):
        open_ones[-1][2].append(text[at : frame.start()])
        at = frame.end()
        if frame["start"]:
            open_ones.append((int(frame["start"]), int(frame["severity"]), []))
        elif len(open_ones) > 1:
            code, severity, parts = open_ones.pop()
            ended.append(Message(code, severity, "".join(parts).strip()))
    open_ones[0][2].append(text[at:] if len(open_ones) == 1 else "")
    return [*ended, Message(0, 0, "".join(open_ones[0][2]).strip())]


def _verdict(said: Sequence[Message]) -> tuple[Kind, str, Place | None]:
    """The first error that TLC reports is the verdict; what follows it is consequence."""
    for at, (code, severity, text) in enumerate(said):
        if code in _VIOLATIONS:
            return _VIOLATIONS[code], text, None
        if code in _SYNTAX:
            return Kind.SYNTAX, *_first_syntax_error(said[-1].text)
        if code in _CONFIGURATION:
            return Kind.CONFIGURATION, " ".join(text.split()), None
        if code == _SUCCESS:
            return Kind.SUCCESS, text.splitlines()[0], None
        if severity in _ERRORS:
            words = _reason(said, at) if code == _GENERAL else text
            return Kind.EVALUATION, " ".join(words.split()), _innermost_position(said)
    return Kind.EVALUATION, "TLC finished without a verdict.", None


def _reason(said: Sequence[Message], at: int) -> str:
    """Give the reason of a general error: the message inside of it, which has ended right before; else its own end."""
    own = said[at].text
    return said[at - 1].text if own.endswith(":") else _EXCEPTION.sub("", own)


def _first_syntax_error(text: str) -> tuple[str, Place | None]:
    """SANY speaks outside of any message."""
    for pattern in _SYNTAX_ERRORS:
        if found := pattern.search(text):
            line = int(found["line"]) if found["line"] else None
            return " ".join(found["what"].split()).rstrip("."), Place(found["module"], line)
    return "The module cannot be parsed", None


def _innermost_position(said: Sequence[Message]) -> Place | None:
    positions = [found for message in said if message.code == _POSITIONS for found in _POSITION.finditer(message.text)]
    return Place(positions[-1][2], int(positions[-1][1])) if positions else None


def _counts(said: Sequence[Message]) -> tuple[int, int, int]:
    found = [_COUNTS.search(message.text) for message in said if message.code in (_PROGRESS, _TOTALS)]
    last = found[-1] if found else None
    return (_number(last[1]), _number(last[2]), _number(last[3])) if last else (0, 0, 0)


def _depth(said: Sequence[Message]) -> int | None:
    found = [re.search(r"[\d,]+", message.text) for message in said if message.code == _DEPTH]
    return _number(found[-1][0]) if found and found[-1] else None


def _coverage(said: Sequence[Message]) -> dict[str, Coverage]:
    """Long runs report every minute: the last report counts. An action of several disjuncts is one action."""
    actions: dict[str, Coverage] = {}
    for code, _, text in said:
        if code == _COVERAGE_BEGINS:
            actions = {}
        elif code == _COVERAGE and (found := _TAKEN.match(text)):
            taken = Coverage(_number(found[2]), _number(found[3]))
            actions[found[1]] = actions.get(found[1], Coverage()) + taken
    return actions


def _behaviour(said: Sequence[Message]) -> tuple[tuple[State, ...], int | None, State | None]:
    """The states of the counterexample, and how a lasso closes."""
    trace: list[State] = []
    for code, _, text in said:
        head, _, body = text.partition("\n")
        found = _LABEL.match(head)
        if code == _STATE and found:
            trace.append(State(found[2] if trace else None, dict(_variables(body))))
        elif code == _VIOLATED_INITIALLY:
            trace.append(State(None, dict(_variables(body))))
        elif code == _STUTTERING:
            return tuple(trace), len(trace) - 1, None
        elif code == _BACK and found:
            loop = int(found[1]) - 1
            return tuple(trace), loop, State(found[2], trace[loop].variables)
    return tuple(trace), None, None


def assignments(body: str) -> Iterator[tuple[str, str]]:
    """Split a state into variables and the texts of their values.

    Each ``/\\ name = value`` begins a line; its value may go on over several.
    """
    return ((start[1], value) for start, value in parts(_VARIABLE, body))


def _variables(body: str) -> Iterator[tuple[str, Value]]:
    return ((name, parse(text)) for name, text in assignments(body))


def _number(text: str) -> int:
    return int(text.replace(",", ""))
