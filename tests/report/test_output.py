"""What commands print: text of others is shown as it is."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from omni_ipc.cli.ending import end
from omni_ipc.errors import UnknownName, UsageError
from omni_ipc.report.output import Output, table


@pytest.mark.parametrize("text", ["pip install 'omni-ipc[bench]'", "[bold]loud", "[/]", "\\[a]", "a [link=x]y[/link]"])
def test_a_cell_and_a_title_are_shown_letter_by_letter(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """No square bracket of theirs is taken for markup."""
    Output(None).say(table((text, "why"), [("subject", text)]))
    assert capsys.readouterr().out.count(text) == 2


def test_a_line_is_shown_letter_by_letter(capsys: pytest.CaptureFixture[str]) -> None:
    """As in tables."""
    Output(None).say("pip install 'omni-ipc[bench]'")
    assert capsys.readouterr().out == "pip install 'omni-ipc[bench]'\n"


def test_a_file_that_cannot_be_written_keeps_no_other_from_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The result is written first; what failed is told, and decides only where all is as claimed."""

    def refuse() -> None:
        raise UsageError("No space left.")

    for code in (1, 3, 0):
        result, page = tmp_path / f"{code}.json", tmp_path / f"{code}.html"
        out = Output(str(result))
        with pytest.raises(UsageError, match="No space left") if code == 0 else contextlib.nullcontext():
            assert out.write("explore", code, "found", refuse, page.touch) == code
        assert result.exists()
        assert page.exists()
    assert capsys.readouterr().err == "omni-ipc: No space left.\n" * 2


def test_a_list_of_names_is_broken_where_the_terminal_ends_and_a_command_is_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between names; what is to be copied stays in one line."""
    monkeypatch.setenv("COLUMNS", "60")
    known = [f"name_{number}" for number in range(30)]
    for error in (UnknownName("defect", "?", known), UsageError(f"Run: pip install {' '.join(known)}")):

        def command(error: UsageError = error) -> int:
            raise error

        assert end(command) == 2
    *names, last = capsys.readouterr().err.splitlines()
    assert max(map(len, names)) <= 60
    assert " ".join(" ".join(names).split()) == f"omni-ipc: There is no defect '?'. Known: {', '.join(sorted(known))}."
    assert last == f"omni-ipc: Run: pip install {' '.join(known)}"
