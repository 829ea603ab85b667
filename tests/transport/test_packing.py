"""Trees of arrays: what arrives is of the same framework, type, shape and bytes; what cannot travel is named."""

from __future__ import annotations

import collections
import dataclasses
import subprocess
import sys
import types
import warnings
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from omni_ipc.errors import FormatError, UsageError
from omni_ipc.transport import dtypes, wire
from omni_ipc.transport.packing import Bytes, Dict, Leaf, List, Packed, Tuple, pack, unpack
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.tensor import Framework, Tensor
from omni_ipc.transport.writer import LaneWriter
from tests.support.lanes import ROOT, plain_lane

torch = pytest.importorskip("torch")


def travelled(tree: Any, ring_bytes: int = 1 << 16) -> Any:
    """Send a tree over a lane, and build it again."""
    lane = plain_lane(ring_bytes)
    packed, tensors = pack(tree)
    LaneWriter(lane).send(wire.encode(packed), tensors, timeout=0)
    message = LaneReader(lane).take()
    assert message is not None
    return unpack(wire.decode(message.body, Packed), message.tensors)


def raw(tensor: Any) -> bytes:
    """Give the bytes of a torch tensor of any type."""
    return bytes(tensor.contiguous().reshape(-1).view(torch.uint8).numpy())


SCALARS = (
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text() | st.binary()
)
NUMPY_TYPES = st.sampled_from(sorted(dtypes.NUMPY_DTYPES)).map(np.dtype)
ARRAYS = NUMPY_TYPES.flatmap(lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, min_side=0, max_side=3)))
TREES = st.recursive(
    SCALARS | ARRAYS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers(0, 9) | st.binary(max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)


def same(left: Any, right: Any) -> bool:
    """Compare two trees, type by type, and arrays by their bytes."""
    if isinstance(left, np.ndarray):
        return (left.dtype, left.shape, left.tobytes()) == (right.dtype, right.shape, right.tobytes())
    if isinstance(left, list | tuple):
        return type(left) is type(right) and len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    return type(left) is type(right) and left == right


@given(tree=TREES)
def test_any_tree_of_arrays_and_scalars_arrives_as_it_was(tree: Any) -> None:
    """Containers keep their type and order, scalars theirs, arrays their type, shape and bytes."""
    assert same(travelled(tree), tree)


TORCH_TYPES = [name for code, name, _ in dtypes._TABLE if hasattr(torch, name)]


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental:UserWarning")
@pytest.mark.parametrize("name", TORCH_TYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 3)], ids=str)
def test_every_torch_type_arrives_with_its_raw_bytes(name: str, shape: tuple[int, ...]) -> None:
    """Nothing is widened, not even bfloat16 and float8."""
    dtype, count = getattr(torch, name), int(np.prod(shape))
    data = (
        bytearray(range(count * dtype.itemsize)) if dtype is not torch.bool else bytearray([1, 0, 1, 1, 0, 0][:count])
    )
    sent = torch.frombuffer(data, dtype=dtype).reshape(shape) if count else torch.empty(shape, dtype=dtype)
    arrived = travelled({"t": sent})["t"]
    assert (type(arrived), arrived.dtype, arrived.shape, raw(arrived)) == (torch.Tensor, dtype, sent.shape, raw(sent))


def test_every_torch_type_that_can_travel_is_in_the_table() -> None:
    """A new torch with a new element type is noticed here; quantised types need their scale, and stay out."""
    known = {str(value).removeprefix("torch.") for value in vars(torch).values() if isinstance(value, torch.dtype)}
    assert {name for name in known if not dtypes.travels(name)} <= {"qint8", "quint8", "qint32", "quint4x2", "quint2x4"}


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_a_view_travels_at_the_bytes_that_it_shows(library: str) -> None:
    """Not at those of the storage behind it: the defect view_storage_packing has no place here."""
    storage = np.arange(1_000_000, dtype=np.int64)
    view = (storage if library == "numpy" else torch.from_numpy(storage))[10:12]
    packed, tensors = pack([view])
    assert [tensor.data.nbytes for tensor in tensors] == [16]
    assert len(wire.encode(packed)) < 16
    assert travelled([view])[0].tolist() == [10, 11]


