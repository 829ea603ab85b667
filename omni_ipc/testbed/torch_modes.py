"""Modes of torch that belong to the OS thread: gradients, inference, autocast, and modes of functions.

Real threads have their own, and tasks, which stand for threads, share one OS thread. So once a task switches one on,
each gets its own: they are taken off the OS thread when another task goes on, and put on again when their task does.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

from omni_ipc.testbed.kernel import Kernel
from omni_ipc.testbed.standard.redirecting import Method, Redirect
from omni_ipc.testbed.standard.sealed import Undo, exchange
from omni_ipc.testbed.standard.world import running
from omni_ipc.testbed.tasks import Task

_MAIN = 0  # has the modes of who explores; other threads begin without any


class _Modes:
    """Those of one task, while another one runs.

    Attributes:
        inference: its blocks of ``torch.inference_mode``, each with whether there were gradients around it.
    """

    def __init__(self) -> None:
        self.inference: list[tuple[Any, bool]] = []
        self._gradients = True
        self._autocast: dict[str, tuple[bool, Any]] = {}
        self._nesting = 0
        self._caches = True
        self._functions: list[Any] = []

    def take_off(self, torch: Any, devices: dict[str, Any]) -> None:
        """Take them off the OS thread."""
        self._gradients = torch.is_grad_enabled()
        self._autocast = {at: (torch.is_autocast_enabled(at), torch.get_autocast_dtype(at)) for at in devices}
        self._caches = torch.is_autocast_cache_enabled()
        self._nesting = torch.autocast_increment_nesting() - 1
        while torch.autocast_decrement_nesting():
            pass
        if self._nesting:
            torch.clear_autocast_cache()  # of weights, which others may change meanwhile
        stack = range(torch._C._len_torch_function_stack())
        self._functions = [torch._C._pop_torch_function_stack() for _ in stack]
        for block, _ in reversed(self.inference):
            block._inference_mode_context.__exit__(None, None, None)

    def put_on(self, torch: Any, devices: dict[str, Any]) -> None:
        """Put them on the OS thread, from which those of another task were taken off."""
        for block, gradients in self.inference:
            torch._C._set_grad_enabled(gradients)
            block._inference_mode_context = torch._C._InferenceMode(block.mode)
            block._inference_mode_context.__enter__()
        torch._C._set_grad_enabled(self._gradients)
        for mode in reversed(self._functions):
            torch._C._push_on_torch_function_stack(mode)
        for device, dtype in devices.items():
            is_on, chosen = self._autocast.get(device, (False, dtype))
            torch.set_autocast_enabled(device, is_on)
            torch.set_autocast_dtype(device, chosen)
        torch.set_autocast_cache_enabled(self._caches)
        for _ in range(self._nesting):
            torch.autocast_increment_nesting()


class _Threads:
    """The modes of all tasks of a run, from the moment on when one of them is switched on.

    Attributes:
        devices: types of devices for which autocast was switched, with the dtype that it has there by default.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._torch: Any = sys.modules["torch"]
        self.devices: dict[str, Any] = {}
        self._of = {kernel.outside.index: _Modes(), _MAIN: _Modes()}
        self._at = kernel.outside.index
        self._default = getattr(self._torch._GLOBAL_DEVICE_CONTEXT, "device_context", None)
        self._device = _of_devices().CURRENT_DEVICE

    def begin(self) -> None:
        """Keep them apart from now on."""
        kernel = self._kernel
        main = self._of[_MAIN]  # begins with what is on outside
        main.take_off(self._torch, self.devices)
        main.put_on(self._torch, self.devices)
        self._go_on(kernel.current)
        kernel.follow(self._go_on)
        kernel.closers.append(self._end)

    @property
    def current(self) -> _Modes:
        """Those of the task that runs."""
        return self._of.setdefault(self._kernel.current.index, _Modes())

    def meet(self, device: str) -> None:
        """Keep apart, too, what tasks choose for a type of device."""
        if device not in self.devices:
            self.devices[device] = self._torch.get_autocast_dtype(device)

    def _end(self) -> None:
        self._go_on(self._kernel.outside)
        self._torch._GLOBAL_DEVICE_CONTEXT.device_context = self._default
        _of_devices().CURRENT_DEVICE = self._device
        del _THREADS[self._kernel]

    def _go_on(self, task: Task) -> None:
        if task.index != self._at:
            before, modes = (self._of.setdefault(index, _Modes()) for index in (self._at, task.index))
            self._at = task.index
            before.take_off(self._torch, self.devices)
            modes.put_on(self._torch, self.devices)


_THREADS: WeakKeyDictionary[Kernel, _Threads] = WeakKeyDictionary()


def _threads() -> _Threads | None:
    """Return those of the run that is on; None outside of runs, and if nobody has begun to switch before the end."""
    kernel = running()
    if kernel is None or (kernel.over and kernel not in _THREADS):
        return None
    if kernel not in _THREADS:
        _THREADS[kernel] = _Threads(kernel)
        _THREADS[kernel].begin()
    return _THREADS[kernel]


def redirects() -> Iterator[Redirect]:
    """Take note of modes that are switched on, if torch is there."""
    torch = _torch()
    if torch is None:
        return
    yield Redirect(torch._C, "_set_grad_enabled", _noting)
    yield Redirect(torch.overrides.TorchFunctionMode, "__enter__", _noting)
    yield Redirect(_of_devices().DeviceContext, "__enter__", _noting)  # which does not ask the one above
    yield Redirect(torch.inference_mode, "__enter__", _entering)
    yield Redirect(torch.inference_mode, "__exit__", _leaving)
    for name in ("set_autocast_enabled", "set_autocast_dtype"):
        yield Redirect(torch, name, _casting)


def patch() -> Iterator[Undo]:
    """Do the same with a class that is written in C; what is given puts it back."""
    torch = _torch()
    if torch is not None and sys.implementation.name == "cpython":
        yield exchange(torch.device, "__enter__", _noting)


def _torch() -> Any:
    torch = sys.modules.get("torch")
    return torch if hasattr(torch, "inference_mode") else None  # it may be just being imported


def _of_devices() -> Any:
    return importlib.import_module("torch.utils._device")  # which torch itself imports when it is first needed


def _noting(original: Method) -> Method:
    @functools.wraps(original)
    def switch(*args: Any, **options: Any) -> Any:
        _threads()
        return original(*args, **options)

    return switch


def _casting(original: Method) -> Method:
    @functools.wraps(original)
    def switch(*args: Any, **options: Any) -> Any:
        device = args[0] if args else options.get("device_type")
        if isinstance(device, str) and (threads := _threads()) is not None:
            threads.meet(device)
        return original(*args, **options)

    return switch


def _entering(original: Method) -> Method:
    @functools.wraps(original)
    def enter(block: Any) -> None:
        threads = _threads()
        gradients = sys.modules["torch"].is_grad_enabled()
        original(block)
        if threads is not None:
            threads.current.inference.append((block, gradients))

    return enter


def _leaving(original: Method) -> Method:
    @functools.wraps(original)
    def leave(block: Any, *error: Any) -> None:
        original(block, *error)
        if (threads := _threads()) is not None:
            blocks = threads.current.inference
            blocks[:] = [known for known in blocks if known[0] is not block]

    return leave
