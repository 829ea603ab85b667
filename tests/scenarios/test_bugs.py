"""The saved traces of the field defects, one each: along it the defect shows, and the reference ends well.

They were saved by ``omni-ipc explore SCENARIO --defect DEFECT --save tests/bugs``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from omni_ipc.records import Trace, Verdict
from omni_ipc.scenarios import DEFECTS
from omni_ipc.testbed import Mode
from omni_ipc.workflows.replaying import replay

FOLDER = Path(__file__).parents[1] / "bugs"
SAVED = sorted(FOLDER.glob("*.trace.json"))


def test_each_defect_has_its_trace() -> None:
    """None is missing, and none is of a defect that is gone."""
    wanted = {f"{defect.scenario}.{name}.trace.json" for name, defect in DEFECTS.items()}
    assert {path.name for path in SAVED} == wanted, f"omni-ipc explore SCENARIO --defect DEFECT --save {FOLDER}"


@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.name.removesuffix(".trace.json"))
def test_a_saved_trace_shows_its_defect_and_the_reference_ends_well_along_it(path: Path) -> None:
    """Code that was edited since is followed as far as it has the same steps."""
    assert '"/' not in path.read_text().replace('\\"', '"'), "a path of the machine that saved it"
    trace = Trace.load(path)
    with_defect = replay(trace, defect=trace.defect, mode=Mode.TOLERANT)
    assert with_defect.verdict is Verdict.VIOLATED, with_defect.summary
    reference = replay(trace, mode=Mode.TOLERANT)
    assert reference.verdict is Verdict.ENDED_WELL, reference.failure or reference.summary
