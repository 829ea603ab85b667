"""Copies off the devices of torch: behind the computation, and ended before anybody looks at them."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from omni_ipc.device.api import Device, open_device
from omni_ipc.device.host import HostDevice
from omni_ipc.errors import DeviceLost, UsageError
from omni_ipc.transport.bell import create_doorbell
from omni_ipc.transport.channel import LaneSender, PortReceiver
from omni_ipc.transport.geometry import Geometry, SlotClass
from omni_ipc.transport.layout import DOORBELL_BYTES
from omni_ipc.transport.lease import SlabReader
from omni_ipc.transport.loan import Loan
from omni_ipc.transport.memory import Segment
from omni_ipc.transport.packing import pack
from omni_ipc.transport.port import Port
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.slab import Slab
from omni_ipc.transport.writer import LaneWriter
from tests.support.lanes import ROOT, RT, plain_lane
from tests.support.slabs import Note

KINDS = pytest.mark.parametrize(
    "kind", [pytest.param("cuda", marks=pytest.mark.cuda), pytest.param("xpu", marks=pytest.mark.xpu)]
)


@KINDS
def test_a_copy_waits_for_the_computation_that_it_copies(kind: str) -> None:
    """The stream that computes is busy for a while; the copy shows its result all the same."""
    import torch

    device = open_device(kind)
    tensor = torch.zeros(1 << 20, device=device.name)
    work = torch.full((4096, 4096), 1 / 4096, device=device.name)
    for _ in range(50):
        work = work @ work
    tensor += work[0, 0] * 4096
    host = device.to_host([{"t": tensor, "n": 3}, np.zeros(1)], after=device.record())
    assert host[0]["t"].device.type == "cpu"
    assert bool((host[0]["t"] - 1).abs().max() < 0.01)
    assert (host[0]["n"], host[1].tolist()) == (3, [0])


@KINDS
def test_the_device_s_tensor_may_be_overwritten_after_the_copy(kind: str) -> None:
    """On return the copy has ended: it shows none of what comes later, in any shape or type."""
    import torch

    device = open_device(f"{kind}:0")
    sent = [
        torch.arange(12, device=device.name).reshape(3, 4).T,
        torch.ones((), dtype=torch.bfloat16, device=device.name),
        torch.empty((2, 0), device=device.name),
    ]
    host = device.to_host(tuple(sent), after=device.record())
    for tensor in sent:
        tensor.zero_()
    device.synchronize()
    assert [tensor.tolist() for tensor in host] == [np.arange(12).reshape(3, 4).T.tolist(), 1.0, [[], []]]


@KINDS
def test_what_is_conjugated_or_negated_only_in_name_arrives_as_what_it_is(kind: str) -> None:
    """Torch would do it to the host's buffer before the copy is there; small, by a pinned buffer, and large."""
    import torch

    device = open_device(kind)
    for count in (4, 1 << 20):
        x = torch.complex(torch.full((count, 2), 1.0), torch.full((count, 2), 2.0)).to(device.name)
        lazy = [x.conj(), x.mH, x.conj().imag]
        assert [(each.is_conj(), each.is_neg()) for each in lazy] == [(True, False), (True, False), (False, True)]
        host = device.to_host(lazy, after=device.record())
        assert [each.unique().tolist() for each in (host[0].real, host[0].imag)] == [[1.0], [-2.0]]
        assert [each.unique().tolist() for each in (host[1].real, host[1].imag)] == [[1.0], [-2.0]]
        assert host[2].unique().tolist() == [-2.0]


@pytest.mark.torch
def test_a_copy_is_issued_of_nothing_that_is_conjugated_or_negated_only_in_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What torch does to the host's buffer behind a copy that nobody waits for comes too early."""
    import torch

    from omni_ipc.device.accelerator import Accelerator

    copied: list[tuple[bool, bool, list[float]]] = []

    class Buffer:
        def copy_(self, source: torch.Tensor, *, non_blocking: bool) -> None:
            copied.append((source.is_conj(), source.is_neg(), torch.view_as_real(source).tolist()[0]))

    device = Accelerator.__new__(Accelerator)
    vars(device).update(_device=torch.device("cpu"), _memory=None)
    x = torch.tensor([1 + 2j])
    monkeypatch.setattr(torch, "empty", lambda *_, **__: Buffer())
    for lazy in (x.conj(), torch._neg_view(x)):
        device._issue_copy(lazy)
    assert copied == [(False, False, [1.0, -2.0]), (False, False, [-1.0, -2.0])]


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore::UserWarning")  # torch says of each that it is a prototype, or deprecated
def test_what_is_more_than_its_elements_is_left_as_it_is() -> None:
    """No copy of it is begun, which would fail for all others as well; they are copied, and it is refused when sent."""
    import torch

    from omni_ipc.device.accelerator import Accelerator

    device = Accelerator.__new__(Accelerator)
    vars(device).update(_device=torch.device("cpu"), _memory=None)
    ones = torch.ones(2, 2)
    for value in (
        ones.to_sparse(),
        ones.to_sparse_csr(),
        torch.nested.nested_tensor([ones, ones]),
        torch.nested.nested_tensor([ones[0], ones[0]], layout=torch.jagged),
        torch.quantize_per_tensor(ones, 0.1, 0, torch.qint8),
    ):
        assert device._issue_copy(value) is value
        with pytest.raises(UsageError, match="which cannot travel"):
            pack(value)


