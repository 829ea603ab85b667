"""The workflow for GitHub: its steps are run, in order, as GitHub would run them, with budgets of seconds."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.documents import ROOT, programs

WORKFLOW = yaml.safe_load((ROOT / "stress" / "github-workflow.yml").read_text())
TINY = {
    "MODELS": "FutureOrphan/design",
    "EXPLORE_SECONDS": "3",
    "REPEAT": "1",
    "SOAK_MINUTES": "0.1",
}
FEW = ("split_map.late_split_map", "future_orphan.unpack_outside_lock")
_EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """The environment of a runner in a checkout that has two traces."""
    traces = tmp_path / "checkout" / WORKFLOW["env"]["TRACES"]
    traces.mkdir(parents=True)
    for name in FEW:
        shutil.copy(ROOT / "tests" / "bugs" / f"{name}.trace.json", traces)
    assert WORKFLOW["env"].keys() >= TINY.keys()
    cache = {"OMNI_IPC_TLC_CACHE": os.environ["OMNI_IPC_TLC_CACHE"]}
    return {**os.environ, **WORKFLOW["env"], **TINY, **cache, **programs(tmp_path / "bin")}


def ran(job: str, folder: Path, env: Mapping[str, str]) -> Path:
    """Run the steps of a job, but for what sets the runner up; return the folder of its results."""
    known = {f"matrix.{name}": values[0] for name, values in _matrix(job).items()}
    for step in WORKFLOW["jobs"][job]["steps"]:
        if "run" not in step or _installs(step):
            continue
        own = {
            name: _EXPRESSION.sub(lambda found: known[found[1]], value) for name, value in step.get("env", {}).items()
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=folder,
            env={**env, **own},
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )
        assert done.returncode == 0, f"{step['name']}: {done.stdout}\n{done.stderr}"
    return folder / "results"


def _installs(step: Mapping[str, Any]) -> bool:
    return step.get("run", "").startswith("pip install")  # type: ignore[no-any-return]


def _matrix(job: str) -> Mapping[str, list[str]]:
    return WORKFLOW["jobs"][job].get("strategy", {}).get("matrix", {})  # type: ignore[no-any-return]


def told(junit: Path) -> list[tuple[str, bool]]:
    """Give the cases of a JUnit file, and whether each passed."""
    return [
        (str(case.get("name")), case.find("failure") is None and case.find("error") is None)
        for case in ET.parse(junit).getroot().iter("testcase")
    ]


def test_the_models_are_checked(tmp_path: Path, shell: dict[str, str]) -> None:
    """And a second run takes from the cache what TLC said in the first."""
    for _ in range(2):
        results = ran("models", tmp_path / "checkout", shell)
    cases = told(results / "models.xml")
    assert cases
    assert all(passed for _, passed in cases)
    assert '"is_kept": true' in (results / "models.json").read_text()


def test_a_scenario_is_explored(tmp_path: Path, shell: dict[str, str]) -> None:
    """By several processes, and told as a case."""
    results = ran("explore", tmp_path / "checkout", shell)
    assert told(results / "explore.xml") == [("split_map", True)]
    assert (results / "explore.json").stat().st_size


@pytest.mark.torch
def test_the_collection_is_replayed(tmp_path: Path, shell: dict[str, str]) -> None:
    """Under control, and on worker processes; each trace is a case of both."""
    results = ran("collection", tmp_path / "checkout", shell)
    controlled, processes = (told(results / junit) for junit in ("controlled.xml", "processes.xml"))
    assert [len(controlled), len(processes)] == [2 * len(FEW), len(FEW)]  # pytest tells reference and defect apart
    assert all(passed for _, passed in controlled + processes)


@pytest.mark.soak
@pytest.mark.torch
@pytest.mark.timeout(1_200)  # most of it is pip's
def test_what_is_installed_is_enough_for_this_collection(tmp_path: Path) -> None:
    """In an environment that has nothing else, the collection of this checkout is replayed under control."""
    install, replay, *_ = (step["run"] for step in WORKFLOW["jobs"]["collection"]["steps"] if "run" in step)
    programs = tmp_path / "runner" / "bin"
    subprocess.run([sys.executable, "-m", "venv", programs.parent], check=True)
    with_torch = f"-c {ROOT}/scripts/constraints.txt torch {install.removeprefix('pip install')}"
    env = {**os.environ, **WORKFLOW["env"], "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    for script in (f"pip install --quiet {with_torch}", replay.replace("results", str(tmp_path / "results"))):
        subprocess.run(["bash", "-eo", "pipefail", "-c", script], cwd=ROOT, env=env, check=True, timeout=1_000)
    assert len(told(tmp_path / "results" / "controlled.xml")) == 2 * len([*(ROOT / "tests" / "bugs").glob("*.json")])


@pytest.mark.soak
@pytest.mark.torch
def test_a_night_is_soaked(tmp_path: Path, shell: dict[str, str]) -> None:
    """And leaves an account, and a page."""
    results = ran("soak", tmp_path / "checkout", shell)
    assert (results / "soak.json").stat().st_size
    assert "<html" in (results / "soak.html").read_text()


def test_every_job_is_bounded_and_leaves_what_it_found() -> None:
    """Also if it has failed; and what is kept of TLC is what the command keeps."""
    steps: list[Any] = []
    for name, job in WORKFLOW["jobs"].items():
        assert job["timeout-minutes"] <= 120, name
        *_, last = job["steps"]
        assert last["uses"].startswith("actions/upload-artifact@v"), name
        assert (last["if"], last["with"]["path"]) == ("always()", "results")
        steps += job["steps"]
    restored, saved = (step for step in steps if step.get("uses", "").startswith("actions/cache/"))
    assert (restored["uses"], saved["uses"]) == ("actions/cache/restore@v4", "actions/cache/save@v4")
    assert saved["if"] == "always()"
    assert restored["with"] == {**saved["with"], "restore-keys": "tlc-"}
    assert saved["with"]["path"] == WORKFLOW["env"]["OMNI_IPC_TLC_CACHE"]


def test_a_step_that_fails_fails_the_job(tmp_path: Path, shell: dict[str, str]) -> None:
    """A scenario that is violated is told as a failure, and its trace is among the results."""
    checkout = tmp_path / "checkout"
    (checkout / "own.py").write_text(
        "def fails(rt):\n    rt.spawn(lambda: None).join()\n    raise ValueError('never')\n"
    )
    script = next(step["run"] for step in WORKFLOW["jobs"]["explore"]["steps"] if "explore" in step.get("run", ""))
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=checkout,
        env={**shell, "SCENARIO": "own.py:fails"},
        capture_output=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 1
    assert told(checkout / "results" / "explore.xml") == [("own.py:fails", False)]
    assert (checkout / "results" / "own.fails.trace.json").is_file()
