"""What the house style promises and a machine can check."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from omni_ipc.conformance.counterexample import region
from omni_ipc.conformance.manifest import load
from omni_ipc.scenarios import SCENARIOS

ROOT = Path(__file__).parents[1]
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))
PRODUCT = sorted(path for room in ("serving", "transport") for path in (ROOT / "omni_ipc" / room).glob("*.py"))


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.name)
def test_every_test_says_what_must_hold(path: Path) -> None:
    """Each test has a docstring, and an assertion, an expected error, or a helper that asserts."""
    for test in functions(path):
        if not test.name.startswith("test_"):
            continue
        assert ast.get_docstring(test), f"{path.name}: {test.name} has no docstring"
        assert re.search(r"assert|raises|check|expect|fail", ast.unparse(test)), f"{path.name}: {test.name} cannot fail"


def test_every_action_of_a_model_is_told_by_the_code_that_implements_it() -> None:
    """`Spec: X` stands in a docstring where the region of X is opened, for each action of the scenarios' models."""
    manifest = load()
    models = {scenario.model for scenario in SCENARIOS.values() if scenario.model is not None}
    actions = {action for model in models for action in manifest.specs[model].actions}
    told: set[str] = set()
    for path in PRODUCT:
        for function in functions(path):
            named = re.findall(r"Spec: (\w+)", ast.get_docstring(function) or "")
            source = ast.unparse(function)
            for action in named:
                assert action in actions, f"{path.name}: {function.name} implements {action}, which no model has"
                assert f"region('{region(action)}'" in source, f"{path.name}: {function.name} opens no {region(action)}"
            told.update(named)
    assert told == actions


def test_scenarios_name_the_regions_of_their_models() -> None:
    """A scenario's vocabulary is its model's actions, no more and no less, and each is played by a task."""
    manifest = load()
    for scenario in SCENARIOS.values():
        if scenario.model is None:
            assert not scenario.steps, scenario.name
            continue
        actions = manifest.specs[scenario.model].actions
        assert {action for _, action in scenario.steps} == {region(action) for action in actions}, scenario.name
        assert set(scenario.tasks) >= {region(action).partition(".")[0] for action in actions}, scenario.name


def test_the_product_speaks_of_no_runtime() -> None:
    """Which runtime it has is none of its business: only hosts, which build them from a spec, name one."""
    for path in PRODUCT:
        if path.name in ("host.py", "hosted.py"):
            continue
        assert not re.search(r"(Native|Controlled|Conducted|Recording)Runtime", path.read_text()), path


def test_only_legacy_parts_may_unpickle() -> None:
    """No module of the package imports pickle, or what unpickles behind one's back."""
    for path in sorted((ROOT / "omni_ipc").rglob("*.py")):
        if "legacy" in path.parts:
            continue
        imported = re.findall(
            r"^\s*(?:import|from) (pickle|cPickle|dill|cloudpickle|multiprocessing|shelve)\b", path.read_text(), re.M
        )
        assert not imported, path
