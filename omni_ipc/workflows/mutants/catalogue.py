"""All mutants of the product's concurrent code, in the order of the text."""

from __future__ import annotations

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import msgspec

from omni_ipc.errors import UsageError
from omni_ipc.workflows.mutants.edits import Edit, Source
from omni_ipc.workflows.mutants.operators import OPERATORS

ROOMS = ("transport", "serving")
_CONCURRENT = "omni_ipc.seam.api import"  # what a module that runs in several tasks says
_CONSTRUCTOR = "__init__"  # nobody else is there yet


class Mutant(msgspec.Struct, frozen=True):
    """The product with one fault.

    Args:
        name: module, function, kind of the fault; it stays when lines above are edited.
        path: of the module, from the checkout's root.
        digest: of the fault's text; another one means that the code was edited since.
    """

    name: str
    path: str
    edit: Edit
    diff: str
    digest: str

    @property
    def lines(self) -> range:
        """The lines that the fault stands in place of."""
        return range(self.edit.first, self.edit.last + 1)


def catalogue(root: Path, only: str | None = None) -> tuple[Mutant, ...]:
    """Make all mutants of a checkout.

    Args:
        only: a pattern of names, as of a shell: "serving/outputs.py:*".

    Raises:
        UsageError: there is no such mutant, or no checkout.
    """
    files = [path for room in ROOMS for path in sorted((root / "omni_ipc" / room).glob("*.py"))]
    if not files:
        raise UsageError(f"There is no 'omni_ipc/{ROOMS[0]}' in '{root}'. Run this in a checkout of the project.")
    found = tuple(mutant for path in files for mutant in _mutants(root, path) if fnmatch(mutant.name, only or "*"))
    if not found:
        raise UsageError(f"No mutant is named '{only}'. See their names: omni-ipc mutants --list.")
    return found


def _mutants(root: Path, path: Path) -> Iterator[Mutant]:
    text = path.read_text()
    if _CONCURRENT not in text:
        return
    source, named = Source(text), path.relative_to(root).as_posix()
    seen: Counter[str] = Counter()
    known = {ast.dump(source.tree)}
    for function, edit in _edits(source):
        mutated = "\n".join(edit.apply(source.lines)) + "\n"
        try:
            tree = ast.dump(ast.parse(mutated))
        except SyntaxError:  # a break without its loop
            continue
        if tree in known or not _compiles(mutated):
            continue
        known.add(tree)
        name = f"{named.removeprefix('omni_ipc/')}:{function}:{edit.operator.replace(' ', '-')}"
        seen[name] += 1
        diff = edit.diff(source.lines, named)
        body = "\n".join(diff.splitlines()[3:])
        yield Mutant(
            name=f"{name}-{seen[name]}" if seen[name] > 1 else name,
            path=named,
            edit=edit,
            diff=diff,
            digest=hashlib.sha256(body.encode()).hexdigest()[:12],
        )


def _edits(source: Source) -> Iterator[tuple[str, Edit]]:
    """Give each edit with the name of the function that it is in."""
    waiting: list[tuple[str, ast.AST]] = [("", source.tree)]
    while waiting:
        function, node = waiting.pop()
        if isinstance(node, ast.ClassDef) and any(getattr(base, "id", "") == "Protocol" for base in node.bases):
            continue
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            function = f"{function}.{node.name}".lstrip(".")
        for operator in OPERATORS:
            for edit in operator(source, node):
                if function and not function.endswith(_CONSTRUCTOR) and not isinstance(node, ast.ClassDef):
                    yield function, edit
        waiting.extend((function, child) for child in reversed([*ast.iter_child_nodes(node)]))


def _compiles(text: str) -> bool:
    try:
        compile(text, "mutant", "exec")
    except SyntaxError:
        return False
    return True
