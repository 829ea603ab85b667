"""Outputs that are known byte for byte: whatever is wrong with one is seen, and told with its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from omni_ipc import trees
from omni_ipc.stress.memory import HostMemory
from omni_ipc.stress.outputs import PERIOD, Kind, Leaf, difference, lay, make, nbytes_of, pattern, plan

KINDS = st.sampled_from(Kind)
SIZES = st.integers(4 << 10, 64 << 10)
SALTS = st.integers(1, 1 << 33)


def made(planned: Any) -> Any:
    """Make an output as a worker does."""
    return make(HostMemory().tensor, planned)


def copied(output: Any) -> Any:
    """Give an output whose arrays lie in memory of their own."""
    return trees.mapped(lambda leaf: np.array(leaf, order="C") if hasattr(leaf, "dtype") else leaf, output)


def arrays(output: Any) -> Iterator[np.ndarray[Any, Any]]:
    """Give those arrays of an output that have elements."""
    return (leaf for leaf in trees.leaves(output) if isinstance(leaf, np.ndarray) and leaf.size)


@settings(max_examples=40)
@given(KINDS, SIZES, SALTS)
@example(Kind.NESTED, 8_000, 1)  # divides among all types
def test_an_output_as_it_was_planned_is_right_and_no_larger_than_was_asked_for(
    kind: Kind, nbytes: int, salt: int
) -> None:
    """And not much smaller, so that sizes mean something; what its consumer made of it, a copy, is right, too."""
    planned = plan(kind, nbytes, salt)
    output = made(planned)
    assert difference(planned, output) is None
    assert difference(planned, copied(output)) is None
    assert 0.5 * nbytes < nbytes_of(planned) == sum(array.nbytes for array in arrays(output)) <= nbytes


@settings(max_examples=60)
@given(KINDS, SIZES, SALTS, st.data())
def test_each_single_bit_that_is_wrong_is_found(kind: Kind, nbytes: int, salt: int, data: st.DataObject) -> None:
    """In any byte of any tensor, whatever its type: also where it makes no number of it, or the same one."""
    planned = plan(kind, nbytes, salt)
    output = copied(made(planned))
    array = data.draw(st.sampled_from([*arrays(output)]))
    flat = np.moveaxis(array, -1, 0) if array.ndim > 2 else array
    raw = np.frombuffer(np.ascontiguousarray(flat).tobytes(), np.uint8).copy()
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    flat[...] = raw.view(array.dtype).reshape(flat.shape)
    told = difference(planned, output)
    assert told is not None
    assert "1 of " in told


@settings(max_examples=30)
@given(KINDS, SIZES, SALTS, st.integers(1, PERIOD - 1))
def test_the_output_of_another_request_is_wrong(kind: Kind, nbytes: int, salt: int, further: int) -> None:
    """Though it is of the same kind and size: each of its larger tensors begins elsewhere in the pattern."""
    planned, other = (
        [leaf for leaf in trees.leaves(plan(kind, nbytes, each)) if isinstance(leaf, Leaf) and leaf.nbytes >= 64]
        for each in (salt, salt + further)
    )
    for one, another in zip(planned, other, strict=True):
        assert difference(one, HostMemory().tensor(another)) is not None


@settings(max_examples=30)
@given(st.integers(64, 3 * PERIOD), st.integers(0, PERIOD - 1), st.sampled_from([1 << power for power in range(6, 20)]))
def test_the_pattern_is_laid_from_anywhere_and_a_piece_a_power_of_two_too_far_is_wrong(
    nbytes: int, start: int, off: int
) -> None:
    """As is one that was put to another slot's place: both hold the same pattern, a few bytes on."""
    leaf, flat = Leaf("uint8", (nbytes,), start), np.empty(nbytes, np.uint8)
    lay(flat, pattern(), start)
    places = np.linspace(0, nbytes - 1, 50, dtype=int)
    assert np.array_equal(flat[places], pattern()[(start + places) % PERIOD])
    assert difference(leaf, flat) is None
    lay(flat[-64:], pattern(), (start + nbytes - 64 + off) % PERIOD)
    assert difference(leaf, flat) is not None


@pytest.mark.parametrize("start", [0, 1, PERIOD - 1])
@pytest.mark.parametrize("nbytes", [1, 2, PERIOD - 1, PERIOD, PERIOD + 1, 2 * PERIOD + 2])
def test_a_wrong_byte_is_found_at_the_edges_of_periods_too(nbytes: int, start: int) -> None:
    """The first and the last one, and those around each period's end; it is told which one it is."""
    leaf, flat = Leaf("uint8", (nbytes,), start), np.empty(nbytes, np.uint8)
    lay(flat, pattern(), start)
    edges = {0, nbytes - 1, *(each * PERIOD - start + off for each in (1, 2) for off in (-1, 0, 1))}
    for edge in edges & {*range(nbytes)}:
        flat[edge] ^= 1
        assert f" byte {edge:,} is {flat[edge]}" in str(difference(leaf, flat))
        flat[edge] ^= 1
    assert difference(leaf, flat) is None


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda it: it | {"seed": 8}, "output['seed'] is 8, and 7 was asked for"),
        (lambda it: it | {"done": 1}, "output['done'] is a int, and a bool was asked for"),
        (lambda it: it | {"nothing": 0}, "output['nothing'] is a int, and a NoneType was asked for"),
        (lambda it: it | {"more": 0}, "output has ['latents', 'empty', 'number', 'nothing', 'seed', 'done', 'more']"),
        (lambda it: it | {"empty": np.empty((3, 0), np.float32)}, "float32 of (3, 0), and float32 of (0, 3) was asked"),
        (lambda it: it | {"number": np.float64(1)}, "output['number'] is float64 of (), and int64 of () was asked for"),
        (lambda it: it | {"number": None}, "output['number'] is NoneType of (), and int64 of () was asked for"),
        (lambda it: it | {"latents": tuple(it["latents"])}, "output['latents'] is a tuple, and a list was asked for"),
        (lambda it: it | {"latents": it["latents"][:1]}, "output['latents'] has [0]"),
        (lambda it: None, "output is a NoneType, and a dict was asked for"),
    ],
)
def test_what_is_no_tensor_of_it_is_held_against_the_plan_too(spoil: Any, told: str) -> None:
    """Containers, their keys, numbers and texts, each with its type; shapes and types of tensors that have no bytes."""
    planned = plan(Kind.NESTED, 1 << 10, 7)
    assert told in str(difference(planned, spoil(made(planned))))


@pytest.mark.torch
def test_torch_tensors_are_held_against_the_plan_as_arrays_are() -> None:
    """Of every type there is in an output, and of a film, whose channels lie elsewhere than they are looked at."""
    import torch

    for kind in (Kind.NESTED, Kind.VIDEO):
        planned = plan(kind, 8 << 10, 3)
        output = trees.mapped(lambda leaf: torch.tensor(leaf) if hasattr(leaf, "dtype") else leaf, made(planned))
        assert difference(planned, output) is None
        last = [leaf for leaf in trees.leaves(output) if hasattr(leaf, "dtype")][-1]
        last.view(-1).view(torch.uint8)[-1] ^= 1
        assert difference(planned, output) is not None