@KINDS
def test_a_sparse_output_leaves_those_beside_it_alone(kind: str) -> None:
    """They come to the host; it stays, and says what to give in its place when it is sent."""
    import torch

    device = open_device(kind)
    dense = torch.ones(4, 4, device=device.name)
    host = device.to_host([dense, dense.to_sparse()], after=device.record())
    assert host[0].tolist() == dense.tolist()
    with pytest.raises(UsageError, match=r"tensor\.to_dense\(\)"):
        pack(host[1])


@KINDS
def test_freed_device_memory_is_not_read(kind: str) -> None:
    """The output may be dropped while it is being copied: many rounds, each with a value of its own."""
    import torch

    device = open_device(kind)
    for value in range(50):
        host = device.to_host(torch.full((1 << 18,), value, device=device.name), after=device.record())
        gc.collect()
        assert host.unique().tolist() == [value]


@pytest.mark.cuda
def test_a_thread_that_has_adopted_a_device_opens_nothing_on_the_first_one() -> None:
    """In a process of its own: a copy by a thread leaves no context there, and "cuda" is the adopted one."""
    import torch

    if torch.cuda.device_count() < 2:
        pytest.skip("there is no second CUDA device")
    program = """if True:
        import ctypes, threading, torch
        from omni_ipc.device.api import open_device

        def bring():
            device.adopt()
            (host,) = device.to_host([torch.ones(1 << 16, device="cuda")], after=device.record())
            flags, active = ctypes.c_uint(), ctypes.c_int()
            ctypes.CDLL("libcuda.so.1").cuDevicePrimaryCtxGetState(0, ctypes.byref(flags), ctypes.byref(active))
            print(int(host.sum()), torch.cuda.current_device(), active.value)

        device = open_device("cuda:1")
        device.adopt()
        thread = threading.Thread(target=bring)
        thread.start()
        thread.join()
    """
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.stdout == "65536 1 0\n", done.stderr


@KINDS
def test_an_event_of_another_device_is_refused(kind: str) -> None:
    """A host event orders nothing on a stream of the device."""
    with pytest.raises(UsageError, match="after= is a HostEvent"):
        open_device(kind).to_host([], after=HostDevice().record())


@contextmanager
def sending_slab(device: Device) -> Iterator[tuple[Slab, LaneSender[Note], PortReceiver[Note]]]:
    """Make a slab in shared memory that the device copies into, and the two ends of a lane that uses it."""
    geometry = Geometry([SlotClass(1 << 20, 2)])
    doorbell = create_doorbell(rt=RT, buffer=memoryview(bytearray(DOORBELL_BYTES)))
    lane = plain_lane(8 << 20)
    with Segment.create(geometry.nbytes, name="slab", reserved=geometry.words_bytes) as segment:
        geometry.lay(segment.view)

        def prepare(offset: int, nbytes: int) -> None:
            segment.reserve(offset, nbytes)
            device.pin(segment.view[offset : offset + nbytes])

        slab = Slab(rt=RT, buffer=segment.view, name="slab", prepare=prepare)
        reader = LaneReader(lane, slab=SlabReader(rt=RT, buffer=segment.view, name="slab"))
        device.land_in(slab)
        try:
            port = Port(rt=RT, lanes=[reader], doorbell=doorbell)
            writer = LaneWriter(lane, doorbell=doorbell)
            yield slab, LaneSender(writer, timeout=1, slab=slab), PortReceiver(port, Note)
        finally:
            device.close()


@KINDS
def test_a_copy_off_the_device_lands_in_the_slab_and_is_sent_from_there(kind: str) -> None:
    """One copy, device to host, and none after it; what is small or finds no room goes by a pinned buffer."""
    import torch

    device = open_device(kind)
    with sending_slab(device) as (slab, sender, receiver):
        sent = [torch.full((1 << 18,), value, dtype=torch.float32, device=device.name) for value in range(3)]
        small = torch.arange(3, device=device.name)
        host = device.to_host({"large": sent, "small": small}, after=device.record())
        assert [isinstance(item, Loan) for item in host["large"]] == [True, True, False]
        sender.send(Note(), host)
        arrived = receiver.receive(0).unpack()
        assert [tensor.unique().tolist() for tensor in arrived["large"]] == [[0.0], [1.0], [2.0]]
        assert arrived["small"].tolist() == [0, 1, 2]
        assert slab.held() == 2
        del arrived
        assert slab.held() == 0


