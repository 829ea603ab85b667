"""Configuration files of TLC."""

from __future__ import annotations

from pathlib import Path

import pytest

from omni_ipc.conformance.models.configuration import Configuration
from omni_ipc.errors import UsageError
from omni_ipc.values import normal

TEXT = """\
CONSTANTS \\* the bounds
    Outputs = {"a",
               "b"}
    Limit = 3 (* CONSTANT Hidden = 1 *)
    PumpUnpack <- PumpUnpack_Bug
SPECIFICATION FairSpec
INVARIANTS TypeOK
    NoStrandedOutputInv
PROPERTY EveryWaitServedProp
"""


def test_assignments_overrides_and_claims_are_read(tmp_path: Path) -> None:
    """Comments are none of them; sets may go over lines."""
    (tmp_path / "x.cfg").write_text(TEXT)
    configuration = Configuration.load(tmp_path / "x.cfg")
    assert configuration.specification == "FairSpec"
    assert configuration.constants == {"Outputs": frozenset({"a", "b"}), "Limit": 3}
    assert configuration.overrides == {"PumpUnpack": "PumpUnpack_Bug"}
    assert configuration.twins == {"PumpUnpack"}
    assert configuration.invariants == ("TypeOK", "NoStrandedOutputInv")
    assert configuration.properties == ("EveryWaitServedProp",)
    assert configuration.bounds == 'Outputs = {"a", "b"}, Limit = 3, PumpUnpack <- PumpUnpack_Bug'


def test_model_values_are_written_as_such(tmp_path: Path) -> None:
    """A name without quotes stands for itself; one that no constant is called like is to be declared."""
    (tmp_path / "x.cfg").write_text(
        'SPECIFICATION Spec\nCONSTANTS\n n1 = n1\n Nodes = {n1, n2}\n Ids = {"n3"}\n On = TRUE\n'
    )
    configuration = Configuration.load(tmp_path / "x.cfg")
    assert configuration.model_values == {"n1", "n2"}
    assert configuration.undeclared == ("n2",)
    value = normal({"n1": ("n2", {"n3", "n1"}), "n2": True})
    assert configuration.literal(value) == '(n1 :> <<n2, {"n3", n1}>> @@ n2 :> TRUE)'


def test_a_missing_file_and_a_bad_constant_are_told(tmp_path: Path) -> None:
    """Both errors name the file."""
    with pytest.raises(UsageError, match=r"Cannot read '.*none.cfg': No such file"):
        Configuration.load(tmp_path / "none.cfg")
    (tmp_path / "bad.cfg").write_text("CONSTANT Outputs = {a\nSPECIFICATION Spec\n")
    with pytest.raises(UsageError, match=r"bad.cfg' assigns a constant badly. .* found the end"):
        Configuration.load(tmp_path / "bad.cfg")


@pytest.mark.parametrize("text", ["", "x\n", "\\* SPECIFICATION Spec\n", "CONSTANTS\n", "INIT Init\n"])
def test_a_file_that_names_no_behaviours_is_told(tmp_path: Path, text: str) -> None:
    """Empty, without a keyword, or half of what it takes: TLC would only say that it was given nothing."""
    (tmp_path / "x.cfg").write_text(text)
    with pytest.raises(UsageError, match=r"x\.cfg' has no SPECIFICATION\. .*: SPECIFICATION Spec\."):
        Configuration.load(tmp_path / "x.cfg")


def test_init_and_next_name_the_behaviours_too(tmp_path: Path) -> None:
    """A section may be empty."""
    (tmp_path / "x.cfg").write_text("CONSTANTS\nINIT Init\nNEXT Next\n")
    assert Configuration.load(tmp_path / "x.cfg").constants == {}
