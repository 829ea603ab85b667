"""What the output table tells of itself: what is pending now, and what became of all that was."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class Pending(msgspec.Struct, frozen=True):
    """What the table holds: ids, in order of their arrival."""

    waiting: tuple[str, ...] = ()  # awaited by a consumer, not here yet
    cached: tuple[str, ...] = ()  # here, not yet asked for
    unsplit: tuple[str, ...] = ()  # batches that are here without their split map
    rpcs: tuple[int, ...] = ()  # calls without an answer

    def __str__(self) -> str:
        held = msgspec.structs.asdict(self).items()
        return ", ".join(f"{name} {len(ids)}{f' [{_first(ids)}]' if ids else ''}" for name, ids in held)


class Tally(msgspec.Struct, kw_only=True):
    """How many outputs and answers went which way, since the beginning."""

    delivered: int = 0  # outputs that a consumer has
    failed: int = 0  # outputs whose consumer has an error instead
    dropped: int = 0  # outputs that were given up before they were delivered
    discarded_outputs: int = 0  # outputs that came when they were settled already: dropped, or timed out
    discarded_answers: int = 0  # answers to calls that nobody awaited any more, or that another engine made
    bad_messages: int = 0  # replies that could not be read or handled


def _first(ids: Iterable[object], most: int = 5) -> str:
    ids = list(ids)
    return ", ".join(map(str, ids[:most])) + (", ..." if len(ids) > most else "")
