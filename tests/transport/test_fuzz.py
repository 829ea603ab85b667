"""Hostile bytes, by the hundred thousand: valid messages or `FormatError`, and nothing else happens."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omni_ipc.errors import EnvironmentMissing, FormatError
from omni_ipc.serving.messages import Command, Reply
from omni_ipc.transport import wire
from omni_ipc.transport.assembly import Assembly
from omni_ipc.transport.geometry import Geometry
from omni_ipc.transport.layout import (
    FIRST,
    FRAGMENT,
    RECORDS_TAKEN,
    Kind,
    Signature,
)
from omni_ipc.transport.liveness import ending
from omni_ipc.transport.packing import Leaf, Packed, unpack
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.tensor import Framework, Tensor
from tests.support.forging import Forger
from tests.support.generated import BLANKS, ENVELOPES, MESSAGES, NODES, PLAIN, SMALL, laid
from tests.support.hostile import GEOMETRY, LIMIT, RING_BYTES, Victim, recordings
from tests.support.lanes import ROOT, plain_lane

CASES, PROCESSES = 200_000, 2


def fuzz(seed: int, cases: int, processes: int = PROCESSES) -> list[dict[str, Any]]:
    """Run cases in processes of their own, side by side, and return their reports."""
    command = [sys.executable, "-m", "tests.support.fuzz"]
    running = [
        subprocess.Popen(
            [*command, str(seed + number), str(cases // processes)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        for number in range(processes)
    ]
    try:
        ended = [(child.communicate()[0], child.returncode) for child in running]
    finally:
        for child in running:
            child.kill()
            child.wait()
    return [json.loads(text) if code in (0, 1) else pytest.fail(f"It crashed: {code}.") for text, code in ended]


def check_reports(reports: list[dict[str, Any]]) -> None:
    """Expect no finding, and that the cases went deep: many got messages through, and many did not."""
    for report in reports:
        print({key: value for key, value in report.items() if key != "finding"})
        assert report["finding"] is None, f"seed {report['seed']}: {report['finding']}"
        assert report["cases"] // 4 < report["delivering"] < report["cases"] * 3 // 4
        assert report["peak_bytes"] > 0


def test_200_000_forged_rings_and_slabs_give_valid_messages_or_format_errors() -> None:
    """Bytes flipped, cut, spliced, fields set to what hurts: nothing is executed, opened, or allocated for."""
    check_reports(fuzz(1, CASES))


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_millions_of_forged_rings_of_new_seeds_give_no_finding_either() -> None:
    """The seed is told, so that a finding can be had again."""
    check_reports(fuzz(time.time_ns() % 1_000_000, 20 * CASES))


def test_a_case_can_be_had_again_by_seed_and_number() -> None:
    """Whatever came before it; other numbers and seeds are other cases."""
    made = recordings()
    one, two = Forger(made, 7), Forger(made, 7)
    one.case(1)
    assert one.case(2) == two.case(2)
    assert one.case(3) != two.case(2)
    assert Forger(made, 8).case(2) != two.case(2)


@pytest.mark.parametrize(
    ("act", "told"),
    [
        ("exec('1')", "led to compile"),
        ("import colorsys", "led to import"),
        ("open('/dev/null')", "led to open"),
        ("bytearray(1 << 20)", "bytes were allocated"),
        ("bytearray(1 << 30)", "MemoryError"),
        ("raise KeyError(1)", "KeyError"),
        ("self._lane[-1] ^= 1", "the reader wrote into the ring"),
        ("self._slab[600] ^= 1", "the reader wrote to the writer's words"),
        ("self._slab[-1] ^= 1", "the reader wrote into a slot"),
    ],
)
def test_what_a_reader_must_not_do_is_a_finding(act: str, told: str) -> None:
    """The harness sees each of them."""
    script = f"""
import sys
from tests.support import fuzz, hostile

class Wrong(hostile.Victim):
    def _receive_all(self):
        sys.modules.pop("colorsys", None)
        {act}
        return super()._receive_all()

fuzz.Victim = Wrong
sys.modules["torch"] = None  # not needed here
sys.exit(fuzz.main(1, 1))
"""
    ended = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (1, "")
    assert told in json.loads(ended.stdout)["finding"]


# Generated cases: well-formed where mutations rarely are, and wrong in meaning


@pytest.fixture(scope="module")
def victim() -> Victim:
    """One reader's memory, which has read every honest recording."""
    victim = Victim()
    for recording in recordings():
        assert victim.read(recording.lane, recording.slab)
    return victim


@settings(max_examples=2000)
@given(messages=st.lists(MESSAGES, min_size=1, max_size=4), start=st.sampled_from(sorted(BLANKS)))
def test_2_000_generated_rings_give_valid_messages_or_format_errors(
    victim: Victim, messages: list[list[tuple[int, bytes]]], start: int
) -> None:
    """Records in any order, of any kind, with any numbers in the right places; memory stays within the limit."""
    recording = laid(messages, start)
    tracemalloc.start()
    try:
        victim.read(recording.lane, recording.slab)
        assert tracemalloc.get_traced_memory()[1] <= 32 * LIMIT
    finally:
        tracemalloc.stop()