def test_an_array_that_is_not_contiguous_arrives_in_its_own_order() -> None:
    """Transposed, strided, reversed, broadcast, conjugated, negated: the elements are those that the caller sees."""
    array, tensor = np.arange(12).reshape(3, 4), torch.arange(12).reshape(3, 4)
    imaginary = torch.tensor([1 + 2j, 3 - 4j])
    sent = [
        array.T,
        array[::2, ::-1],
        np.broadcast_to(array[0], (2, 4)),
        tensor.T,
        tensor[:, ::3],
        tensor[0].expand(2, 4),
    ]
    sent += [imaginary.conj(), imaginary.conj().imag, torch._neg_view(tensor)]
    arrived = travelled(sent)
    assert [item.tolist() for item in arrived] == [item.tolist() for item in sent]


def test_a_single_element_of_a_view_arrives_whatever_its_stride() -> None:
    """To torch such a tensor is contiguous, and cannot be viewed as bytes."""
    for one in (torch.arange(10.0)[::2][:1], torch.arange(10.0)[3::4][:1].reshape(1, 1), torch.ones(4, 4).t()[:1, :1]):
        assert torch.equal(travelled(one), one)
    imaginary = torch.tensor([1 + 2j]).conj().imag
    assert torch.equal(travelled(imaginary), imaginary)


def test_a_tensor_whose_memory_is_gone_or_was_never_there_is_refused() -> None:
    """Its elements would be read from wherever they would lie."""
    freed = torch.ones(1000)
    freed.untyped_storage().resize_(16)
    with pytest.raises(UsageError, match="a Tensor without memory for its 4,000 bytes, which cannot travel"):
        pack(freed)
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.ones(3)
    with pytest.raises(UsageError, match="a FakeTensor without memory for its 12 bytes"):
        pack(fake)


def test_received_numpy_arrays_are_read_only_and_of_their_own() -> None:
    """Keeping one of them keeps its bytes alive, and no other's; torch tensors can be written, and touch nobody."""
    first, second, tensor = travelled([np.zeros(4), np.zeros(4), torch.zeros(4)])
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        first.flags.writeable = True
    tensor[:] = 1
    assert not np.shares_memory(first, second)
    assert second.tolist() == [0] * 4


def test_a_tensor_that_requires_gradients_arrives_as_its_values() -> None:
    """Its graph stays where it is."""
    arrived = travelled([torch.nn.Parameter(torch.ones(2))])[0]
    assert (arrived.tolist(), arrived.requires_grad) == ([1, 1], False)


class _Tagged(np.ndarray):  # type: ignore[type-arg]
    pass


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (np.array([object()]), r"a numpy array of object, .*array\.astype\('float32'\)"),
        (np.zeros(2, dtype=">f4"), "a numpy array of >f4"),
        (np.zeros(2, dtype="datetime64[s]"), r"a numpy array of datetime64\[s\], .*array\.view\('int64'\)"),
        (np.zeros(2, dtype=[("a", "i4")]), "a numpy array of"),
        (np.zeros(2).view(_Tagged), r"a _Tagged, .*numpy\.asarray\(value\)"),
        (np.float32(1), r"numpy\.float32.*\.item\(\)"),
        (torch.zeros(2, 2).to_sparse(), r"torch\.sparse_coo, .*tensor\.to_dense\(\)"),
        (torch.empty(2, device="meta"), r"on meta.*device\.to_host"),
        ({1, 2}, r"builtins\.set, which cannot travel"),
        (2**64, "an integer of more than 64 bits"),
        ("\ud800", "no text that UTF-8 can carry"),
    ],
)
def test_what_cannot_travel_is_named_by_its_path_and_with_a_remedy(value: object, complaint: str) -> None:
    """The caller learns which part of which output, and what to give instead."""
    with pytest.raises(UsageError, match=rf"^outputs\[0\]\.latents\[1\] is .*{complaint}"):
        pack([{"latents": (np.zeros(1), value)}], "outputs")


