"""Trees: what counts as a branch, and what as a leaf."""

from __future__ import annotations

import dataclasses
from collections import namedtuple
from typing import Any

import msgspec

from omni_ipc import trees


@dataclasses.dataclass
class Record:
    first: Any
    second: Any


class Struct(msgspec.Struct):
    only: Any


Pair = namedtuple("Pair", "left right")  # as users write them


def test_every_branch_is_gone_through_and_kept_in_its_order() -> None:
    """Dataclasses and structs become dicts, named tuples plain ones; the tree itself is left as it is."""
    tree = [1, (2, {"a": 3, 4: Record(5, [6])}), Struct(Pair(7, None)), []]
    assert list(trees.leaves(tree)) == [1, 2, 3, 5, 6, 7, None]
    doubled = trees.mapped(lambda leaf: leaf and leaf * 2, tree)
    assert doubled == [2, (4, {"a": 6, 4: {"first": 10, "second": [12]}}), {"only": (14, None)}, []]
    assert tree[2] == Struct(Pair(7, None))


def test_a_class_and_a_lone_value_are_leaves() -> None:
    """A dataclass is a branch, the class of one is not."""
    assert list(trees.leaves(Record)) == [Record]
    assert trees.fields(Record) is None
    assert trees.mapped(str, 3) == "3"
