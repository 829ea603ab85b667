"""The model of a soak: outputs that are planned byte for byte, made on the device, anew for each request.

What a request asks for is in its options: ``kind``, ``nbytes`` and ``salt`` of its output (outputs.py), ``forward_s``
that the forward takes, or each step, ``late_s`` by which the device comes to the output later, ``trouble`` that it
shall make, and how many ``steps`` it takes where it is computed step by step; 0, where it is not.

What was made and is on its way takes memory, also where nobody wants it any more: clients who have left count theirs
no longer. So nothing is made, once there is too much of it, until some has left.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

from omni_ipc.errors import UsageError
from omni_ipc.seam.api import Runtime
from omni_ipc.serving.requests import Request
from omni_ipc.stress import stacks
from omni_ipc.stress.gauge import Gauge
from omni_ipc.stress.memory import DeviceMemory, HostMemory, Memory
from omni_ipc.stress.outputs import Kind, difference, make, plan

_ROOM_S = 60.0  # until there is memory for a batch
_LOOK_S = 0.002
_GAUGE = Gauge()  # of this process, which models come and go in


class Trouble(enum.StrEnum):
    """What a request may ask for in place of an output."""

    RAISE = "raise"  # an error of its own
    UNFIT = "unfit"  # an output that cannot travel


class Varied:
    """Gives each request what it asks for; looks at the inputs that came with it.

    Args:
        most_bytes: of outputs that are on their way at a time; what is larger goes alone. None: no bound.
        show: called with how much of its device's memory the process keeps, whenever that may have changed.
    """

    def __init__(
        self,
        *,
        rt: Runtime,
        device: str = "cpu",
        most_bytes: int | None = None,
        show: Callable[[int], object] = lambda _: None,
    ) -> None:
        self._rt = rt
        self._most_bytes = most_bytes
        self._show = show
        self._memory: Memory = HostMemory() if device == "cpu" else DeviceMemory(device)
        self._steps: dict[int, int] = {}  # that were done of the requests of the last step, by their salts

    def forward(self, batch: Sequence[Request]) -> list[Any]:
        """Make an output a request; the rows of a batch lie in one tensor.

        Raises:
            MemoryError: what was made before stays, and leaves no room.
        """
        self._take_time(batch)
        return [_wrong_inputs(request) or output for request, output in zip(batch, self._outputs(batch), strict=True)]

    def step(self, batch: Sequence[Request]) -> list[Any]:
        """Do one step of each request; its output is made with the last one.

        Raises:
            MemoryError: as of `forward`.
        """
        self._take_time(batch)
        self._steps = {salt: self._steps.get(salt, 0) + 1 for salt in map(_salt, batch)}  # the others were given up
        last = [request for request in batch if self._steps[_salt(request)] == request.options["steps"]]
        outputs = dict(zip(map(_salt, last), self._outputs(last), strict=True))
        return [_wrong_inputs(request) or outputs.get(_salt(request)) for request in batch]

    def sleep(self, level: int) -> None:
        """Spoil what outputs look into: none of them may still be on its way."""
        self._memory.leave()
        self._show_kept()

    def wake(self) -> None:
        """Do nothing: what is needed is made when it is needed."""

    def _take_time(self, batch: Sequence[Request]) -> None:
        self._rt.sleep(max(float(request.options["forward_s"] or 0) for request in batch))

    def _outputs(self, batch: Sequence[Request]) -> list[Any]:
        self._await_room(sum(int(request.options["nbytes"] or 0) for request in batch))
        late = [self._memory.delay(float(request.options["late_s"] or 0)) for request in batch]  # ids may be the same
        rows = self._rows(batch)
        outputs = [self._output(request, rows.get(place), late[place]) for place, request in enumerate(batch)]
        self._show_kept()
        return outputs

    def _show_kept(self) -> None:
        if (kept := self._memory.kept_bytes()) is not None:
            self._show(kept)

    def _await_room(self, nbytes: int) -> None:
        if self._most_bytes is None or not nbytes:
            return
        deadline_s = self._rt.now() + _ROOM_S
        while (held := self._memory.held_bytes()) and held + nbytes > self._most_bytes:
            if self._rt.now() > deadline_s:
                raise MemoryError(
                    f"a batch of {nbytes:,} bytes has no room: {held:,} of {self._most_bytes:,} bytes are still held "
                    f"by outputs that were made {_ROOM_S:g} s before, or earlier"
                )
            self._rt.sleep(_LOOK_S)

    def _output(self, request: Request, row: Any, late: Any) -> Any:
        match request.options["trouble"]:
            case Trouble.RAISE:
                return RuntimeError(f"request '{request.id}' was to fail")
            case Trouble.UNFIT:
                return {"late": late, "image": object()}
        planned = plan_of(request)
        value = make(self._memory.tensor, planned) if row is None else {"image": row}
        return {"late": late, "value": value}

    def _rows(self, batch: Sequence[Request]) -> dict[int, Any]:
        """Make the rows of each size, by the places of their requests."""
        wanted: dict[int, list[int]] = {}
        for place, request in enumerate(batch):
            if request.options["kind"] == Kind.ROW and not request.options["trouble"]:
                wanted.setdefault(int(request.options["nbytes"] or 0), []).append(place)
        rows: dict[int, Any] = {}
        for places in wanted.values():
            leaves = [plan_of(batch[place])["image"] for place in places]
            rows.update(zip(places, self._memory.rows(leaves), strict=True))
        return rows


def _salt(request: Request) -> int:
    """Tell requests apart, whose ids may be the same."""
    return int(request.options["salt"] or 0)


def _wrong_inputs(request: Request) -> ValueError | None:
    """Look at the inputs of a request, if it brings any: in step execution with its first step alone."""
    wrong = None if request.inputs is None else difference(plan_of(request), request.inputs, "inputs")
    return None if wrong is None else ValueError(f"Request '{request.id}': {wrong}")


def varied(*, rt: Runtime, device: str = "cpu", most_bytes: int | None = None) -> Varied:
    """Make the model of a worker, whose process says where it stands when it is asked, and what its device keeps."""
    stacks.answer()
    return Varied(rt=rt, device=device, most_bytes=most_bytes, show=_GAUGE.show)


def plan_of(request: Request) -> Any:
    """Say what the output of a request is."""
    kind, nbytes, salt = (request.options[name] for name in ("kind", "nbytes", "salt"))
    if not (isinstance(kind, str) and isinstance(nbytes, int) and isinstance(salt, int)):
        raise UsageError(f"Request '{request.id}' asks for {kind!r}, {nbytes!r}, {salt!r}. Let `load.py` make it.")
    return plan(Kind(kind), nbytes, salt)
