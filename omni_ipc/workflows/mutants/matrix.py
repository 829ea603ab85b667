"""Who noticed which mutant, as it is kept in the checkout, and the tables of it on the page about mutants.

A campaign of hours is run now and then, and what it came to is told until the next one: of the mutants as they were
then, which the digests say.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from omni_ipc.documents import read_document
from omni_ipc.errors import UsageError
from omni_ipc.records import write_atomically
from omni_ipc.workflows.mutants.attacks import How, Kind
from omni_ipc.workflows.mutants.catalogue import Mutant
from omni_ipc.workflows.mutants.judged import FILE as JUDGEMENTS
from omni_ipc.workflows.mutants.judged import Judged, judgement_of
from omni_ipc.workflows.mutants.notes import Fate

FILE = "tests/mutants/matrix.json"
PAGE = "docs/mutants.md"
BEGIN = "<!-- who noticed what: generated from tests/mutants/matrix.json -->\n"
END = "<!-- end of who noticed what -->\n"
NO_FAULT, NOBODY = "no fault", "nobody"


class Noticed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What became of one mutant.

    Args:
        digest: of the mutant that was attacked.
        attack: that noticed it; None if none has.
        tried: how many attacks that run its lines did not.
    """

    digest: str
    attack: str | None = None
    by: Kind | None = None
    how: How | None = None
    tried: int = 0


Matrix = Mapping[str, Noticed]


def load(checkout: Path) -> dict[str, Noticed]:
    """Read what is kept, by the names of mutants.

    Raises:
        UsageError: the file is missing or damaged.
    """
    path, remedy = checkout / FILE, "Restore it from version control."
    return read_document(path, dict[str, Noticed], missing=remedy, wrong="holds no matrix", remedy=remedy)


def record(checkout: Path, mutants: Sequence[Mutant], fates: Sequence[Fate], judged: Mapping[str, Judged]) -> Matrix:
    """Keep what became of all mutants of a checkout, in its file and on its page.

    Raises:
        UsageError: one of both cannot be written, or the page has no place for it.
    """
    matrix = {mutant.name: _noticed(mutant, fate) for mutant, fate in zip(mutants, fates, strict=True)}
    page = checkout / PAGE
    try:
        text = with_tables(page.read_text(), matrix, judged)
    except OSError as error:
        raise UsageError(f"Cannot read '{page}': {error.strerror}. Restore it from version control.") from None
    write_atomically(checkout / FILE, msgspec.json.format(msgspec.json.encode(matrix), indent=1) + b"\n")
    write_atomically(page, text.encode())
    return matrix


def with_tables(page: str, matrix: Matrix, judged: Mapping[str, Judged]) -> str:
    """A page whose tables agree with the matrix.

    Raises:
        UsageError: it has no place for them.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise UsageError(f"'{PAGE}' has lost its tables. Put {BEGIN.strip()} and {END.strip()} into it.")
    return before + BEGIN + tables(matrix, judged) + END + after


def tables(matrix: Matrix, judged: Mapping[str, Judged]) -> str:
    """What the matrix comes to: the share, the modules, the survivors, and each attack with what it noticed first."""
    ends = {name: _end(name, noticed, judged) for name, noticed in matrix.items()}
    left = [f"* `{name}`: {_why(name, matrix[name], judged)}" for name, end in ends.items() if end == NOBODY]
    lines = [
        _share(Counter(ends.values())),
        "",
        *_table(("module", "mutants", *(f"by {kind}" for kind in Kind), NO_FAULT, "by nobody"), _by_module(ends)),
        "",
        *(["Noticed by nobody:", "", *left, ""] if left else []),
        "Each attack with the mutants that it noticed, as the first that was tried and did:",
        "",
        *_table(("attack", "mutants", "of which"), _by_attack(matrix)),
    ]
    return "\n".join(lines) + "\n"


def _share(ends: Counter[str]) -> str:
    faults = ends.total() - ends[NO_FAULT]
    noticed = ends[Kind.CONFORM] + ends[Kind.EXPLORE]
    share = f"{noticed / faults:.1%}" if faults else "none"
    return (
        f"Of {ends.total()} mutants {ends[NO_FAULT]} are no faults. Of the {faults} others **{noticed} ({share})** are "
        f"noticed by models and explorations alone: {ends[Kind.CONFORM]} by conform, {ends[Kind.EXPLORE]} by explore. "
        f"Tests alone notice {ends[Kind.TESTS]}, and nobody {ends[NOBODY]}."
    )


def _by_module(ends: Mapping[str, str]) -> list[Sequence[object]]:
    modules: dict[str, Counter[str]] = {}
    for name, end in ends.items():
        modules.setdefault(name.partition(".py:")[0], Counter())[end] += 1
    columns = (*Kind, NO_FAULT, NOBODY)
    return [(module, found.total(), *(found[column] for column in columns)) for module, found in modules.items()]


def _by_attack(matrix: Matrix) -> list[Sequence[object]]:
    attacks: dict[str, Counter[str]] = {}
    for name, noticed in matrix.items():
        if noticed.attack is not None:
            attacks.setdefault(noticed.attack, Counter())[_fault(name)] += 1
    return [
        (f"`{attack}`", found.total(), ", ".join(f"{fault} {number}" for fault, number in sorted(found.items())))
        for attack, found in sorted(attacks.items(), key=lambda each: (-each[1].total(), each[0]))
    ]


def _noticed(mutant: Mutant, fate: Fate) -> Noticed:
    if (killer := fate.killer) is None:
        return Noticed(mutant.digest, tried=len(fate.tried))
    return Noticed(mutant.digest, killer.attack, killer.kind, killer.how, len(fate.tried) - 1)


def _end(name: str, noticed: Noticed, judged: Mapping[str, Judged]) -> str:
    """Name the column that a mutant counts in: one that is noticed is a fault, whatever was said of it."""
    if noticed.by is not None:
        return noticed.by
    said = judgement_of(name, noticed.digest, judged)
    return NO_FAULT if said is not None and said.equivalent else NOBODY


def _why(name: str, noticed: Noticed, judged: Mapping[str, Judged]) -> str:
    """Tell what was said of a survivor; what was said of an earlier text would excuse a fault that nobody looked at."""
    if (said := judgement_of(name, noticed.digest, judged)) is not None:
        return said.why
    void = f"what {JUDGEMENTS} says of it is of an earlier text, and void."
    return void if name in judged else "nobody has judged it yet."


def _fault(name: str) -> str:
    return re.sub(r"-\d+$", "", name.rpartition(":")[2]).replace("-", " ")


def _table(titles: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    marks = [
        "---:" if title == "mutants" or title.startswith("by ") or title == NO_FAULT else "---" for title in titles
    ]
    lines = [titles, marks, *([str(cell or "") for cell in row] for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]
