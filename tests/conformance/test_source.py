"""Text of a module by places in it."""

from __future__ import annotations

import pytest

from omni_ipc.conformance.models.source import Region, Source

MODULE = """\
(* One line. *)
A == 1
(* First. *)
(* Second
   goes on. *)
B == 2

(* Apart from it. *)

C == /\\ 3  \\* why
     /\\ (* what *) 4
\\* Of another
\\* kind.
D == 5 (* behind *)
E == 6
"""


def test_a_region_keeps_its_columns() -> None:
    """What stands before it is blank, so that a list of conjuncts stays one."""
    source = Source(MODULE)
    assert source.code(Region(10, 6, 11, 20)) == "     /\\ 3  \\* why\n     /\\ (* what *) 4"
    assert source.code(Region(10, 9, 10, 9)) == "        3"
    assert source.code_before(Region(10, 1, 11, 20), Region(10, 9, 10, 9)) == "C == /\\ \n"


def test_in_one_line_it_has_no_comments() -> None:
    """Of either kind."""
    assert Source(MODULE).text(Region(10, 6, 11, 20)) == "/\\ 3 /\\ 4"


@pytest.mark.parametrize(
    ("line", "comment"),
    [
        (2, "One line."),
        (6, "First. Second goes on."),
        (10, ""),
        (14, "Of another kind."),
        (15, ""),
        (1, ""),
    ],
)
def test_the_comment_right_above_is_found(line: int, comment: str) -> None:
    """In boxes or behind backslashes, over several lines; not one that stands apart, or behind something."""
    assert Source(MODULE).comment_above(line) == comment