@pytest.mark.cuda
def test_memory_of_a_slab_is_pinned_on_first_use_and_given_back() -> None:
    """Copies into it need no staging by the driver; and the next worker's slab may lie at the same address."""
    import torch

    device = open_device("cuda")
    for _ in range(2):
        with sending_slab(device) as (slab, _, _):
            loan = slab.loan(1 << 20, timeout=0)
            assert loan.as_torch("uint8", (1 << 20,)).is_pinned()
            source = torch.ones(1 << 20, dtype=torch.uint8, device=device.name)
            loan.as_torch("uint8", (1 << 20,)).copy_(source, non_blocking=True)
            loan.ready_after(device.record())
            loan.settle()
            assert set(loan.view[:100]) == {1}
            loan.abort()
            del loan


@pytest.mark.cuda
def test_memory_that_cuda_refuses_to_pin_costs_nothing_but_time() -> None:
    """Here because it is pinned already: the kernels that the same thread launches next are none the worse for it."""
    import torch

    device = open_device("cuda")
    with Segment.create(1 << 20, name="slab") as segment:
        device.pin(segment.view)
        device.pin(segment.view)
        assert torch.ones(4, device=device.name).mul(2).tolist() == [2, 2, 2, 2]
        device.close()


@pytest.mark.torch
def test_a_device_that_fails_at_an_event_is_lost_to_its_process() -> None:
    """It waits for nothing there, so what fails is what was before; the sentence is the first of torch's."""
    from omni_ipc.device.accelerator import Accelerator

    told = "CUDA error: device-side assert triggered"

    def record(stream: object) -> None:
        raise RuntimeError(f"{told}\nCUDA kernel errors might be asynchronously reported at some other API call.")

    device = Accelerator.__new__(Accelerator)
    vars(device).update(name="cuda:0", _side=None, _event=lambda: SimpleNamespace(record=record))
    with pytest.raises(DeviceLost, match=rf"cuda:0 answers this process no more: {told}\. Look at"):
        device.require_usable()


@pytest.mark.cuda
def test_cuda_is_lost_behind_an_assertion_and_not_behind_a_lack_of_memory() -> None:
    """In a process of its own, which ends with it."""
    program = """if True:
        import torch
        from omni_ipc.device.api import open_device
        from omni_ipc.errors import DeviceLost
        device = open_device("cuda")
        for ask in (lambda: torch.empty(1 << 50, device="cuda"), lambda: torch.zeros(1, device="cuda").fill_("text")):
            try:
                ask()
            except Exception as error:
                device.require_usable()
                print("survived", type(error).__name__)
        beyond = torch.zeros(1, device="cuda")[torch.tensor([5], device="cuda")]
        try:
            device.to_host([beyond], after=device.record())
        except Exception as error:
            try:
                device.require_usable()
            except DeviceLost as lost:
                print(lost)
    """
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.stdout.count("survived") == 2, done.stderr
    assert "cuda:0 answers this process no more: CUDA error: device-side assert triggered." in done.stdout


@pytest.mark.torch
@pytest.mark.parametrize("is_lost", [False, True])
@pytest.mark.parametrize("calls_it", ["empty_host_cache", "_host_emptyCache", ""])
def test_a_device_that_is_closed_gives_back_what_torch_keeps(
    calls_it: str, is_lost: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker's process is used again, and its memory would be that of the largest outputs, and of all weights."""
    import torch

    from omni_ipc.device.accelerator import Accelerator

    closed: list[str] = []

    def giving_back(what: str) -> Callable[[], None]:
        def give_back() -> None:
            closed.append(what)
            if is_lost:
                raise RuntimeError("CUDA error: an illegal memory access was encountered")

        return give_back

    named = SimpleNamespace(**{calls_it: giving_back("buffers")})
    monkeypatch.setattr(torch, "accelerator", named)
    monkeypatch.setattr(torch, "_C", named)
    device = Accelerator.__new__(Accelerator)
    device._torch = SimpleNamespace(empty_cache=giving_back("memory"))
    device.close()
    assert closed == (["buffers"] if calls_it else []) + ["memory"]


@pytest.mark.cuda
def test_a_cuda_device_that_is_closed_keeps_no_memory() -> None:
    """Torch has given back to the driver what nobody looks at."""
    import torch

    device = open_device("cuda")
    weights = torch.ones(256 << 20, dtype=torch.uint8, device=device.name)
    device.to_host([weights], after=device.record())
    del weights
    gc.collect()
    kept = torch.cuda.memory_reserved(device.name)
    device.close()
    assert kept - torch.cuda.memory_reserved(device.name) >= 256 << 20
