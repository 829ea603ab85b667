"""Where tensors travel: inline within a budget, in slots beyond it, in fragments where no slot will do."""

from __future__ import annotations

import collections
import tracemalloc
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omni_ipc.errors import Full, UsageError
from omni_ipc.transport import dtypes, placing
from omni_ipc.transport.arrays import Source
from omni_ipc.transport.geometry import DEFAULT_CLASSES, SlotClass
from omni_ipc.transport.layout import WRITE_POSITION
from tests.support.slabs import Note, Shop

torch = pytest.importorskip("torch")

ROOMY = [SlotClass(1 << power, 64) for power in range(14, 21)]


@pytest.fixture(scope="module")
def roomy() -> Shop:
    """Slots of 16 KiB to 1 MiB, 64 of each."""
    return Shop(ROOMY, ring_bytes=1 << 20)


def wire_bytes(shop: Shop) -> int:
    """Count the bytes that went through the lane so far."""
    return shop.writers[0].lane.words.load(WRITE_POSITION)


@given(sizes=st.lists(st.integers(0, 9_000) | st.integers(0, 300_000), max_size=60))
def test_any_set_of_sizes_stays_within_the_inline_budget_and_arrives(roomy: Shop, sizes: Sequence[int]) -> None:
    """At most 4 KiB inline a tensor and 128 KiB a message; what is inline is never larger than what is not."""
    sent = [np.full(size, number, np.uint8) for number, size in enumerate(sizes)]
    before = wire_bytes(roomy)
    roomy.sender().send(Note(), sent)
    crossed = wire_bytes(roomy) - before
    delivery = roomy.receivers[0].receive(0)
    inline = [tensor.data.nbytes for tensor in delivery._tensors if tensor.lease is None]
    placed = [tensor.data.nbytes for tensor in delivery._tensors if tensor.lease is not None]
    assert sum(inline) <= placing.INLINE_MESSAGE_BYTES
    assert max(inline, default=0) <= placing.INLINE_TENSOR_BYTES
    assert max(inline, default=0) <= min(placed, default=1 << 30)
    assert crossed <= sum(inline) + 200 + 100 * len(sizes)
    assert all(np.array_equal(*pair) for pair in zip(delivery.unpack(), sent, strict=True))
    del delivery
    assert roomy.slab.held() == 0


def test_many_small_tensors_share_slots_as_soon_as_they_are_too_many(roomy: Shop) -> None:
    """None is over 4 KiB, and together they are over the budget of a message."""
    before = wire_bytes(roomy)
    roomy.sender().send(Note(), [np.full(4_000, number, np.uint8) for number in range(100)])
    assert wire_bytes(roomy) - before <= placing.INLINE_MESSAGE_BYTES + 100 * 100
    delivery = roomy.receivers[0].receive(0)
    assert roomy.slab.held() == 1
    assert [int(array[-1]) for array in delivery.unpack()] == list(range(100))


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_a_batch_of_32_views_of_one_storage_costs_8_kib_on_the_wire(roomy: Shop, library: str) -> None:
    """Only what each view shows travels, once: view_storage_packing put 128,007,220 bytes there in the field."""
    batch = np.arange(1 << 20, dtype=np.int32).reshape(32, -1)
    views = list(batch if library == "numpy" else torch.from_numpy(batch))
    before = wire_bytes(roomy)
    roomy.sender().send(Note(), views)
    assert wire_bytes(roomy) - before <= 8 << 10
    delivery = roomy.receivers[0].receive(0)
    assert sum(tensor.data.nbytes for tensor in delivery._tensors) == batch.nbytes
    assert all(np.array_equal(view, row) for view, row in zip(delivery.unpack(), batch, strict=True))


def test_32_tensors_of_900_kb_leave_nothing_inline_but_their_descriptions(roomy: Shop) -> None:
    """Each is under any threshold of old, and together they were over the limit: aggregate_overflow."""
    before = wire_bytes(roomy)
    roomy.sender().send(Note(), [np.zeros(900_000, np.uint8) for _ in range(32)])
    assert wire_bytes(roomy) - before <= 8 << 10
    assert [array.nbytes for array in roomy.receivers[0].receive(0).unpack()] == [900_000] * 32


def test_what_is_larger_than_any_slot_comes_in_fragments_on_the_same_lane() -> None:
    """There is no second transport, and no order is lost: what was sent later comes later."""
    shop = Shop([SlotClass(1 << 14, 4)], ring_bytes=1 << 16)
    large, small = np.arange(6_000, dtype=np.int64), np.arange(2_000, dtype=np.int64)
    shop.sender().send(Note("large"), [large, small])
    shop.sender().send(Note("next"))
    delivery = shop.receivers[0].receive(0)
    assert [tensor.lease is None for tensor in delivery._tensors] == [True, False]
    assert [array.tolist() for array in delivery.unpack()] == [large.tolist(), small.tolist()]
    assert shop.receivers[0].receive(0).message == Note("next")


