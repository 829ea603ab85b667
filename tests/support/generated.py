"""Strategies of records that are well-formed where mutations rarely are, and wrong in meaning."""

from __future__ import annotations

import struct

import numpy as np
from hypothesis import strategies as st

from omni_ipc.transport import wire
from omni_ipc.transport.layout import (
    FIRST,
    FRAGMENT,
    INLINE,
    LAST,
    RECORD,
    RING_OFFSET,
    TENSOR,
    WRITE_POSITION,
    Kind,
    padded,
)
from tests.support.hostile import GEOMETRY, LIMIT, RING_BYTES, Recording, record

NASTY = st.sampled_from([64, 255, 1 << 31, (1 << 32) - 1])
HUGE = NASTY | st.sampled_from([1 << 40, 1 << 62, 1 << 63, (1 << 64) - 1])
SMALL = st.integers(0, 4)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=10,
)
NODES = st.recursive(
    PLAIN.map(lambda value: value if isinstance(value, int | float | str | None) else 1)
    | SMALL.map(lambda index: [0, index])
    | st.integers().filter(lambda index: index.bit_length() < 63).map(lambda index: [0, index])
    | st.binary(max_size=4).map(lambda data: [4, data]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: [1, items])
        | st.lists(inner, max_size=3).map(lambda items: [2, items])
        | st.lists(st.tuples(inner, inner), max_size=3).map(lambda pairs: [3, pairs])
    ),
    max_leaves=6,
)
ENVELOPES = st.tuples(st.just({"type": "Note", "text": "t"}) | PLAIN, st.tuples(NODES) | st.none() | PLAIN)
TREES = ([0, 0], [1, [[0, 0], [0, 1]]], [2, [[0, 2], [0, 1], [0, 0]]], [3, [["x", [0, 0]]]], [1, [[0, 7]]], 5, [9, 9])
GOOD_BODIES = [wire.encode(({"type": "Note", "text": "t"}, tree and (tree,))) for tree in (*TREES, None)]
BODIES = st.sampled_from(GOOD_BODIES) | st.binary(max_size=40)


@st.composite
def tensor_bodies(draw: st.DrawFn) -> bytes:
    """Draw the body of a tensor record that is right in most fields."""
    shapes = [[1] * dims for dims in (32, 64, 65, 255)] + [[LIMIT // 2]] * 4
    shape = draw(st.lists(SMALL | HUGE, max_size=3) | st.sampled_from(shapes))
    code, item_bytes = draw(st.sampled_from([(2, 1), (9, 8), (11, 4), (32, 2), (34, 1), (0, 1), (70, 1)]))
    nbytes = min(int(np.prod(shape, dtype=object)) * item_bytes, 1 << 63)
    inline = draw(st.booleans())
    slot = INLINE if inline else draw(st.integers(0, GEOMETRY.slots) | NASTY)
    nbytes = draw(st.just(nbytes) | SMALL | HUGE)
    generation, units, framework = draw(SMALL | NASTY), draw(SMALL | NASTY), draw(st.integers(0, 3))
    fixed = TENSOR.pack(slot, generation, nbytes, code, framework, len(shape), units)
    head = fixed + struct.pack(f"<{len(shape)}Q", *shape)
    return head.ljust(padded(len(head), 16), b"\0") + bytes(nbytes if inline and nbytes < LIMIT else 0)


@st.composite
def fragment_bodies(draw: st.DrawFn) -> bytes:
    """Draw the body of a fragment."""
    data = draw(BODIES)
    total = draw(st.just(len(data)) | SMALL | HUGE)
    return FRAGMENT.pack(draw(SMALL), draw(SMALL | NASTY), total, draw(st.integers(0, 6))) + data


RECORDS = st.one_of(
    st.tuples(st.just(Kind.MESSAGE), BODIES),
    st.tuples(st.just(Kind.TENSOR), tensor_bodies()),
    st.tuples(st.just(Kind.FRAGMENT), fragment_bodies()),
    st.tuples(st.integers(0, 7), BODIES | st.integers(0, 9).map(struct.Struct("<Q").pack)),
)
MESSAGES = st.builds(lambda head, rest: [(Kind.MESSAGE, head), *rest], BODIES, st.lists(RECORDS, max_size=3))
BLANKS = {start: record(lambda *_: None, start=start) for start in (0, RING_BYTES - 40)}


def laid(messages: list[list[tuple[int, bytes]]], start: int) -> Recording:
    """Lay messages into a ring, as far as they fit, each with its right flags and sequences."""
    blank = BLANKS[start]
    lane, ring, sequence = bytearray(blank.lane), b"", 0
    for message in messages:
        for index, (kind, body) in enumerate(message):
            flags = FIRST * (index == 0) | LAST * (index == len(message) - 1)
            data = RECORD.pack(len(body), kind, flags, 0, sequence) + body
            data = data.ljust(padded(len(data)), b"\0")
            if len(ring) + len(data) > RING_BYTES:
                break
            ring, sequence = ring + data, sequence + 1
    fits = RING_BYTES - start
    lane[RING_OFFSET + start : RING_OFFSET + start + len(ring[:fits])] = ring[:fits]
    lane[RING_OFFSET : RING_OFFSET + len(ring[fits:])] = ring[fits:]
    struct.pack_into("<Q", lane, WRITE_POSITION * 8, start + len(ring))
    return Recording(bytes(lane), blank.slab, ())
