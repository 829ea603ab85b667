"""What the house style promises and a machine can check."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from omni_ipc.conformance.counterexamples.counterexample import region
from omni_ipc.conformance.models.manifest import load
from omni_ipc.scenarios import SCENARIOS

ROOT = Path(__file__).parents[1]
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))
_ASSERTION = re.compile(r"assert|raises|check|expect|fail")
PRODUCT = sorted(path for room in ("serving", "transport") for path in (ROOT / "omni_ipc" / room).glob("*.py"))
WORLDS = sorted((ROOT / "omni_ipc" / "scenarios").glob("*.py"))


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.name)
def test_every_test_says_what_must_hold(path: Path) -> None:
    """Each test has a docstring, and an assertion, an expected error, or a call of a function here that has one."""
    asserting = {function.name for function in functions(path) if _ASSERTION.search(ast.unparse(function))}
    for test in functions(path):
        if not test.name.startswith("test_"):
            continue
        assert ast.get_docstring(test), f"{path.name}: {test.name} has no docstring"
        called = {
            node.func.id for node in ast.walk(test) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert test.name in asserting or called & asserting, f"{path.name}: {test.name} cannot fail"


def test_every_action_of_a_model_is_told_by_the_code_that_implements_it() -> None:
    """`Spec: X` stands where the region of X is opened: in the product, or in a world, for what it takes apart."""
    manifest = load()
    models = {scenario.model for scenario in SCENARIOS.values() if scenario.model is not None}
    actions = {action for model in models for action in manifest.specs[model].actions}
    faults = {action for scenario in SCENARIOS.values() for action in scenario.agents}  # no code implements them
    told: set[str] = set()
    for path in (*PRODUCT, *WORLDS):
        for function in functions(path):
            named = re.findall(r"Spec: (\w+)", ast.get_docstring(function) or "")
            source = ast.unparse(function)
            for action in named:
                assert action in actions, f"{path.name}: {function.name} implements {action}, which no model has"
                opens = (
                    f"region('{region(action)}'" if path in PRODUCT else f"'{region(action)}'"
                )  # or names it, in a world
                assert opens in source, f"{path.name}: {function.name} opens no {region(action)}"
            told.update(named)
    assert told == actions - faults


def test_scenarios_name_the_regions_of_their_models() -> None:
    """A scenario's vocabulary is its model's actions, no more and no less, and each is played by a task."""
    manifest = load()
    for scenario in SCENARIOS.values():
        if scenario.model is None:
            assert not scenario.steps, scenario.name
            continue
        actions = manifest.specs[scenario.model].actions.keys() - scenario.agents.keys()
        assert {action for _, action in scenario.steps} == {region(action) for action in actions}, scenario.name
        assert set(scenario.tasks) >= {region(action).partition(".")[0] for action in actions}, scenario.name


def test_the_product_speaks_of_no_runtime() -> None:
    """Which runtime it has is none of its business: only hosts, and the engine that starts them, name one."""
    for path in PRODUCT:
        if path.name in ("engine.py", "host.py", "hosted.py", "spec.py"):
            continue
        assert not re.search(r"(Native|Controlled|Conducted|Recording)Runtime", path.read_text()), path


UNPICKLERS = {"pickle", "_pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "joblib"}
LEGACY = ROOT / "omni_ipc" / "scenarios" / "legacy"
RIVALS = ROOT / "omni_ipc" / "workflows" / "bench" / "subjects"  # what ours is measured against may do as it likes


def unpicklers(source: str) -> set[str]:
    """Name what unpickles in a module: imports at any depth or by name, and calls that do it behind one's back."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                found |= {part for name in names for part in name.name.split(".")}
            case ast.ImportFrom(module=module, names=names):
                found |= {*(module or "").split("."), *(name.name for name in names)}
            case ast.Call(func=ast.Attribute(attr=called), args=[ast.Constant(value=str(module)), *_]):
                found |= {module} if called == "import_module" else set()
            case ast.Call(func=ast.Name(id="__import__"), args=[ast.Constant(value=str(module)), *_]):
                found.add(module)
            case ast.Attribute(value=ast.Name(id="torch" | "np" | "numpy" as library), attr="load" as attribute):
                found.add(f"{library}.{attribute}")
    return found & {*UNPICKLERS, "multiprocessing", "torch.load", "np.load", "numpy.load"}


def test_only_legacy_parts_may_unpickle() -> None:
    """No other module imports pickle, or what unpickles behind one's back; multiprocessing serves comparisons only."""
    users = {path: unpicklers(path.read_text()) for path in (ROOT / "omni_ipc").rglob("*.py")}
    historical = {LEGACY / "pickling.py", LEGACY / "fresh_segments.py"}
    assert {path for path, used in users.items() if used & UNPICKLERS} == historical
    assert {path.parent for path, used in users.items() if used} <= {LEGACY, RIVALS}


@pytest.mark.parametrize(
    "source",
    [
        "import os, pickle",
        "def f():\n    from pickle import loads",
        "from torch import multiprocessing",
        "import multiprocessing.connection",
        "importlib.import_module('dill')",
        "__import__('pickle')",
        "torch.load(file)",
    ],
)
def test_what_unpickles_is_seen(source: str) -> None:
    """However it is imported, and where it is not imported at all."""
    assert unpicklers(source)
