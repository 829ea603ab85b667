"""The slab: slots lent, filled in place, handed to readers, and given back whatever happens."""

from __future__ import annotations

import math
import os
import struct

import numpy as np
import pytest

from omni_ipc.errors import EnvironmentMissing, FormatError, Full, UsageError
from omni_ipc.transport import bell
from omni_ipc.transport.arrays import from_tensor
from omni_ipc.transport.geometry import SLOT_PARKED, Geometry, SlotClass
from omni_ipc.transport.lease import SlabReader
from omni_ipc.transport.loan import Loan
from omni_ipc.transport.memory import Segment
from omni_ipc.transport.slab import POISON, Slab
from tests.support.lanes import RT
from tests.support.slabs import Note, Shop


def test_what_is_produced_in_a_loan_arrives_without_a_copy() -> None:
    """The reader's bytes are those that the producer wrote, at the same address."""
    shop = Shop()
    loan = shop.slab.loan(800, timeout=0)
    produced = loan.as_numpy("int64", (10, 10))
    produced[:] = np.arange(100).reshape(10, 10)
    loan.commit(shop.writers[0], body=b"ready", timeout=0)
    message = shop.readers[0].take()
    assert message is not None
    assert (bytes(message.body), message.tensors[0].dtype, message.tensors[0].shape) == (b"ready", "int64", (10, 10))
    received = np.frombuffer(message.tensors[0].data, dtype="int64")
    assert received.tolist() == list(range(100))
    assert np.shares_memory(received, produced)


def test_a_loan_is_the_smallest_slot_that_fits_or_one_of_the_next_two_classes() -> None:
    """Small data never use up the slots of large ones."""
    classes = [SlotClass(64 << (2 * power), 1) for power in range(4)]
    shop = Shop(classes)
    loans = [shop.slab.loan(65, timeout=0), shop.slab.loan(1, timeout=0), shop.slab.loan(1, timeout=0)]
    assert [loan.slot for loan in loans] == [1, 0, 2]
    with pytest.raises(Full):
        shop.slab.loan(1, timeout=0)
    assert shop.slab.loan(65, timeout=0).slot == 3


def test_the_slot_released_last_is_lent_first() -> None:
    """It is still in the cache; and slots never used stay unused."""
    shop = Shop([SlotClass(64, 8)])
    slots = []
    for _ in range(5):
        loan = shop.slab.loan(64, timeout=0)
        slots.append(loan.slot)
        loan.commit(shop.writers[0], timeout=0)
        message = shop.readers[0].take()
        del message
    assert set(slots) == {0}


def test_without_a_slot_a_loan_is_full_in_bounded_time_and_a_release_brings_it_back() -> None:
    """The error says who has them; the slot comes back with its reader's release, and not before."""
    shop = Shop([SlotClass(64, 1)])
    shop.slab.loan(64, timeout=0).commit(shop.writers[0], timeout=0)
    message = shop.readers[0].take()
    assert message is not None
    with pytest.raises(Full, match=r"no slot for 64 bytes within 0 s: readers hold 1\. Wait longer, let readers"):
        shop.slab.loan(64, timeout=0)
    assert message.tensors[0].lease is not None
    message.tensors[0].lease.release()
    assert shop.slab.loan(64, timeout=0).generation == 2


