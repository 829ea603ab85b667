"""What people have said of mutants that survived: whether they are faults at all, and why."""

from __future__ import annotations

from pathlib import Path

import msgspec

from omni_ipc.errors import UsageError
from omni_ipc.workflows.mutants.catalogue import Mutant

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
    path = checkout / FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Judged])
    except OSError as error:
        raise UsageError(f"Cannot read '{path}': {error.strerror}. It is a part of the checkout: restore it.") from None
    except msgspec.DecodeError as error:
        raise UsageError(f"'{path}' holds no judgements: {error}. Correct it there.") from None


def judgement_of(mutant: Mutant, judged: dict[str, Judged]) -> Judged | None:
    """Give what was said of this very mutant, and not of an earlier one of its name."""
    judgement = judged.get(mutant.name)
    return judgement if judgement is not None and judgement.digest == mutant.digest else None
