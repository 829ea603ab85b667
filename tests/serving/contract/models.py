"""Pipelines for the workers of these tests: one that sleeps, hangs, misbehaves, and one that dies at a named step."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from omni_ipc.device.api import DeviceEvent, HostMemory
from omni_ipc.device.host import HostDevice, HostEvent
from omni_ipc.errors import DeviceLost
from omni_ipc.pipelines.synthetic import Synthetic
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.requests import Request

EXIT_STATUS = 3
FAILURE = "out of descriptors, or of threads"


class Model(Synthetic):
    """Outputs of known bytes, from memory that it gives back when it sleeps; a prompt may ask for trouble."""

    calls = frozenset({"memory_bytes", "clear_cache"})
    frees = frozenset({"clear_cache"})

    def __init__(self, *, rt: Runtime, device: str = "cpu", nbytes: int = 1 << 16, forward_s: float = 0.0) -> None:
        super().__init__(rt=rt, device=device, nbytes=nbytes, forward_s=forward_s)
        self._begun: set[tuple[str, int]] = set()

    def forward(self, batch: Sequence[Request]) -> list[Any]:
        """Compute; a prompt may ask for an error, for an output that is none, or for one that never comes."""
        outputs = super().forward(batch)
        for index, request in enumerate(batch):
            match request.prompt:
                case "raise":
                    outputs[index] = RuntimeError("out of memory")
                case "hang":
                    signal.pause()
                case "unfit":
                    outputs[index] = Evil()
                case "elsewhere":
                    import torch

                    outputs[index] = {"tensors": [torch.empty(2, device="meta")]}
                case "measure":
                    picture = request.inputs["picture"]
                    seen = [int(picture[at]) for at in (0, len(picture) // 2, -1)]
                    outputs[index] = {"nbytes": picture.nbytes, "seen": seen}
                case "zeros":
                    outputs[index] = np.zeros(int(request.options["zeros"]), np.uint8)
                case "pickle":
                    outputs[index] = {"bytes": pickle.dumps(Evil())}
        return outputs

    def step(self, batch: Sequence[Request]) -> list[Any]:
        """Be done with each request at its second step."""
        asked = [(request.id, request.number) for request in batch]
        first = [key not in self._begun for key in asked]
        self._begun = set(asked)
        outputs = self.forward(batch)
        return [None if begins else output for begins, output in zip(first, outputs, strict=True)]

    def sleep(self, level: int) -> None:
        """Spoil what the outputs look into, if they were not copied yet."""
        self._pattern[:] = 0

    def wake(self) -> None:
        """Compute it again."""
        self._pattern = None
        self._grow(self._nbytes)

    def memory_bytes(self) -> int:
        """Tell how much memory this process holds of its own."""
        resident, shared = Path("/proc/self/statm").read_text().split()[1:3]
        return (int(resident) - int(shared)) * os.sysconf("SC_PAGE_SIZE")

    def clear_cache(self) -> None:
        """Free nothing, but drain first."""


class Evil:
    """Runs code when it is unpickled."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os._exit, (66,)


FORWARD = "forward"
BEFORE, AFTER = "before", "after"


class Dying(Model):
    """Ends its process at a named step of the worker, the first one after its first forward began.

    Args:
        step: the action of a region, or "forward".
        side: "before" the step, or "after" it.
        how: the number of a signal, or 0 for an exit with a status.
        record: a file to write down the steps that are met, if nothing is to die.
    """

    def __init__(
        self,
        *,
        rt: Runtime,
        device: str = "cpu",
        step: str = "",
        side: str = BEFORE,
        how: int = 0,
        record: str = "",
    ) -> None:
        super().__init__(rt=rt, device=device)
        self._step = step
        self._side = side
        self._how = how
        self._record = Path(record) if record else None
        self._armed = False
        self._region = rt.region
        rt.region = self._enter  # type: ignore[method-assign]

    def forward(self, batch: Sequence[Request]) -> list[Any]:
        self._armed = True
        with self._at(FORWARD):
            return super().forward(batch)

    @contextlib.contextmanager
    def _enter(self, action: str, lock: Any = None, /, **fields: Any) -> Iterator[Any]:
        with self._at(action), self._region(action, lock, **fields) as entered:
            yield entered

    @contextlib.contextmanager
    def _at(self, action: str) -> Iterator[None]:
        if self._armed and self._record is not None:
            with self._record.open("a") as file:
                file.write(f"{action}\n")
        self._die(action, BEFORE)
        yield
        self._die(action, AFTER)

    def _die(self, action: str, side: str) -> None:
        if self._armed and (action, side) == (self._step, self._side):
            self._end()

    def _end(self) -> None:
        if self._how:
            os.kill(os.getpid(), self._how)
            signal.pause()
        os._exit(EXIT_STATUS)


SPAWN = "spawn"


class Failing(Dying):
    """Fails at a named step on its last rank, in the thread that takes the step; its process lives on.

    Args:
        step: the action of a region, or "spawn", at which no further thread can be started.
    """

    def __init__(self, *, rt: Runtime, rank: int, ranks: int, step: str) -> None:
        super().__init__(rt=rt, step=step if rank == ranks - 1 else "")
        if self._step == SPAWN:
            rt.spawn = self._refuse  # type: ignore[method-assign]

    def _refuse(self, *_: object, **__: object) -> Any:
        raise RuntimeError(FAILURE)

    def _end(self) -> None:
        raise OSError(errno.EMFILE, FAILURE)


class LateDevice(HostDevice):
    """Comes to most outputs at once, and to some too late for whoever waits."""

    LATE_S = 0.5
    EVERY = 400

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def record(self) -> DeviceEvent:
        return _LateEvent() if next(self._numbers) % self.EVERY == 0 else super().record()


class _LateEvent(HostEvent):
    def synchronize(self) -> None:
        time.sleep(LateDevice.LATE_S)


class LostDevice(HostDevice):
    """Is lost to its process by something, and fails at all that it is asked for from then on."""

    ERROR = "CUDA error: an illegal memory access was encountered"
    _is_lost = False  # to this process
    _at = ""

    def to_host(self, tree: Any, *, after: DeviceEvent) -> Any:
        self._answer("copy")
        return super().to_host(tree, after=after)

    def land_in(self, memory: HostMemory) -> None:
        self._answer("land in")

    def close(self) -> None:
        with contextlib.suppress(RuntimeError):
            self._answer("close")

    def require_usable(self) -> None:
        if self._is_lost:
            raise DeviceLost(self.name, self.ERROR)

    def _answer(self, what: str) -> None:
        if what == self._at:
            LostDevice._is_lost = True
        if self._is_lost:
            raise RuntimeError(self.ERROR)


class LostByCopy(LostDevice):
    """Is lost by the first copy."""

    _at = "copy"


class LostUnseen(LostDevice):
    """Is lost so late that its worker ends without a word of it."""

    _at = "close"


class Odd(Model):
    """Returns what no model should, if the request says so by its name."""

    def forward(self, batch: Sequence[Request]) -> Any:
        outputs = super().forward(batch)
        match batch[0].id:
            case "nothing":
                return None
            case "few":
                return outputs[1:]
            case "dict":
                return {request.id: output for request, output in zip(batch, outputs, strict=True)}
            case "exit":
                sys.exit(EXIT_STATUS)
        return outputs
