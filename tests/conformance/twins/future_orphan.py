"""FutureOrphan, a second time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from omni_ipc.conformance.graphs.graph import Label
from tests.conformance.twins.exploring import State, label

IDLE = {"at": "idle", "output": "none"}


def initial(outputs: Sequence[str]) -> State:
    return {
        "inbox": frozenset(),
        "pump": IDLE,
        "registered": frozenset(),
        "cached": frozenset(),
        "waiter": dict.fromkeys(outputs, "absent"),
    }


def steps(state: State) -> Iterator[tuple[Label, State]]:
    """Each output is announced, unpacked and delivered once; its consumer asks at any time."""
    inbox, pump, registered, cached, waiter = (
        state[name] for name in ("inbox", "pump", "registered", "cached", "waiter")
    )
    for output, doing in waiter.items():
        is_new = output not in inbox and output not in cached and output != pump["output"] and doing != "served"
        if is_new:
            yield label("WorkerAnnounce", output=output), {**state, "inbox": inbox | {output}}
        if pump == IDLE and output in inbox:
            held = {"at": "unpacked", "output": output}
            yield label("PumpUnpack", output=output), {**state, "inbox": inbox - {output}, "pump": held}
        if pump == {"at": "unpacked", "output": output}:
            after = {**state, "pump": IDLE}
            if output in registered:
                after |= {"registered": registered - {output}, "waiter": {**waiter, output: "served"}}
            else:
                after |= {"cached": cached | {output}}
            yield label("PumpDeliver", output=output), after
        if doing == "absent":
            if output in cached:
                after = {**state, "cached": cached - {output}, "waiter": {**waiter, output: "served"}}
            else:
                after = {**state, "registered": registered | {output}, "waiter": {**waiter, output: "waiting"}}
            yield label("ConsumerWait", output=output), after
    if set(waiter.values()) == {"served"}:
        yield label("Terminating"), state