def test_a_quantised_tensor_is_refused() -> None:
    """Its bytes mean nothing without its scale, wherever it lies: no device copies it to the host either."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # torch tells once in each process that it will take this away
        quantised = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8)
        elsewhere = torch.empty(2, dtype=torch.qint8, device="meta")
    for value in (quantised, elsewhere):
        with pytest.raises(UsageError, match=r"int_repr\(\)"):
            pack(value)


def test_keys_are_named_too() -> None:
    """A key that cannot travel is told with the dict that it is in; odd keys are shown as they are."""
    with pytest.raises(UsageError, match=r"a key of output\.a is a builtins\.tuple"):
        pack({"a": {(1, 2): 3}})
    with pytest.raises(UsageError, match=r"output\['a b'\]\[7\] is a builtins\.set"):
        pack({"a b": {7: set()}})


def test_a_tree_that_contains_itself_is_refused() -> None:
    """Depth is bounded on both sides."""
    tree: list[Any] = []
    tree.append(tree)
    with pytest.raises(UsageError, match="deeper than 64 levels, or contains itself"):
        pack(tree)
    node: Any = None
    for _ in range(66):
        node = List([node])
    with pytest.raises(FormatError, match="deeper than 64 levels"):
        unpack(Packed(node), [])


@dataclasses.dataclass
class Output:
    """What a pipeline returns."""

    images: np.ndarray
    flags: list[bool]


class Timing(msgspec.Struct):
    """What it returns beside."""

    seconds: float


def test_dataclasses_and_structs_arrive_as_dicts_of_their_fields() -> None:
    """Classes do not travel, and nothing that the peer names is imported; who wants the class back builds it."""
    sent = Output(np.arange(3), [True])
    arrived = travelled({"output": sent, "timing": Timing(0.5)})
    assert arrived["timing"] == {"seconds": 0.5}
    assert same(dataclasses.asdict(Output(**arrived["output"])), dataclasses.asdict(sent))
    with pytest.raises(UsageError, match=r"output\.images is a builtins\.object"):
        pack(Output(object(), []))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"is a builtins\.type"):
        pack(Output)


def test_a_named_tuple_arrives_as_a_plain_one() -> None:
    """Classes do not travel."""
    point = collections.namedtuple("point", "x y")(1, np.zeros(1))
    assert type(travelled(point)) is tuple


def test_packing_leaves_the_tree_as_it_is() -> None:
    """Also when it fails half-way."""
    array = np.zeros(2)
    tree = {"a": [array], "b": object()}
    with pytest.raises(UsageError):
        pack(tree)
    assert list(tree) == ["a", "b"]
    assert tree["a"][0] is array  # type: ignore[index]


TENSOR = Tensor(Framework.NUMPY, "uint8", (1,), memoryview(b"a"))


@pytest.mark.parametrize(
    ("root", "tensors"),
    [(Leaf(0), 0), (Leaf(-1), 1), (Tuple([Leaf(0), Leaf(0)]), 1), (None, 1), (Dict([(Bytes(b"k"), Leaf(1))]), 1)],
)
def test_a_tree_and_tensors_that_do_not_belong_together_are_refused(root: Any, tensors: int) -> None:
    """A place without a tensor, a tensor without a place, one tensor in two places."""
    with pytest.raises(FormatError, match="tensor"):
        unpack(Packed(root), [TENSOR] * tensors)


def test_a_process_without_torch_packs_and_unpacks_numpy_and_says_what_is_missing_for_torch() -> None:
    """Torch is imported to build a torch tensor, and for nothing else."""
    code = """if True:
        import sys
        sys.modules["torch"] = None
        import numpy
        from omni_ipc.errors import EnvironmentMissing
        from omni_ipc.transport.packing import Leaf, Packed, pack, unpack
        from omni_ipc.transport.tensor import Framework, Tensor
        assert unpack(*pack([numpy.arange(3)]))[0].tolist() == [0, 1, 2]
        try:
            unpack(Packed(Leaf(0)), [Tensor(Framework.TORCH, "uint8", (1,), memoryview(b"a"))])
        except EnvironmentMissing as error:
            print(error)
    """
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "A torch tensor came, and torch is not installed here. pip install torch\n"


def test_values_travel_while_another_thread_imports_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is half imported has no tensors, and so no value is one."""
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    tree = {"seed": 7, "array": np.arange(3)}
    packed, tensors = pack(tree)
    assert [tensor.framework for tensor in tensors] == [Framework.NUMPY]
    assert unpack(packed, tensors)["array"].tolist() == [0, 1, 2]
