"""Campaigns: what is believed, what is kept, and how one is interrupted."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from omni_ipc.cli.mutants import mutants as command_of
from omni_ipc.errors import UsageError
from omni_ipc.report.endings import ending_of
from omni_ipc.workflows import mutating
from omni_ipc.workflows.mutants.attacks import Kind
from omni_ipc.workflows.mutants.campaign import Campaign
from omni_ipc.workflows.mutants.catalogue import catalogue
from omni_ipc.workflows.mutants.notes import Notes
from tests.mutants.small import LOST, SENT, Small, attack, ends
from tests.support.commands import Command

pytest.importorskip("coverage")
SEES_SENT = attack("sees", "assert thing.sent")


@pytest.fixture
def small(tmp_path: Path) -> Small:
    """A checkout with two mutants."""
    return Small(tmp_path)


def test_a_mutant_is_killed_by_who_notices_it_and_the_other_survives(small: Small) -> None:
    """An attack that fails on the product is of no use, nor is one that does not run the fault's lines."""
    broken = attack("broken", "assert False")
    elsewhere = attack("elsewhere", "None")
    elsewhere = msgspec.structs.replace(elsewhere, arguments=("json.tool", "--help"))
    fates = small.run(broken, elsewhere, SEES_SENT)
    assert ends(fates[SENT]) == [("sees", "failed")]
    assert fates[SENT].killer == fates[SENT].tried[0]
    assert ends(fates[LOST]) == [("sees", "noticed nothing")]
    assert fates[LOST].killer is None


def test_a_search_that_ends_inconclusive_is_undecided_and_the_next_attack_is_tried(small: Small) -> None:
    """Exit code 3 says nothing of a fault; a test has no such code."""
    search = attack("search", "sys.exit(0 if thing.sent else 3)")
    test = attack("test", "sys.exit(0 if thing.sent else 3)", Kind.TESTS)
    assert ends(small.run(search, test)[SENT]) == [("search", "undecided"), ("test", "failed")]


@pytest.mark.parametrize("end", ["sys.exit(2)", "__import__('os').abort()"])
def test_a_search_that_the_machine_is_in_the_way_of_is_undecided(end: str, small: Small) -> None:
    """It was given no memory, or lacks something: that is no verdict."""
    search = attack("search", f"thing.sent or {end}")
    assert ends(small.run(search, only=SENT)[SENT]) == [("search", "undecided")]


def test_who_hangs_on_a_mutant_and_not_on_the_product_has_noticed_it(tmp_path: Path) -> None:
    """The process is ended, and the product is looked at again for comparison."""
    small = Small(tmp_path, attack_s=8.0)
    fates = small.run(attack("hangs", "thing.sent or Event().wait()"))
    assert ends(fates[SENT]) == [("hangs", "hangs")]
    assert fates[SENT].killer is not None


@pytest.mark.parametrize(
    ("what", "attack_s"),
    [
        ("thing.sent or Path('odd').touch()\nassert not Path('odd').exists()", 60.0),
        ("thing.sent or Path('odd').touch()\nPath('odd').exists() and Event().wait()", 4.0),
    ],
)
def test_what_the_product_does_as_well_is_no_kill(what: str, attack_s: float, tmp_path: Path) -> None:
    """A test that fails, or hangs, on the product right after it did on the mutant."""
    small = Small(tmp_path, attack_s=attack_s)
    fates = small.run(attack("flaky", what, Kind.TESTS), only=SENT)
    assert ends(fates[SENT]) == [("flaky", "undecided")]
    assert fates[SENT].killer is None


def test_a_campaign_goes_on_with_what_is_known(small: Small) -> None:
    """No attack is run twice on a mutant, and none on one that was killed."""
    log = small.root.parent / "log"
    note = f"Path({str(log)!r}).open('a').write(f'{{thing.sent}}{{thing.lost}} ')"
    first = attack("first", f"{note}\nassert thing.sent")
    second = attack("second", f"{note}\nassert thing.lost", Kind.EXPLORE)
    small.run(first)
    assert log.read_text().split() == ["11", "01", "10"]
    fates = small.run(first, second)
    assert log.read_text().split() == ["11", "01", "10", "11", "10"]
    assert ends(fates[LOST]) == [("first", "noticed nothing"), ("second", "failed")]


def test_what_a_busy_machine_left_undecided_is_tried_again(small: Small) -> None:
    """By whoever goes on with the campaign; and until then it is told beside what survived."""
    busy = small.root.parent / "busy"
    busy.touch()
    meets = attack(
        "meets", f"sys.exit(3) if Path({str(busy)!r}).exists() and not thing.sent else None\nassert thing.sent"
    )
    assert small.run(meets, only=SENT)[SENT].in_words == (
        "noticed by none of 1 that were tried, of which 1 decided nothing: the same command tries these again"
    )
    busy.unlink()
    assert ends(small.run(meets, only=SENT)[SENT]) == [("meets", "failed")]


