"""What people have said of mutants that survived: whether they are faults at all, and why."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from omni_ipc.documents import read_document

FILE = "tests/mutants/judged.json"


class Judged(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One survivor.

    Args:
        digest: of the mutant that was looked at; the judgement is void for another one.
        equivalent: nobody can tell it from the product, so that it is no fault.
        why: one sentence.
    """

    digest: str
    equivalent: bool
    why: str


def load(checkout: Path) -> dict[str, Judged]:
    """Read the judgements, by the names of mutants.

    Raises:
        UsageError: the file is missing or damaged.
    """
    missing = "It is a part of the checkout: restore it."
    return read_document(checkout / FILE, dict[str, Judged], missing=missing, wrong="holds no judgements")


def judgement_of(name: str, digest: str, judged: Mapping[str, Judged]) -> Judged | None:
    """Give what was said of this very mutant, and not of an earlier one of its name."""
    judgement = judged.get(name)
    return judgement if judgement is not None and judgement.digest == digest else None
