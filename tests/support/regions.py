"""The regions that code opens, by the names in its source."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.support.lanes import ROOT


def regions_of(*rooms: str) -> frozenset[str]:
    """List the regions of modules: of files, or of all files in a folder, from the project's root on."""
    paths = [path for room in rooms for path in _modules(ROOT / room)]
    return frozenset(name for path in paths for name in _opened(ast.parse(path.read_text())))


def _modules(path: Path) -> list[Path]:
    return [path] if path.is_file() else sorted(path.glob("*.py"))


def _opened(tree: ast.AST) -> list[str]:
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute))
    return [ast.literal_eval(call.args[0]) for call in calls if call.func.attr == "region"]  # type: ignore[attr-defined]
