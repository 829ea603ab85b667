"""The kinds of faults: each puts its fault where it belongs, and nowhere else."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent

import pytest

from omni_ipc.errors import UsageError
from omni_ipc.workflows.mutants.catalogue import catalogue

ROOT = Path(__file__).parents[2]

FAULTS = {
    "lock removed": (
        'with self._rt.region("A.B", self._lock, output=output):\n    self.x = y\n',
        'with self._rt.region("A.B", None, output=output):\n    self.x = y\n',
    ),
    "lock removed, of its own": ("with self._lock:\n    self.x = y\n", "if True:\n    self.x = y\n"),
    "lock taken late": (
        "with self._lock:\n    if self.closed:\n        return\n    self.x = y\n",
        "if self.closed:\n    return\nwith self._lock:\n    self.x = y\n",
    ),
    "lock given back early": (
        "with self._lock:\n    self.x = y\n    self.go()\n",
        "with self._lock:\n    self.x = y\nself.go()\n",
    ),
    "swapped": (
        "self.words.store(0, count)\nself.words.store(1, position)\n",
        "self.words.store(1, position)\nself.words.store(0, count)\n",
    ),
    "wake dropped": ("self._changed.notify_all()\n", "pass\n"),
    "wake narrowed": ("self._changed.notify_all()\n", "self._changed.notify()\n"),
    "while as if": (
        "while not self.ready:\n    self._changed.wait()\n",
        "if not self.ready:\n    self._changed.wait()\n",
    ),
    "fence dropped": ("self.words.fence()\n", "pass\n"),
    "timeout ignored": ("self.link.receive(timeout=left)\n", "self.link.receive(timeout=1e9)\n"),
    "cleanup skipped": ("try:\n    go()\nfinally:\n    self.close()\n", "try:\n    go()\nfinally:\n    pass\n"),
    "cleanup skipped, of an error": (
        "try:\n    go()\nexcept OSError:\n    self.x = y\n    raise\n",
        "try:\n    go()\nexcept OSError:\n    pass\n    raise\n",
    ),
    "update dropped": ("self.sent += 1\n", "pass\n"),
}


def checkout(folder: Path, body: str, *, of: str = "def method(self):") -> Path:
    """A checkout with one module that has one method."""
    room = folder / "omni_ipc" / "serving"
    room.mkdir(parents=True)
    indented = "".join(f"        {line}\n" for line in body.splitlines())
    text = f"from omni_ipc.seam.api import Runtime\n\n\nclass Thing:\n    {of}\n{indented}"
    (room / "thing.py").write_text(text)
    return folder


def mutated(root: Path) -> dict[str, str]:
    """The bodies that the method has in the mutants, by the kinds of their faults."""
    lines = (root / "omni_ipc" / "serving" / "thing.py").read_text().splitlines()
    return {mutant.edit.operator: dedent("\n".join(mutant.edit.apply(lines)[5:])) + "\n" for mutant in catalogue(root)}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_put_where_it_belongs(fault: str, tmp_path: Path) -> None:
    """The text around it stays as it is."""
    before, after = FAULTS[fault]
    assert mutated(checkout(tmp_path, before))[fault.partition(",")[0]] == after


@pytest.mark.parametrize(
    "body",
    [
        "while True:\n    go()\n",
        "value = self.take()\nself.put(value)\n",
        'with self._rt.region("A.B", None):\n    self.x = y\n',
        "self.link.receive(timeout=0.5)\n",
        "with open(path):\n    one()\n    two()\n",
    ],
)
def test_what_would_be_no_fault_or_would_not_run_is_left_alone(body: str, tmp_path: Path) -> None:
    """A loop without condition, a use before its value, no lock, a timeout that is no variable, no lock at all."""
    with pytest.raises(UsageError, match="No mutant is named"):
        catalogue(checkout(tmp_path, body))


def test_a_lock_may_be_given_back_before_a_value_that_only_this_task_knows_is_returned(tmp_path: Path) -> None:
    """Nobody could tell; but where it is still to be read, somebody may."""
    early = "lock given back early"
    for given in ("x", "len(x)"):
        body = f"with self._lock:\n    x = self.x\n    return {given}\n"
        assert early not in mutated(checkout(tmp_path / given, body))
    assert early in mutated(checkout(tmp_path / "read", "with self._lock:\n    self.x = 1\n    return self.y\n"))


def test_constructors_are_left_alone(tmp_path: Path) -> None:
    """Nobody else is there yet."""
    with pytest.raises(UsageError, match="No mutant"):
        catalogue(checkout(tmp_path, "self.sent += 1\n", of="def __init__(self):"))


def test_a_name_stays_when_lines_above_are_edited_and_the_digest_changes_with_the_code(tmp_path: Path) -> None:
    """So that a judgement holds as long as what was judged."""
    (one,) = catalogue(checkout(tmp_path / "one", "self.sent += 1\n"))
    (lower,) = catalogue(checkout(tmp_path / "lower", "go()\ngo()\ngo()\nself.sent += 1\n"))
    (other,) = catalogue(checkout(tmp_path / "other", "self.sent += 2\n"))
    assert one.name == lower.name == other.name == "serving/thing.py:Thing.method:update-dropped"
    assert one.digest != other.digest


def test_the_product_has_enough_of_them_and_each_differs_from_it_and_compiles() -> None:
    """150 at least, of every kind; no two of one name."""
    mutants = catalogue(ROOT)
    assert len(mutants) >= 150
    assert {mutant.edit.operator for mutant in mutants} == {fault.partition(",")[0] for fault in FAULTS}
    assert len({mutant.name for mutant in mutants}) == len(mutants)
    for mutant in mutants:
        text = (ROOT / mutant.path).read_text()
        changed = "\n".join(mutant.edit.apply(text.splitlines()))
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text))
        compile(changed, mutant.path, "exec")


def test_a_pattern_that_fits_nothing_is_told() -> None:
    """With the command that shows the names."""
    with pytest.raises(UsageError, match="omni-ipc mutants --list"):
        catalogue(ROOT, "serving/nothing*")