@settings(max_examples=500)
@given(data=st.binary(max_size=60) | PLAIN.map(wire.encode) | ENVELOPES.map(wire.encode))
def test_any_bytes_are_decoded_as_their_type_or_refused(data: bytes) -> None:
    """Whatever the type that is asked for; nothing comes that is not of it."""
    for kind in (Reply, Command, Packed, wire.RemoteError):
        with contextlib.suppress(FormatError):
            assert isinstance(wire.decode(data, kind), kind)


TENSORS = st.builds(
    lambda framework, dtype, shape: Tensor(framework, dtype, tuple(shape), memoryview(bytes(np.prod(shape) * 4))),
    st.sampled_from(Framework),
    st.sampled_from(["float32", "int32"]),
    st.lists(SMALL, max_size=3),
)


@pytest.mark.filterwarnings("ignore:The given buffer is not writable:UserWarning")
@settings(max_examples=500)
@given(node=NODES, tensors=st.lists(TENSORS, max_size=3))
def test_any_tree_is_built_of_its_tensors_or_refused(node: Any, tensors: list[Tensor]) -> None:
    """Each tensor stands in it once, or it is no tree."""
    with contextlib.suppress(FormatError, EnvironmentMissing):
        packed = wire.decode(wire.encode((node,)), Packed)
        arrays = _arrays(unpack(packed, tensors))
        assert sorted(array.shape for array in arrays) == sorted(tensor.shape for tensor in tensors)


def _arrays(tree: Any) -> list[Any]:
    if isinstance(tree, list | tuple | dict):
        return [array for item in (tree.values() if isinstance(tree, dict) else tree) for array in _arrays(item)]
    return [tree] if hasattr(tree, "shape") else []


@settings(max_examples=500)
@given(edits=st.lists(st.tuples(st.integers(0, 511), st.integers(0, 255)), min_size=1, max_size=4))
def test_a_forged_geometry_is_refused_or_lies_within_its_slab(edits: list[tuple[int, int]]) -> None:
    """Readers, classes and counts are the writer's word; no slot and no word of theirs lies outside the memory."""
    memory = memoryview(bytearray(GEOMETRY.nbytes))
    GEOMETRY.lay(memory)
    for place, value in edits:
        memory[place] = value
    with contextlib.suppress(FormatError):
        found = Geometry.read(memory, "forged")
        last = found.slots - 1
        assert sum(found.spans[last]) <= memory.nbytes
        assert found.release_word(last, found.readers - 1) * 8 < found.words_bytes


@pytest.mark.parametrize("kind", [Kind.TENSOR, Kind.FRAGMENT, Kind.MESSAGE])
def test_a_message_that_never_ends_cannot_grow_beyond_the_limit(kind: Kind) -> None:
    """Not even by records without a body, which alone would meet no limit of bytes."""
    assembly = Assembly(LIMIT)
    tracemalloc.start()
    try:
        with contextlib.suppress(FormatError):
            for sequence in range(20_000):
                body = FRAGMENT.pack(sequence, 1 << 31, LIMIT, Kind.MESSAGE) if kind is Kind.FRAGMENT else b""
                assembly.feed(kind if sequence else Kind.MESSAGE, FIRST * (not sequence), sequence, bytearray(body))
        assert tracemalloc.get_traced_memory()[0] <= 16 * LIMIT
    finally:
        tracemalloc.stop()


def test_a_writer_that_signed_with_the_id_of_a_thread_is_taken_for_dead() -> None:
    """Any number may stand in the header; what it gives is an answer, and no error of the machine."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        for pid in (thread.native_id or 0, os.getppid(), (1 << 22) - 1, 1 << 31, (1 << 64) - 1):
            assert ending(Signature(pid, 5)) is not None
    finally:
        over.set()
        thread.join()


def test_a_count_of_records_that_would_overflow_is_refused() -> None:
    """When the reader attaches, and not later, by an error of arithmetic."""
    lane = plain_lane(RING_BYTES)
    lane.words.store(RECORDS_TAKEN, (1 << 64) - 1)
    with pytest.raises(FormatError, match="records taken: 18446744073709551615"):
        LaneReader(lane)


@pytest.mark.parametrize(
    ("framework", "dtype", "shape", "complaint"),
    [
        (Framework.NUMPY, "uint8", (1 << 63, 0), "shape: no uint8 array can have"),
        (Framework.TORCH, "uint8", (1 << 63, 0), "shape: no uint8 array can have"),
        (Framework.NUMPY, "bfloat16", (0,), "dtype: numpy has no bfloat16"),
    ],
)
def test_an_array_that_cannot_be_is_refused(
    framework: Framework, dtype: str, shape: tuple[int, ...], complaint: str
) -> None:
    """Its fields do not disagree, and yet no framework has such a shape, or numpy no such element type."""
    if framework is Framework.TORCH:
        pytest.importorskip("torch")
    with pytest.raises(FormatError, match=complaint):
        unpack(Packed(Leaf(0)), [Tensor(framework, dtype, shape, memoryview(b""))])