def test_without_a_slot_for_long_a_message_goes_by_fragments(monkeypatch: pytest.MonkeyPatch) -> None:
    """A consumer that keeps its outputs slows others down, and loses them nothing."""
    monkeypatch.setattr(placing, "PATIENCE_S", 0.01)
    shop = Shop([SlotClass(1 << 14, 1)], ring_bytes=1 << 17)
    sent = np.arange(2_000, dtype=np.int64)
    shop.sender(5).send(Note(), sent)
    kept = shop.receivers[0].receive(0).unpack()
    shop.sender(5).send(Note(), sent)
    delivery = shop.receivers[0].receive(0)
    assert delivery._tensors[0].lease is None
    assert delivery.unpack().tolist() == kept.tolist() == sent.tolist()


def test_without_a_slot_until_the_deadline_a_message_is_full_and_nothing_is_visible() -> None:
    """The lane is as it was, and every slot that the message had got is back."""
    shop = Shop([SlotClass(1 << 14, 1), SlotClass(1 << 15, 1)], ring_bytes=1 << 17)
    first, second = np.zeros(20_000, np.uint8), np.zeros(10_000, np.uint8)
    shop.sender().send(Note(), second)
    kept = shop.receivers[0].receive(0).unpack()
    before = wire_bytes(shop)
    with pytest.raises(Full, match="no slot for 10,048 bytes"):
        shop.sender().send(Note(), [first, second])
    assert (wire_bytes(shop), shop.slab.held(), shop.lent(), kept.nbytes) == (before, 1, 0, 10_000)


def test_a_message_that_takes_every_slot_itself_does_not_wait_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody could release them: the rest goes inline at once."""
    monkeypatch.setattr(placing, "PATIENCE_S", 1_000.0)
    shop = Shop([SlotClass(1 << 15, 2)], ring_bytes=1 << 18)
    shop.sender(1_000).send(Note(), [np.full(20_000, number, np.uint8) for number in range(4)])
    delivery = shop.receivers[0].receive(0)
    assert [tensor.lease is None for tensor in delivery._tensors] == [False, False, True, True]
    assert [int(array[-1]) for array in delivery.unpack()] == [0, 1, 2, 3]


class Unpackable:
    """No such thing can travel."""


@pytest.mark.parametrize("failure", ["leaf", "lane", "copy"])
def test_a_failure_in_the_middle_leaves_the_tree_as_it_is_and_every_slot_free(
    failure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packing is all or nothing."""
    shop = Shop([SlotClass(1 << 15, 8)], ring_bytes=1 << 10)
    array = np.arange(20_000, dtype=np.uint8)
    tree = {"a": [array, array[:18_000]], "b": Unpackable() if failure == "leaf" else 1}
    expected: type[Exception] = UsageError
    if failure == "lane":
        expected = Full
        while shop.writers[0].lane.room() >= 64:
            shop.writers[0].send(b"x" * 40, timeout=0)
    if failure == "copy":
        expected = MemoryError
        copies = iter([Source.copy_to])
        monkeypatch.setattr(Source, "copy_to", lambda *args: next(copies, _fail)(*args))
    before = wire_bytes(shop)
    with pytest.raises(expected) as caught:
        shop.sender().send(Note(), tree)
    assert caught.tb is not None  # whoever keeps the error keeps no slot
    assert (shop.slab.held(), shop.lent(), wire_bytes(shop)) == (0, 0, before)
    assert list(tree) == ["a", "b"]
    assert tree["a"][0] is array  # type: ignore[index]


def _fail(*args: object) -> None:
    raise MemoryError


def test_what_the_sender_changes_after_the_send_does_not_reach_the_reader(roomy: Shop) -> None:
    """The one copy is made before the send returns."""
    array = np.zeros(50_000, np.uint8)
    roomy.sender().send(Note(), array)
    array[:] = 1
    assert not roomy.receivers[0].receive(0).unpack().any()


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental:UserWarning")
@pytest.mark.parametrize("name", [name for code, name, _ in dtypes._TABLE if hasattr(torch, name)])
def test_every_torch_type_travels_by_the_slab_with_its_raw_bytes(roomy: Shop, name: str) -> None:
    """Contiguous or not, with one copy."""
    dtype = getattr(torch, name)
    raw = np.tile(np.arange(2 if dtype is torch.bool else 120, dtype=np.uint8), 24_000)[: 24_000 * dtype.itemsize]
    sent = torch.frombuffer(bytearray(raw), dtype=dtype).reshape(100, 240)
    for tensor in (sent, sent.T):
        roomy.sender().send(Note(), tensor)
        delivery = roomy.receivers[0].receive(0)
        assert delivery._tensors[0].lease is not None
        arrived = delivery.unpack()
        assert (arrived.dtype, arrived.shape) == (dtype, tensor.shape)
        rows = np.frombuffer(raw, np.dtype((np.void, dtype.itemsize))).reshape(100, 240)
        assert bytes(delivery._tensors[0].data) == (rows if tensor is sent else rows.T).tobytes()


