"""Faults of the field, as they were: worlds of the product with one part exchanged. They take their runtime."""

from __future__ import annotations

from collections.abc import Callable

from omni_ipc.scenarios import DEFECTS, SCENARIOS
from omni_ipc.testbed import ControlledRuntime
from tests.kernels.kernel import EXCEPTION, Kernel

_SOURCE = "vLLM-Omni, asynchronous output path"
_LEFT = {  # in the table of outputs, or of the output
    "late_split_map": "unsplit 1 [1]",
    "dual_writers": "1/1: Output '1/1'",
    "unpack_outside_lock": "cached 1 [1]",
    "lossy_overflow": "waiting 1 [1/1], cached 0",
    "timeout_consumes": "waiting 1 [1/1], cached 0",
    "aggregate_overflow": "waiting 1 [1/1], cached 0",
    "sleep_without_drain": "other bytes than were computed",
    "unsynchronised_copy": "other bytes than were computed",
    "abandoned_stream": "1 of 1 admitted requests never had an outcome; the table holds: waiting 0, cached 1 [1]",
    "stream_left_open": "of 2 admitted requests never had an outcome; the table holds: waiting 0, cached",
    "reused_request_id": "client: aborted",
    "aborted_output_leak": "cached 1 [1]",
    "shutdown_discards_delivered": "client: shut down",
    "deferred_admission": "it was aborted before it asked for its output, and was served all the same",
    "short_output_timeout": "did not come within 30 s",
    "wait_counted_as_compute": "were told as 47 s and 0 s",
    "cancelled_future": "staying: The result pump died of InvalidStateError",
    "stale_reply": "echo(2): it got the answer 1",
    "wait_after_shutdown": "1/1: Output '1/1' did not come within 1 s",
}


def _world(scenario: str, defect: str | None = None) -> Callable[[ControlledRuntime], object]:
    """Give the function that builds the world of a scenario, and runs it."""
    described = SCENARIOS[scenario]
    parts = described.parts(defect)

    def run(rt: ControlledRuntime) -> None:
        described.world(rt, parts).run()

    run.__name__ = defect or scenario
    run.__doc__ = DEFECTS[defect].summary if defect else None
    return run


_TWINS = {name: _world(name) for name in SCENARIOS}

KERNELS = tuple(
    Kernel(_world(defect.scenario, name), _TWINS[defect.scenario], EXCEPTION, _LEFT[name], _SOURCE)
    for name, defect in DEFECTS.items()
)

TRANSPARENT = {
    run: SCENARIOS[defect.scenario].transparent
    for kernel, defect in zip(KERNELS, DEFECTS.values(), strict=True)
    for run in (kernel.scenario, kernel.fixed)
}
"""Regions that are not steps of their own in a world."""
