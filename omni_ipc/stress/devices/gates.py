"""Places at which a stream of CUDA's stops until the host lets it go on: words in pinned memory that the device reads.

    host                                    stream of the device
    gate.hold(stream)  ── wait value ─────► ... stops here
    gate.open(number)  ── store to word ──► goes on

What is ordered so is not known to CUDA. So a gate never stays closed for ever: see `Deadline`.
"""

from __future__ import annotations

import ctypes
from typing import Any, Protocol

import torch

from omni_ipc.errors import EnvironmentMissing, Timeout
from omni_ipc.seam.api import Runtime, Task

_WAIT_VALUE_GEQ = 0
_OPEN_FOR_EVER = 0x3FFF_FFFF  # no gate is passed so often; compared as a signed difference of 32 bits
_PROBE_S = 2.0
_POLL_S = 0.001
_REMEDY = "The streams of conducted runs are held back by the host instead; nothing is left out."


class Gate(Protocol):
    """Where one stream stops."""

    def hold(self, stream: Any) -> int:
        """Let a stream (of torch's) stop here; returns the number to `open`."""

    def open(self, number: int) -> None:
        """Let the stream go on behind that hold, and all before it."""

    def open_for_ever(self) -> None:
        """Let no hold stop anybody any more."""


class Driver:
    """As much of CUDA's driver as gates need.

    Raises:
        EnvironmentMissing: there is no driver, or one without waits for values.
    """

    def __init__(self) -> None:
        try:
            cuda = ctypes.CDLL("libcuda.so.1")
            self._wait = cuda.cuStreamWaitValue32_v2
        except (OSError, AttributeError) as error:
            raise EnvironmentMissing(f"CUDA's driver has no cuStreamWaitValue32: {error}.", _REMEDY) from None
        self._cuda = cuda
        self._wait.argtypes = (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint)
        cuda.cuMemHostGetDevicePointer_v2.argtypes = (ctypes.POINTER(ctypes.c_uint64), ctypes.c_void_p, ctypes.c_uint)
        cuda.cuCtxGetCurrent.argtypes = (ctypes.POINTER(ctypes.c_void_p),)
        cuda.cuCtxSetCurrent.argtypes = (ctypes.c_void_p,)
        cuda.cuGetErrorName.argtypes = (ctypes.c_int, ctypes.POINTER(ctypes.c_char_p))
        self._context = ctypes.c_void_p()
        self._check("cuCtxGetCurrent", cuda.cuCtxGetCurrent(ctypes.byref(self._context)))

    def address_on_device(self, address: int) -> int:
        """Tell where the device sees pinned memory of the host."""
        found = ctypes.c_uint64()
        status = self._cuda.cuMemHostGetDevicePointer_v2(ctypes.byref(found), address, 0)
        self._check("cuMemHostGetDevicePointer", status)
        return found.value

    def wait(self, stream: int, address: int, value: int) -> None:
        """Let a stream stop until the word at an address of the device is ``value``, or beyond."""
        self._check("cuCtxSetCurrent", self._cuda.cuCtxSetCurrent(self._context))  # of the calling thread
        self._check("cuStreamWaitValue32", self._wait(stream, address, value, _WAIT_VALUE_GEQ))

    def _check(self, call: str, status: int) -> None:
        if status == 0:
            return
        name = ctypes.c_char_p()
        self._cuda.cuGetErrorName(status, ctypes.byref(name))
        told = (name.value or b"an unknown error").decode()
        raise EnvironmentMissing(f"CUDA's driver answered {call} with {told} ({status}).", _REMEDY)


class DriverGate:
    """A gate that the device waits at by itself; holds of one stream come from one thread at a time."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._word = torch.zeros(1, dtype=torch.int32, pin_memory=True)
        self._address = driver.address_on_device(self._word.data_ptr())
        self._held = 0

    def hold(self, stream: Any) -> int:
        self._driver.wait(stream.cuda_stream, self._address, self._held + 1)
        self._held += 1
        return self._held

    def open(self, number: int) -> None:
        if number > int(self._word[0]):
            self._word[0] = number

    def open_for_ever(self) -> None:
        self._word[0] = _OPEN_FOR_EVER


def require_gates(clock: Runtime, device: str) -> Driver:
    """Try whether streams of a device can be held back by it; returns the driver that does.

    Args:
        clock: whose time passes.
        device: torch's name of it.

    Raises:
        EnvironmentMissing: they cannot.
    """
    with torch.cuda.device(torch.device(device)):
        stream: Any = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        gate = DriverGate(Driver())
        number = gate.hold(stream)
        passed: Any = torch.cuda.Event()  # type: ignore[no-untyped-call]
        passed.record(stream)
        held = not passed.query()
        gate.open(number)
        if not (_is_reached(clock, passed) and held):
            how = "was not held back" if not held else f"did not go on within {_PROBE_S:g} s"
            raise EnvironmentMissing(f"A stream of {device} {how} at a wait for a value.", _REMEDY)
        return gate._driver


def lets_pass(clock: Runtime, gate: Gate, held: Any, other: Any) -> bool:
    """Tell whether a stream goes on while another one is held; both may wait in one queue of the device's.

    Args:
        clock: whose time passes.
        gate: at which ``held`` is to stop meanwhile.
    """
    number = gate.hold(held)
    try:
        passed: Any = torch.cuda.Event()  # type: ignore[no-untyped-call]
        passed.record(other)
        return _is_reached(clock, passed)
    finally:
        gate.open(number)


def _is_reached(clock: Runtime, event: Any) -> bool:
    until = clock.now() + _PROBE_S
    while not event.query() and clock.now() < until:
        clock.sleep(_POLL_S)
    return bool(event.query())


class Deadline:
    """Opens a gate for ever if a stream is held at it for too long, whatever became of who was to open it.

    Args:
        name: of the task that watches.
    """

    def __init__(self, rt: Runtime, name: str, gate: Gate, longest_s: float) -> None:
        self._rt = rt
        self._name = name
        self._gate = gate
        self._longest_s = longest_s
        self._changed = rt.condition()
        self._held = 0  # guarded by _changed
        self._passed = 0  # guarded by _changed
        self._closed = False  # guarded by _changed
        self._task: Task | None = None  # guarded by _changed

    def held(self) -> None:
        """Count a hold."""
        with self._changed:
            self._held += 1
            self._task = self._task or self._rt.spawn(self._watch, name=self._name)
            self._changed.notify_all()

    def passed(self) -> None:
        """Count a hold that is behind."""
        with self._changed:
            self._passed += 1
            self._changed.notify_all()

    def close(self) -> None:
        """End the watch; nobody holds any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._task is not None:
            self._task.join()

    def _watch(self) -> None:
        with self._changed:
            while not self._closed:
                if self._changed.wait(self._longest_s if self._passed < self._held else None):
                    continue
                self._gate.open_for_ever()
                raise Timeout(
                    f"A stream was held back for {self._longest_s:g} s, and let go then. "
                    "Look at who was to take the next step: the schedule's refusal tells."
                )