def test_a_campaign_is_refused_after_an_edit(small: Small) -> None:
    """What is known is about another text; and what is no campaign is no ground to stand on."""
    small.run(SEES_SENT)
    (small.root / "README.md").write_text("edited")
    with pytest.raises(UsageError, match="edited since"):
        small.run(SEES_SENT)
    (small.state / "mutants.json").write_text("{}")
    with pytest.raises(UsageError, match="no campaign of this version"):
        small.run(SEES_SENT)


def test_a_checkout_that_is_edited_before_it_is_copied_is_told(small: Small) -> None:
    """What is made of the copy would be noted as of the text before."""
    campaign = Campaign(small.notes, small.root, jobs=1, attack_s=60.0)
    (small.root / "README.md").write_text("edited")
    with pytest.raises(UsageError, match="edited while it was copied"):
        campaign.run(catalogue(small.root, None), [SEES_SENT], lambda *_: None)


def test_what_is_written_of_a_campaign_is_no_edit(small: Small) -> None:
    """Judgements, matrix and page: it goes on behind them."""
    small.run(SEES_SENT)
    before = small.notes.fates()
    for name in ("docs/mutants.md", "tests/mutants/judged.json"):
        path = small.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}")
    assert small.notes.fates() == before != []


def test_an_interrupted_campaign_keeps_what_it_knew_and_takes_no_killed_attack_for_a_kill(
    small: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The attack that was under way says nothing: it is run again."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    hangs = attack("hangs", "thing.lost or Event().wait()")

    def interrupt(done: str, *_: int) -> None:
        if done.startswith(SENT):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        small.run(hangs, SEES_SENT, jobs=2, progress=interrupt)
    assert not [*temporary.iterdir()]
    sent, lost = (small.notes.fate(mutant) for mutant in catalogue(small.root))
    assert ("sees", "failed") in ends(sent)
    assert ("hangs", "noticed nothing") not in ends(lost)
    assert lost.killer is None
    again = small.run(SEES_SENT)
    assert again[SENT] == sent
    assert ("sees", "noticed nothing") in ends(again[LOST])


@pytest.fixture
def called(small: Small, monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """The command on this checkout, with one attack."""
    (small.root / "tests" / "mutants").mkdir()
    (small.root / "tests" / "mutants" / "judged.json").write_text("{}")
    monkeypatch.setattr(mutating, "find_checkout", lambda: small.root)
    monkeypatch.setattr(mutating, "attacks", lambda _: [SEES_SENT])
    return lambda: command_of(None, small.state, 1, None, False, False, None)


def test_where_there_is_no_terminal_a_line_tells_what_begins_and_another_what_came_of_it(
    called: Callable[[], int], capsys: pytest.CaptureFixture[str]
) -> None:
    """It takes minutes, and all of them hours; gone on with, it tells only of what is still to do."""
    called()
    said = capsys.readouterr()
    told = re.sub(r"[\d.]+ s\n", "… s\n", said.err)
    assert told.splitlines() == [
        "0 of 1: what each attack does on the product as it is; then 2 mutants",
        "1 of 1: sees on the product as it is: noticed nothing, … s",
        "0 of 2: attacks on each mutant, until one notices it",
        f"1 of 2: {SENT}: noticed by sees, which failed, … s",
        f"2 of 2: {LOST}: noticed by none of 1 that were tried",
    ]
    called()
    assert capsys.readouterr() == (said.out, "")
    assert "\n✗ 50.0% of the mutants that are faults were killed by models" in said.out


def test_an_interrupted_campaign_says_what_is_kept_and_that_the_same_command_goes_on(
    called: Callable[[], int], small: Small, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is, it says that nothing is left."""

    def run(name: str) -> str:
        def interrupt(what: str, *_: object) -> None:
            if what.startswith(name):
                raise KeyboardInterrupt

        monkeypatch.setattr("omni_ipc.cli.mutants._line_by_line", lambda _: interrupt)
        with pytest.raises(KeyboardInterrupt) as interrupted:
            called()
        return ending_of(interrupted.value).sentence

    assert run("what each").endswith("nothing is left behind.")
    assert run("sees").endswith(f"concluded. '{small.state}' holds the campaign: the same command goes on with it.")


def test_ctrl_c_leaves_no_process_and_no_folder(tmp_path: Path) -> None:
    """In the middle of an attack on the product itself; what was known is kept."""
    words = ("mutants", "transport/stock.py:*", "--resume", "state", "--by", "conform")
    with Command(*words, cwd=tmp_path) as command:
        command.interrupt_when(lambda: command.started("omni_ipc conform"))
        ended = command.end()
    assert (ended.code, ended.survivors, ended.litter) == (3, [], [])
    assert "\nomni-ipc: Interrupted" in ended.err
    if (tmp_path / "state").exists():
        assert [path.name for path in (tmp_path / "state").iterdir()] == ["mutants.json"]
        with pytest.raises(UsageError, match="another state"):  # so that it is whole
            Notes(tmp_path / "state", "of something else")