@pytest.mark.parametrize("name", sorted(dtypes.NUMPY_DTYPES))
def test_every_numpy_type_travels_by_the_slab(roomy: Shop, name: str) -> None:
    """In the order that the caller sees, however the array lies in memory."""
    array = (np.arange(24_000) % 100).astype(name).reshape(100, 240)
    for sent in (array, array.T, array[::2, ::-1], np.broadcast_to(array[0, :100], (300, 100))):
        roomy.sender().send(Note(), sent)
        arrived = roomy.receivers[0].receive(0).unpack()
        assert (arrived.dtype, arrived.shape, arrived.tobytes()) == (sent.dtype, sent.shape, sent.tobytes())


def test_an_array_that_is_not_contiguous_is_copied_once(roomy: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Into its slot, with no contiguous copy before."""
    monkeypatch.setattr(torch.Tensor, "contiguous", _fail)
    array = np.zeros((500, 1000), np.uint16).T
    tracemalloc.start()
    try:
        roomy.sender().send(Note(), [array, torch.zeros(250, 1000).T])
        assert tracemalloc.get_traced_memory()[1] < array.nbytes / 4
    finally:
        tracemalloc.stop()
    first, second = roomy.receivers[0].receive(0).unpack()
    assert (first.shape, second.shape) == ((1000, 500), (1000, 250))


def test_conjugated_negated_and_grad_tensors_travel_as_the_values_they_show(roomy: Shop) -> None:
    """What torch does lazily is done in the copy; gradients stay behind."""
    imaginary = torch.arange(20_000) * (1 + 2j)
    parameter = torch.nn.Parameter(torch.ones(20_000))
    roomy.sender().send(Note(), [imaginary.conj(), imaginary.conj().imag, parameter])
    conj, neg, plain = roomy.receivers[0].receive(0).unpack()
    assert torch.equal(conj, imaginary.conj().resolve_conj())
    assert torch.equal(neg, imaginary.conj().imag)
    assert (plain.requires_grad, bool((plain == 1).all())) == (False, True)


def test_loans_travel_as_leaves_beside_arrays() -> None:
    """As what they were viewed as; a send that fails leaves them to their producer."""
    shop = Shop(ring_bytes=1 << 12)
    image, raw = shop.slab.loan(1000, timeout=0), shop.slab.loan(3, timeout=0)
    image.as_torch("bfloat16", (5, 100)).fill_(1.5)
    raw.view[:] = b"raw"
    with pytest.raises(UsageError):
        shop.sender().send(Note(), {"image": image, "bad": Unpackable()})
    shop.sender().send(Note(), {"image": image, "raw": raw, "scale": np.float64([2.0])})
    tree = shop.receivers[0].receive(0).unpack()
    assert (tree["image"].dtype, tree["image"].shape, tree["image"].sum().item()) == (torch.bfloat16, (5, 100), 752.0)
    assert (bytes(tree["raw"]), tree["scale"].tolist()) == (b"raw", [2.0])
    del tree
    assert (shop.slab.held(), shop.lent()) == (0, 0)


def test_the_default_slab_has_a_slot_for_every_size_up_to_64_mib() -> None:
    """And enough of them for a batch of 32 outputs of a megabyte."""
    sizes = collections.OrderedDict(DEFAULT_CLASSES)
    assert list(sizes) == [1 << power for power in range(14, 27)]
    assert all(sizes[1 << power] >= 32 for power in range(14, 21))


def test_tensors_without_elements_take_no_slot(roomy: Shop) -> None:
    """Nor do scalars: they stand in their record."""
    tree: list[Any] = [np.zeros((0, 5)), np.array(3.0), torch.empty(2, 0, dtype=torch.bfloat16)]
    roomy.sender().send(Note(), tree)
    assert roomy.slab.held() == 0
    assert [array.shape for array in roomy.receivers[0].receive(0).unpack()] == [(0, 5), (), (2, 0)]