def test_who_waits_for_a_slot_is_woken_by_a_release_and_by_an_abort(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two waiters, one at a time on the bell: each gets its slot long before a sleep would end."""
    monkeypatch.setattr(bell, "LONGEST_SLEEP_S", 60.0)
    shop = Shop([SlotClass(64, 2)])
    loan = shop.slab.loan(64, timeout=0)
    loan.commit(shop.writers[0], timeout=0)
    kept = shop.slab.loan(64, timeout=0)
    message = shop.readers[0].take()
    got: list[Loan] = []
    waiters = [
        RT.spawn(lambda: got.append(shop.slab.loan(64, timeout=30)), name=f"waiter {number}") for number in range(2)
    ]
    await_sleeper(shop)
    del message
    while not got:
        RT.sleep(0.001)
    await_sleeper(shop)
    kept.abort()
    for waiter in waiters:
        waiter.join(20)
    assert [loan.slot for loan in got] == [0, 1]


def await_sleeper(shop: Shop) -> None:
    """Wait until a loan sleeps."""
    while not shop.slab._words.load(SLOT_PARKED):
        RT.sleep(0.001)


def test_an_aborted_or_dropped_loan_goes_back_and_a_viewed_one_does_not() -> None:
    """As long as an array of the producer looks at the slot, nobody else gets it."""
    shop = Shop([SlotClass(64, 1)])
    loan = shop.slab.loan(64, timeout=0)
    loan.abort()
    loan.abort()
    array = shop.slab.loan(64, timeout=0).as_numpy("uint8", (64,))[3:]
    with pytest.raises(Full):
        shop.slab.loan(64, timeout=0)
    del array
    loan = shop.slab.loan(64, timeout=0)
    assert (loan.slot, loan.generation) == (0, 3)


def test_a_loan_is_used_once() -> None:
    """After commit or abort it can be neither viewed nor sent, by itself or in a tree."""
    shop = Shop()
    committed, aborted = shop.slab.loan(8, timeout=0), shop.slab.loan(8, timeout=0)
    committed.commit(shop.writers[0], timeout=0)
    aborted.abort()
    for loan in (committed, aborted):
        with pytest.raises(UsageError, match=r"was committed or aborted\. Take another loan\."):
            loan.commit(shop.writers[0], timeout=0)
        with pytest.raises(UsageError, match="was committed or aborted"):
            loan.as_numpy("uint8", (1,))
        with pytest.raises(UsageError, match="was committed or aborted"):
            shop.sender().send(Note(), {"again": [loan]})
    assert (shop.slab.held(), shop.lent(), shop.writers[0].lane.counts().written) == (1, 0, 1)


def test_a_loan_may_stand_twice_in_one_tree() -> None:
    """Both arrays look into its one slot, which goes to the reader once and comes back once."""
    shop = Shop()
    loan = shop.slab.loan(8, timeout=0)
    loan.view[:] = b"pictures"
    shop.sender().send(Note(), [loan, loan])
    assert list(shop.slab._stock.committed) == [(loan.slot, (0,))]
    arrays = shop.receivers[0].receive(0).unpack()
    assert [array.tobytes() for array in arrays] == [b"pictures"] * 2
    assert shop.slab.held() == 1
    del arrays
    assert shop.slab.held() == 0


def test_a_commit_that_meets_a_full_lane_leaves_the_loan_with_its_producer() -> None:
    """Nothing is visible, nothing is lost, and the same loan can be sent later."""
    shop = Shop(ring_bytes=256)
    while shop.writers[0].lane.room() >= 64:
        shop.writers[0].send(b"x" * 40, timeout=0)
    loan = shop.slab.loan(8, timeout=0)
    loan.view[:] = b"precious"
    with pytest.raises(Full, match="its reader took nothing in time"):
        loan.commit(shop.writers[0], timeout=0)
    assert (shop.slab.held(), bytes(loan.view)) == (0, b"precious")
    while shop.readers[0].take() is not None:
        pass
    loan.commit(shop.writers[0], timeout=0)
    message = shop.readers[0].take()
    assert message is not None
    assert bytes(message.tensors[0].data) == b"precious"


def test_a_commit_waits_for_the_event_of_the_copy_that_fills_the_loan() -> None:
    """The reader never sees a loan that is half filled."""
    shop = Shop()
    loan = shop.slab.loan(4, timeout=0)

    class Copy:
        def synchronize(self) -> None:
            assert shop.readers[0].take() is None
            loan.view[:] = b"done"

    loan.ready_after(Copy())
    loan.commit(shop.writers[0], timeout=0)
    message = shop.readers[0].take()
    assert message is not None
    assert bytes(message.tensors[0].data) == b"done"


@pytest.mark.parametrize("nbytes", [-1, 4097])
def test_a_loan_that_no_slot_can_hold_is_refused(nbytes: int) -> None:
    """The largest slot is told, and what to do."""
    with pytest.raises(UsageError, match="its largest slot has 4,096"):
        Shop().slab.loan(nbytes, timeout=0)


@pytest.mark.parametrize(
    ("dtype", "shape"), [("float32", (300,)), ("object", (1,)), ("bfloat16", (1,)), ("int8", (-1,))]
)
def test_a_view_that_the_loan_cannot_be_is_refused(dtype: str, shape: tuple[int, ...]) -> None:
    """Too large, or of a type that numpy has not, or that does not travel."""
    with pytest.raises(UsageError):
        Shop().slab.loan(1000, timeout=0).as_numpy(dtype, shape)


def test_threads_never_share_a_slot() -> None:
    """Loans of several threads of the one writer process are slots of their own."""
    shop = Shop([SlotClass(64, 40)])
    slots: list[int] = []

    def borrow() -> None:
        loans = [shop.slab.loan(64, timeout=0) for _ in range(10)]
        slots.extend(loan.slot for loan in loans)
        kept.append(loans)

    kept: list[object] = []
    tasks = [RT.spawn(borrow, name=f"producer {number}") for number in range(4)]
    for task in tasks:
        task.join(10)
    assert sorted(slots) == list(range(40))


def test_a_poisoned_slab_shows_who_still_looks_at_a_released_slot() -> None:
    """The writer fills it when it takes it back, so a stale view shows the pattern and no old picture."""
    shop = Shop(poison=True)
    loan = shop.slab.loan(4, timeout=0)
    loan.view[:] = b"good"
    loan.commit(shop.writers[0], timeout=0)
    message = shop.readers[0].take()
    assert message is not None
    stale = message.tensors[0].data
    assert message.tensors[0].lease is not None
    message.tensors[0].lease.release()
    assert bytes(stale) == b"good"
    assert shop.slab.held() == 0
    assert set(stale) == {POISON}


def test_what_a_dead_reader_holds_comes_back_and_nothing_waits_for_it_again() -> None:
    """Its release words are not looked at any more."""
    shop = Shop([SlotClass(64, 1)])
    for _ in range(2):
        shop.slab.loan(64, timeout=0).commit(shop.writers[0], timeout=0)
        shop.slab.forget(0)
    assert shop.slab.loan(64, timeout=0).generation == 3


def test_a_slab_has_one_writer_and_a_reader_one_place() -> None:
    """A second writer, a reader that the slab was not made for, and a second one of its number, are refused."""
    shop = Shop(readers=2)
    with pytest.raises(UsageError, match=r"Slab 'slab' has a writer, process \d+"):
        Slab(rt=RT, buffer=shop.memory, name="slab")
    with pytest.raises(UsageError, match="has 2 readers, and none is 2"):
        SlabReader(rt=RT, buffer=shop.memory, name="slab", reader=2)
    with pytest.raises(UsageError, match=r"has its reader 1 already, process \d+\. Give each reader a number"):
        SlabReader(rt=RT, buffer=shop.memory, name="slab", reader=1)


def test_a_slot_gets_its_memory_when_it_is_first_lent() -> None:
    """A slab is worth what was used of it; a slot that cannot get memory is not lost."""
    geometry = Geometry([SlotClass(1 << 16, 2)])
    with Segment.create(geometry.nbytes, name="slab", reserved=geometry.words_bytes) as segment:
        geometry.lay(segment.view)
        prepared: list[tuple[int, int]] = []

        def prepare(offset: int, nbytes: int) -> None:
            prepared.append((offset, nbytes))
            if len(prepared) == 1:
                raise EnvironmentMissing("No memory.", "Free some.")
            segment.reserve(offset, nbytes)

        slab = Slab(rt=RT, buffer=segment.view, name="slab", prepare=prepare)
        before = _allocated(segment)
        with pytest.raises(EnvironmentMissing):
            slab.loan(8, timeout=0)
        for _ in range(3):
            slab.loan(8, timeout=0).abort()
        assert prepared == [geometry.spans[0]] * 2
        assert _allocated(segment) - before == 1 << 16


def _allocated(segment: Segment) -> int:
    return os.fstat(segment.fd).st_blocks * 512


@pytest.mark.parametrize(
    "classes", [[], [(100, 1)], [(32, 1)], [(128, 1), (64, 1)], [(64, 1), (64, 1)], [(64, 0)], [(64, 1)] * 16]
)
def test_a_geometry_that_cannot_be_is_refused(classes: list[tuple[int, int]]) -> None:
    """Sizes rise, and are powers of two; there are slots of each."""
    with pytest.raises(UsageError, match="Give rising powers of two"):
        Geometry([SlotClass(*each) for each in classes])


@pytest.mark.parametrize(
    ("offset", "value", "complaint"),
    [(0, b"x", "magic"), (12, b"\1", "kind"), (128, struct.pack("<I", 99), "geometry: it needs"),
     (132, struct.pack("<I", 99), "geometry: 99 classes"), (136, struct.pack("<Q", 100), "geometry: slots of"),
     (144, struct.pack("<Q", 1 << 40), "geometry: .* slots"), (132, bytes(4), "geometry: 0 classes")],
)  # fmt: skip
def test_a_header_that_disagrees_is_refused(offset: int, value: bytes, complaint: str) -> None:
    """Whatever the bytes say, no slot lies outside the segment."""
    shop = Shop()
    shop.memory[offset : offset + len(value)] = value
    with pytest.raises(FormatError, match=complaint):
        Geometry.read(shop.memory, "slab")


def test_the_words_and_slots_of_a_slab_lie_where_the_picture_says() -> None:
    """Each reader's words on lines of their own, the slots from a page's start on, the smallest first."""
    geometry = Geometry([SlotClass(64, 17), SlotClass(128, 1)], readers=2)
    assert geometry.generation_word(17) == 512 // 8 + 17
    assert [geometry.signature_word(0), geometry.release_word(17, 0)] == [(512 + 256) // 8, (512 + 256 + 128) // 8 + 17]
    assert [geometry.signature_word(1), geometry.release_word(0, 1)] == [(512 + 640) // 8, (512 + 640 + 128) // 8]
    assert [geometry.spans[0], geometry.spans[16], geometry.spans[17]] == [(4096, 64), (5120, 64), (5184, 128)]
    assert geometry.nbytes == 8192


@pytest.mark.parametrize("shape", [(4, 6), (0, 3), ()], ids=str)
def test_a_loan_is_filled_with_an_array_and_sent_as_that(shape: tuple[int, ...]) -> None:
    """One copy, contiguous or not; the message is one record, and its reader builds the same array over the slot."""
    shop = Shop()
    array = np.array(np.arange(math.prod(shape)).reshape(shape), np.int16, order="F")
    loan = shop.slab.loan(200, timeout=0)
    loan.fill(array)
    loan.commit(shop.writers[0], timeout=0)
    assert shop.writers[0].lane.counts().written == 1
    message = shop.readers[0].take()
    assert message is not None
    received = from_tensor(message.tensors[0])
    assert (message.body, received.dtype, received.shape) == (b"", np.int16, shape)
    assert received.tolist() == array.tolist()


def test_a_loan_takes_no_array_that_is_larger() -> None:
    """It stays as it is, and the caller's."""
    shop = Shop()
    loan = shop.slab.loan(8, timeout=0)
    with pytest.raises(UsageError, match="need 16 bytes, and the loan has 8"):
        loan.fill(np.zeros(2))
    loan.view[:] = b"as it is"
    loan.commit(shop.writers[0], timeout=0)
    message = shop.readers[0].take()
    assert message is not None
    assert bytes(message.tensors[0].data) == b"as it is"


def test_a_slot_on_its_way_to_a_dead_reader_is_lent_to_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread gets none meanwhile: the send may fail yet, and the loan is then as before."""
    shop = Shop([SlotClass(64, 1)])
    shop.slab.forget(0)
    loan = shop.slab.loan(64, timeout=0)

    def fail(*_: object, timeout: float) -> None:
        with pytest.raises(Full, match="readers hold 0"):
            shop.slab.loan(64, timeout=timeout)
        raise Full("The lane has no room.")

    monkeypatch.setattr(shop.writers[0], "send", fail)
    with pytest.raises(Full, match="no room"):
        loan.commit(shop.writers[0], timeout=0)
    loan.view[:2] = b"ok"
    monkeypatch.undo()
    loan.commit(shop.writers[0], timeout=0)
    message = shop.readers[0].take()
    assert message is not None
    assert bytes(message.tensors[0].data[:2]) == b"ok"
