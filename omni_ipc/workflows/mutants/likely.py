"""Which attack to try next: models before explorations before tests, and of a kind what likely kills soonest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from omni_ipc.workflows.mutants.attacks import Attack, How, Kind
from omni_ipc.workflows.mutants.catalogue import Mutant
from omni_ipc.workflows.mutants.notes import Fate
from omni_ipc.workflows.mutants.reach import Reach

_RANK = {kind: place for place, kind in enumerate(Kind)}
_DOUBT = 2  # tries that killed nobody, granted to each attack: a first success is no certainty


def untried(
    mutant: Mutant, attacks: Sequence[Attack], reach: Mapping[str, Reach], fates: Iterable[Fate]
) -> list[Attack]:
    """Give the attacks that run the fault's lines and have not tried this mutant, the most promising first.

    Promising is what has killed many mutants of the same module for each second that it takes. Attacks that fail on the
    product as it is are left out.

    Args:
        fates: of the mutants so far.
    """
    tried, killed, done = Counter[str](), Counter[str](), set[str]()
    for fate in fates:
        if fate.path == mutant.path:
            tried.update(each.attack for each in fate.tried)
            killed.update(each.attack for each in fate.tried if each.kills)
        if fate.mutant == mutant.name:
            done = {each.attack for each in fate.tried}

    def promise(attack: Attack) -> float:
        share = (killed[attack.name] + 1) / (tried[attack.name] + 1 + _DOUBT)
        return share / max(reach[attack.name].seconds, 0.1)

    able = [a for a in attacks if a.name not in done and _is_able(reach[a.name], mutant)]
    return sorted(able, key=lambda attack: (_RANK[attack.kind], -promise(attack)))


def _is_able(reach: Reach, mutant: Mutant) -> bool:
    return reach.how is How.NOTHING and reach.reaches(mutant)
