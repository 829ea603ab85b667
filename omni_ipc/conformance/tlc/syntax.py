"""What a module defines: its operators with their conjuncts, their places, and what is said above them.

TLA+'s own parser tells, as XML, where each conjunct of an operator stands and which are guards: those of level 0 or 1
speak of one state, those of level 2 of a step. Their text is taken out of the module.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from omni_ipc.conformance.models.manifest import Manifest
from omni_ipc.conformance.models.source import Region, Source
from omni_ipc.conformance.processes.children import Children
from omni_ipc.conformance.tlc.java import run_java
from omni_ipc.conformance.tlc.result import Place
from omni_ipc.conformance.tlc.toolchain import Toolchain
from omni_ipc.errors import Inconclusive

_CONJUNCTIONS = ("$ConjList", "\\land")
_FOR_ALL = "$BoundedForall"
_VARIABLE = "3"
_STATE_LEVEL = 1
_BUDGET_S = 60.0


class Universal(msgspec.Struct, frozen=True):
    """A claim about all of something: ``\\A batch \\in Batches : \\A output \\in Parts[batch] : ...``."""

    names: tuple[str, ...]
    exceptions: str  # an expression: the set of tuples of which it is not true


class Conjunct(msgspec.Struct, frozen=True):
    """One line of a definition that is a conjunction."""

    text: str  # in one line
    code: str  # as it stands in the module, in its columns, with the LETs around it
    place: Place
    is_guard: bool  # it speaks of one state; else of a step
    variables: tuple[str, ...]  # that it depends on, by way of other definitions, too
    comment: str  # that stands above it
    universal: Universal | None = None


class Definition(msgspec.Struct, frozen=True):
    """An operator."""

    name: str
    params: tuple[str, ...]
    place: Place
    comment: str  # that stands above it
    conjuncts: tuple[Conjunct, ...]

    @property
    def sentence(self) -> str:
        """What it says in English: the last sentence above it; without one, its own text."""
        return last_sentence(self.comment) or " /\\ ".join(conjunct.text for conjunct in self.conjuncts)


def last_sentence(comment: str) -> str:
    """The sentence next to what a comment stands above; one before it may be about a whole section."""
    sentences: list[str] = re.findall(r"\S.*?[.!?](?=\s|$)", comment)
    return sentences[-1] if sentences else comment


def read_definitions(
    module: str, text: str, manifest: Manifest, *, toolchain: Toolchain, children: Children
) -> dict[str, Definition]:
    """Read what can be named in a module, that of extended ones, too.

    Raises:
        Inconclusive: the module cannot be parsed.
        EnvironmentMissing: Java cannot be started, or there is no temporary folder.
    """
    library = manifest.library()
    run = run_java(
        "tla2sany.xml.XMLExporter",
        ("-o", *(word for folder in library for word in ("-I", str(folder))), f"{module}.tla"),
        {f"{module}.tla": text},
        library=library,
        toolchain=toolchain,
        children=children,
        budget_s=_BUDGET_S,
    )
    try:
        root = ET.fromstring(run.ended.output)
    except ET.ParseError:
        raise Inconclusive(f"The module {module} could not be read as XML. Check it first: omni-ipc check.") from None
    return dict(_Reader(root, _Sources(library, {module: text})).definitions())


class _Sources(dict[str, Source | None]):
    """Modules by name, read when they are asked for; None for those of the standard library."""

    def __init__(self, library: Sequence[Path], given: Mapping[str, str]) -> None:
        super().__init__({name: Source(text) for name, text in given.items()})
        self._library = library

    def __missing__(self, name: str) -> Source | None:
        files = (folder / f"{name}.tla" for folder in self._library)
        file = next((file for file in files if file.is_file()), None)
        self[name] = source = Source(file.read_text()) if file else None
        return source


class _Reader:
    """Walks over the XML of one root module."""

    def __init__(self, root: ET.Element, sources: _Sources) -> None:
        self._root_module = root.findtext("RootModule", "")
        self._entries = {entry.findtext("UID", ""): entry[1] for entry in root.iterfind("context/entry")}
        self._sources = sources
        self._variables_of: dict[str, frozenset[str]] = {}

    def definitions(self) -> Iterator[tuple[str, Definition]]:
        """Give each definition of the root module's scope that stands in a module of ours."""
        modules = (node for node in self._entries.values() if node.tag == "ModuleNode")
        scope = next(node for node in modules if node.findtext("uniquename") == self._root_module)
        for reference in scope.iterfind("UserDefinedOpKindRef"):
            node = self._entries[reference.findtext("UID", "")]
            name, source, body = node.findtext("uniquename", ""), self._source(node), node.find("body")
            if source is not None and body is not None and name.isidentifier():
                yield name, self._definition(name, node, body[0], source)

    def _definition(self, name: str, node: ET.Element, body: ET.Element, source: Source) -> Definition:
        region = _region(node)
        return Definition(
            name=name,
            params=tuple(self._name(reference) for reference in node.iterfind("params/*/FormalParamNodeRef")),
            place=Place(node.findtext("location/filename", ""), region.first_line),
            comment=source.comment_above(region.first_line),
            conjuncts=tuple(self._conjuncts(body, source, "")),
        )

    def _conjuncts(self, node: ET.Element, source: Source, lets: str) -> Iterator[Conjunct]:
        if node.tag == "LetInNode":
            inner = next(node.iterfind("body/*"))
            yield from self._conjuncts(inner, source, lets + source.code_before(_region(node), _region(inner)))
        elif self._operator(node) in _CONJUNCTIONS:
            for operand in node.iterfind("operands/*"):
                yield from self._conjuncts(operand, source, lets)
        else:
            yield self._conjunct(node, source, lets)

    def _conjunct(self, node: ET.Element, source: Source, lets: str) -> Conjunct:
        region = _region(node)
        return Conjunct(
            text=source.text(region),
            code=lets + source.code(region),
            place=Place(node.findtext("location/filename", ""), region.first_line),
            is_guard=int(node.findtext("level", "2")) <= _STATE_LEVEL,
            variables=tuple(sorted(self._variables(node))),
            comment=source.comment_above(region.first_line),
            universal=self._universal(node, source, lets),
        )

    def _universal(self, node: ET.Element, source: Source, lets: str) -> Universal | None:
        bounds: list[tuple[str, str]] = []
        while self._operator(node) == _FOR_ALL:
            for bound in node.iterfind("boundSymbols/bound"):
                *symbols, domain = bound
                if any(symbol.tag != "FormalParamNodeRef" for symbol in symbols):
                    return None  # a tuple of names
                bounds += [(self._name(symbol), source.code(_region(domain))) for symbol in symbols]
            operands = node.find("operands")
            assert operands is not None, "a quantifier has a body"
            node = operands[0]
        if not bounds:
            return None
        names = tuple(name for name, _ in bounds)
        return Universal(names, lets + _exceptions(bounds, names, source.code(_region(node))))

    def _variables(self, node: ET.Element) -> frozenset[str]:
        """The variables that an expression mentions, itself or in what it calls."""
        found: set[str] = set()
        for reference in node.iter():
            uid = reference.findtext("UID", "") if reference.tag.endswith("Ref") else ""
            entry = self._entries.get(uid)
            if entry is not None and reference.tag == "OpDeclNodeRef" and entry.findtext("kind") == _VARIABLE:
                found.add(entry.findtext("uniquename", ""))
            elif entry is not None and reference.tag == "UserDefinedOpKindRef":
                if uid not in self._variables_of:
                    self._variables_of[uid] = frozenset()  # until it is known: a recursive one adds nothing
                    self._variables_of[uid] = self._variables(entry)
                found |= self._variables_of[uid]
        return frozenset(found)

    def _operator(self, node: ET.Element) -> str:
        reference = node.find("operator/BuiltInKindRef")
        return "" if reference is None else self._name(reference)

    def _name(self, reference: ET.Element) -> str:
        return self._entries[reference.findtext("UID", "")].findtext("uniquename", "")

    def _source(self, node: ET.Element) -> Source | None:
        return self._sources[node.findtext("location/filename", "")]


def _region(node: ET.Element) -> Region:
    first_line, last_line, first_column, last_column = (
        int(node.findtext(f"location/{what}/{end}", "")) for what in ("line", "column") for end in ("begin", "end")
    )
    return Region(first_line, first_column, last_line, last_column)


def _exceptions(bounds: Sequence[tuple[str, str]], names: Sequence[str], body: str) -> str:
    """The set of tuples within bounds, a later one of which may depend on an earlier, of which ``body`` is false."""
    (name, domain), *inner = bounds
    if inner:
        return f"UNION {{\n{_exceptions(inner, names, body)}\n: {name} \\in\n{domain}\n}}"
    among = f"{{ {name} \\in\n{domain}\n: ~(\n{body}\n) }}"
    return f"{{ <<{', '.join(names)}>> : {name} \\in {among} }}"
