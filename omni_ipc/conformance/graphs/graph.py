"""State graphs: all that a model can do within its bounds, in a form that does not depend on who explored it.

TLC calls a state by a number that changes with its seed; here a state is its values. States are in the order of their
values, values in the order of their texts, steps in the order of their ends and labels. So equal graphs are equal files
with equal digests, whichever fingerprint, number of workers or model checker they come from.

A file is gzipped JSON, a line each: the header; each variable with the values that it ever has, as ITF; the labels of
steps; the initial states; each state as indices of its values; each step as source, label and target.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from omni_ipc.conformance.counterexamples.itf import to_itf
from omni_ipc.errors import FormatError, UsageError
from omni_ipc.records import Field, write_atomically
from omni_ipc.values import Value, from_itf, show

GRAPH_VERSION = 1
_SUFFIX = ".graph.jsonl.gz"


class Label(NamedTuple):
    """An action with values for its parameters."""

    action: str
    params: tuple[tuple[str, Field], ...] = ()

    def __str__(self) -> str:
        return f"{self.action}({', '.join(f'{name}={show(value)}' for name, value in self.params)})"


class Edge(NamedTuple):
    """One step: from the state of one number to that of another."""

    source: int
    label: Label
    target: int


class Origin(msgspec.Struct, frozen=True):
    """Where a graph comes from."""

    model: str
    inputs: str  # digest of modules, cfg and actions, of which it was made
    tlc: str  # which one: the digest of its jar


class Graph:
    """The states of a model, and the steps between them.

    Attributes:
        variables: their names, in alphabetical order.
        states: of each, the values of the variables.
        initial: numbers of the states in which it may begin.
        edges: in canonical order.
        origin: None if it does not come from TLC.
    """

    def __init__(
        self,
        variables: Sequence[str],
        states: Iterable[tuple[Value, ...]],
        initial: Iterable[tuple[Value, ...]],
        steps: Iterable[tuple[tuple[Value, ...], Label, tuple[Value, ...]]],
        origin: Origin | None = None,
    ) -> None:
        order = sorted(range(len(variables)), key=lambda place: variables[place])

        def arranged(state: tuple[Value, ...]) -> tuple[Value, ...]:
            return tuple([state[place] for place in order])

        unordered = {arranged(state) for state in states}
        # By variable, because True == 1: within one variable no two different values are equal.
        self._tables = [_ranks(column) for column in zip(*unordered, strict=True)]
        ranked = sorted(unordered, key=self._indices)
        number = {state: place for place, state in enumerate(ranked)}
        self.variables = tuple(variables[place] for place in order)
        self.states = tuple(ranked)
        self.initial = tuple(sorted(number[arranged(state)] for state in initial))
        self.edges = tuple(
            sorted({Edge(number[arranged(source)], label, number[arranged(target)]) for source, label, target in steps})
        )
        self.origin = origin

    def named(self, state: int) -> dict[str, Value]:
        """Give the variables of a state by their names."""
        return dict(zip(self.variables, self.states[state], strict=True))

    @functools.cached_property
    def leaving(self) -> tuple[tuple[int, ...], ...]:
        """Of each state, the places in ``edges`` of the steps out of it."""
        found: list[list[int]] = [[] for _ in self.states]
        for place, edge in enumerate(self.edges):
            found[edge.source].append(place)
        return tuple(map(tuple, found))

    @functools.cached_property
    def depths(self) -> tuple[int, ...]:
        """Of each state, the least number of steps that lead to it."""
        return tuple(depth for depth, _ in self._reached)

    def state(self, number: int) -> dict[str, Value]:
        """Give the values of the variables in a state, by name."""
        return dict(zip(self.variables, self.states[number], strict=True))

    def path(self, number: int) -> list[int]:
        """Give the places in ``edges`` of a shortest way to a state."""
        way: list[int] = []
        while (place := self._reached[number][1]) is not None:
            way.append(place)
            number = self.edges[place].source
        return way[::-1]

    @functools.cached_property
    def _reached(self) -> list[tuple[int, int | None]]:
        """Of each state, its depth and the last step of a shortest way to it."""
        found: dict[int, tuple[int, int | None]] = dict.fromkeys(self.initial, (0, None))
        border = list(self.initial)
        for state in border:
            for place in self.leaving[state]:
                target = self.edges[place].target
                if target not in found:
                    found[target] = found[state][0] + 1, place
                    border.append(target)
        return [found[state] for state in range(len(self.states))]

    @functools.cached_property
    def digest(self) -> str:
        """The same for equal graphs, and for no others."""
        return hashlib.sha256("".join(self._lines()).encode()).hexdigest()

    def save(self, path: Path) -> Path:
        """Write the graph, wholly or not at all; equal graphs of one origin give equal files."""
        header = {
            "format": "omni-ipc-graph",
            "version": GRAPH_VERSION,
            "states": len(self.states),
            "edges": len(self.edges),
            "digest": self.digest,
            "origin": msgspec.to_builtins(self.origin),
        }
        text = "".join([_line(header), *self._lines()])
        return write_atomically(path, gzip.compress(text.encode(), mtime=0))

    @classmethod
    def load(cls, path: Path) -> Graph:
        """Read a graph.

        Raises:
            UsageError: the file cannot be read, or is none, or is damaged.
        """
        try:
            first, *lines = gzip.decompress(path.read_bytes()).decode().splitlines()
            header = json.loads(first)
            graph = cls._from_lines(list(map(json.loads, lines)), header)
        except OSError as error:
            raise UsageError(
                f"Cannot read '{path}': {error.strerror or error}. Make it anew: omni-ipc spec sync."
            ) from None
        except (ValueError, KeyError, TypeError, IndexError, EOFError, zlib.error, FormatError) as error:
            raise UsageError(f"'{path}' is no whole state graph ({error}). Make it anew: omni-ipc spec sync.") from None
        if graph.digest != header["digest"]:
            raise UsageError(f"'{path}' was changed: its digest is another. Make it anew: omni-ipc spec sync.")
        return graph

    @classmethod
    def _from_lines(cls, lines: list[Any], header: Mapping[str, Any]) -> Graph:
        if header["format"] != "omni-ipc-graph" or header["version"] != GRAPH_VERSION:
            raise FormatError(f"its format is {header['format']} of version {header['version']}")
        tables = [[from_itf(value) for value in line["values"]] for line in lines if isinstance(line, dict)]
        variables = [line["variable"] for line in lines if isinstance(line, dict)]
        labels, initial, *rows = lines[len(tables) :]
        known = [Label(action, tuple((name, value) for name, value in params)) for action, params in labels]
        count = header["states"]
        states = [tuple(table[at] for table, at in zip(tables, row, strict=True)) for row in rows[:count]]
        steps = ((states[source], known[label], states[target]) for source, label, target in rows[count:])
        origin = header["origin"] and msgspec.convert(header["origin"], Origin)
        return cls(variables, states, [states[place] for place in initial], steps, origin)

    def _lines(self) -> Iterator[str]:
        """What the digest is of."""
        for variable, table in zip(self.variables, self._tables, strict=True):
            yield _line({"variable": variable, "values": list(map(to_itf, table))})
        labels = sorted({edge.label for edge in self.edges})
        at_label = {label: at for at, label in enumerate(labels)}
        yield _line([[label.action, label.params] for label in labels])
        yield _line(self.initial)
        for state in self.states:
            yield _line(self._indices(state))
        for edge in self.edges:
            yield _line([edge.source, at_label[edge.label], edge.target])

    def _indices(self, state: tuple[Value, ...]) -> list[int]:
        return [table[value] for table, value in zip(self._tables, state, strict=True)]


def graph_file(folder: Path, spec: str) -> Path:
    """Name the file of a spec's graph, below the folder of the manifest."""
    return folder / "graph" / f"{spec}{_SUFFIX}"


def _ranks(column: Iterable[Value]) -> dict[Value, int]:
    """Number the values of a variable in the order of their texts."""
    return {value: rank for rank, value in enumerate(sorted(set(column), key=show))}


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"
