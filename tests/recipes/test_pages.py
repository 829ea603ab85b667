"""The pages on CI and on machines: commands say what they should, and what they name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.support.documents import DOCS, ROOT, check_commands

PAGES = ["ci.md", "gpu-node.md", "many-machines.md"]


def test_commands_of_the_page_on_machines_say_what_they_should(tmp_path: Path) -> None:
    """As a reader would run them."""
    folder = tmp_path / "reader"
    folder.mkdir()
    check_commands((DOCS / "how-to" / "many-machines.md").read_text(), folder, width=96)


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_links_to_is_there(page: str) -> None:
    """Relative links lead somewhere."""
    path = DOCS / "how-to" / page
    links = re.findall(r"\]\(([^)#:]+)\)", path.read_text())
    assert links
    for link in links:
        assert (path.parent / link).exists(), link


@pytest.mark.parametrize("page", PAGES)
def test_scripts_that_a_page_calls_are_there(page: str) -> None:
    """All files of stress/ that its commands name."""
    text = (DOCS / "how-to" / page).read_text()
    for name in re.findall(r"\bstress/([\w-]+\.(?:sh|yml|yaml|sbatch))", text):
        assert (ROOT / "stress" / name).is_file(), name


def test_the_page_on_ci_names_what_the_workflow_takes() -> None:
    """Each variable, and each job with what it leaves."""
    page = (DOCS / "how-to" / "ci.md").read_text()
    workflow = yaml.safe_load((ROOT / "stress" / "github-workflow.yml").read_text())
    told = set(re.findall(r"`([A-Z_]{5,})`", page))
    assert told == workflow["env"].keys() - {"NO_COLOR"}
    for name, job in workflow["jobs"].items():
        (row,) = re.findall(rf"^\| `{name}` \| .*$", page, re.MULTILINE)
        scripts = "\n".join(step.get("run", "") for step in job["steps"])
        for left in re.findall(r"`(\w+\.(?:xml|json|html))`", row):
            assert f"results/{left}" in scripts, left
