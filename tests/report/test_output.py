"""What commands print: text of others is shown as it is."""

from __future__ import annotations

import pytest

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
