"""How large a search tree is, told from the part that has been searched.

Source: P. Kilby, J. Slaney, S. Thiébaux, T. Walsh, "Estimating Search Tree Size", AAAI 2006, after D. Knuth,
"Estimating the Efficiency of Backtrack Programs", 1975.
"""

from __future__ import annotations

from collections.abc import Iterable

MANY = 1e12
"""As many as that, or more: beyond, an estimate is none."""


def runs_left(runs: int, nodes: Iterable[tuple[int, int]]) -> float:
    """Estimate the leaves that have not been visited, as if those behind siblings were as many.

    Args:
        runs: leaves visited so far.
        nodes: from the root to the last leaf: children that were entered, the last of them on the way to that leaf;
            and children known.
    """
    share, weight = 0.0, 1.0
    for entered, known in nodes:
        share += weight * (entered - 1) / known
        weight /= known
    share += weight
    return min(runs * (1 - share) / share, MANY) if share > 0 else MANY


def told(left: float) -> str:
    """Write how many there are about."""
    return f"about {left:,.0f}" if left < MANY else f"over {MANY:,.0f}"
