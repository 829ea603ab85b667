"""Stores that publish and loads that rely on them are tagged alike, so that neither is changed without the other."""

from __future__ import annotations

import re
from collections import defaultdict

from tests.support.lanes import ROOT


def test_every_tagged_store_has_its_tagged_load() -> None:
    """Each tag of the transport stands at a store and at a load of shared words."""
    uses: dict[str, set[str]] = defaultdict(set)
    for path in (ROOT / "omni_ipc/transport").glob("*.py"):
        for tagged in re.finditer(r"^.*?\b(store|load)\(.*# SYNC (\S+)", path.read_text(), re.MULTILINE):
            uses[tagged[2]].add(tagged[1])
    tags = ("lane.publish", "lane.consume", "bell.parked", "slab.generation", "slab.release")
    tags += ("slab.signature", "slab.hold")
    assert uses == {tag: {"store", "load"} for tag in tags}
