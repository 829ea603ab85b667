"""docs/protocol.md is what the code does: its names, defaults and quoted messages are the code's own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from omni_ipc import errors
from omni_ipc.scenarios import DEFECTS
from omni_ipc.serving import messages, results
from omni_ipc.serving.engine_config import EngineConfig
from tests.support.documents import DOCS, ROOT

PAGE = (DOCS / "protocol.md").read_text()
SERVING = [*(ROOT / "omni_ipc/serving").glob("*.py"), *(ROOT / "omni_ipc/transport").glob("*.py")]


def table(head: str) -> list[list[str]]:
    """Give the rows of the table with this first column, without code marks."""
    (rows,) = re.findall(rf"^\| {head} \|.*\n\|.*\n((?:\|.*\n)+)", PAGE, re.MULTILINE)
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in rows.splitlines()]


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_the_messages_are_those_of_the_code() -> None:
    """All of them, and no other."""
    assert {row[0] for row in table("message")} == {
        kind.__name__ for kind in (*get_args(messages.Command), *get_args(messages.Reply))
    }


def test_times_and_their_defaults_are_those_of_the_configuration() -> None:
    """Every setting that is a time, with its default."""
    defaults = {name: getattr(EngineConfig(), name) for name in EngineConfig.__struct_fields__}
    assert {row[0]: float(row[1]) for row in table("setting")} == {
        name: value for name, value in defaults.items() if name.endswith("_s")
    }


def test_the_outcomes_are_those_of_the_code() -> None:
    """In the contract's first sentence."""
    (told,) = re.findall(r"exactly one outcome: (.*?) \|", PAGE)
    assert {word.replace(" ", "_") for word in re.split(r", | or ", told)} == {each.value for each in results.Outcome}


def test_every_guarantee_names_a_test_that_exists() -> None:
    """The link leads to its file, and the file has the test; each sentence of the contract has one."""
    rows = re.findall(r"^\| (.+) \| \[(\S+)\]\((\S+)\)::(test_\w+) \|$", PAGE, re.MULTILINE)
    assert [row[0][0] for row in rows if row[0][0].isdigit()] == list("1234567")
    for _, path, link, name in rows:
        assert (DOCS / link).resolve() == ROOT / path
        assert re.search(rf"^def {name}\(", (ROOT / path).read_text(), re.MULTILINE), name


CROSSINGS = (
    "abort, batch, shutdown",
    "timeout, arrival",
    "drain, kill",
    "reuse, late output",
    "cancel, unpack",
    "two engines in one process",
)


def test_every_crossing_names_a_test_that_exists_and_its_verdict() -> None:
    """A test that exhausts its orders may say "holds"; one that samples them says "bounded"."""
    rows = table("crossing")
    assert tuple(row[0] for row in rows) == CROSSINGS
    for _, shown, verdict in rows:
        path, name = re.fullmatch(r"\[(\S+)\]\(\S+\)::(test_\w+)", shown).groups()  # type: ignore[union-attr]
        (body,) = re.findall(rf"^((?:@.*\n)*)def {name}\((.*?)(?=^def |^@|\Z)", (ROOT / path).read_text(), re.M | re.S)
        exhausts = re.search(r"exhaust\b|dpor|Verdict\.HOLDS", "".join(body))
        assert verdict.startswith("holds" if exhausts else "bounded"), name


def test_each_failure_names_an_error_that_exists() -> None:
    """Of the one tree of errors."""
    named = set(re.findall(r"`([A-Z][A-Za-z]+)`", section("When something fails")))
    known = {name for name in vars(errors) if isinstance(getattr(errors, name), type)}
    assert named & known >= {"PeerDied", "PeerFailed", "Timeout", "Aborted", "Full", "ShutdownError", "InternalError"}
    assert named <= known | {"HostGroup"}


def test_every_message_that_is_quoted_stands_in_the_code() -> None:
    """Word for word; what an ellipsis stands for may be anything."""
    said = "\n".join(text for path in (*SERVING, ROOT / "omni_ipc/errors.py") for text in literals(path))
    quoted = [" ".join(words.split()) for words in re.findall(r'"([^"]+)"', section("When something fails"))]
    assert len(quoted) >= 14
    for sentence in quoted:
        if sentence == "The worker process … died: killed by SIGKILL":  # put together of three parts
            continue
        for part in filter(None, (part.strip(" .,:'()=;") for part in sentence.split("…"))):
            assert part in said, sentence


def literals(path: Path) -> Iterator[str]:
    """Give the texts of a module, with nothing in place of what is filled in."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "" for part in node.values)  # type: ignore[misc]


def test_code_that_is_named_exists() -> None:
    """Methods by their class, functions and files."""
    source = "\n".join(path.read_text() for path in SERVING)
    for name in re.findall(r"`(?:\w+\.)?([a-z_]\w+)(?:\(\))?`", PAGE.partition("## The field's defects")[0]):
        assert re.search(rf"\b{name}\b", source), name


def test_every_defect_is_told_with_the_scenario_that_shows_it() -> None:
    """All twenty of the field; one is of a historical part that no scenario has any more."""
    told = {row[0]: row[2] for row in table("defect")}
    assert told.pop("view_storage_packing") == "none"
    assert told == {name: defect.scenario for name, defect in DEFECTS.items()}
    assert len(told) == 19
