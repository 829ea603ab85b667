"""SplitMap, a second time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from omni_ipc.conformance.graphs.graph import Label
from tests.conformance.twins.exploring import State, Steps, label
from tests.conformance.twins.future_orphan import IDLE

EMPTY: frozenset[str] = frozenset()
Parts = Mapping[str, Sequence[str]]


def initial(parts: Parts) -> State:
    outputs = [output for batch in parts.values() for output in batch]
    sets = ("inbox", "splits", "unsplit", "registered", "cached", "announced", "expected")
    return {**dict.fromkeys(sets, EMPTY), "pump": IDLE, "waiter": dict.fromkeys(outputs, "absent")}


def steps_of(parts: Parts) -> Steps:
    """Let a batch and its map come in either order: whoever is second deals the outputs out."""

    def steps(state: State) -> Iterator[tuple[Label, State]]:
        for batch in parts:
            yield from of_batch(batch, state)
        for output, doing in state["waiter"].items():
            if doing == "absent":
                yield label("ConsumerWait", output=output), asked(output, state)
        if set(state["waiter"].values()) == {"served"}:
            yield label("Terminating"), state

    def of_batch(batch: str, state: State) -> Iterator[tuple[Label, State]]:
        if batch not in state["announced"]:
            after = {**state, "announced": state["announced"] | {batch}, "inbox": state["inbox"] | {batch}}
            yield label("WorkerAnnounce", output=batch), after
        if state["pump"] == IDLE and batch in state["inbox"]:
            held = {"at": "unpacked", "output": batch}
            yield label("PumpUnpack", output=batch), {**state, "inbox": state["inbox"] - {batch}, "pump": held}
        if state["pump"]["output"] == batch:
            yield label("PumpTakeSplit", batch=batch), meet(batch, {**state, "pump": IDLE}, "splits", "unsplit")
        if batch not in state["expected"]:
            after = {**state, "expected": state["expected"] | {batch}}
            yield label("DispatcherExpect", batch=batch), meet(batch, after, "unsplit", "splits")

    def meet(batch: str, state: State, other: str, own: str) -> State:
        """Deal out if the other half is there, else leave the own half."""
        if batch not in state[other]:
            return {**state, own: state[own] | {batch}}
        dealt = dict(state["waiter"])
        registered, cached = set(state["registered"]), set(state["cached"])
        for output in parts[batch]:
            if output in registered:
                registered.remove(output)
                dealt[output] = "served"
            else:
                cached.add(output)
        return {
            **state,
            other: state[other] - {batch},
            "waiter": dealt,
            "registered": frozenset(registered),
            "cached": frozenset(cached),
        }

    return steps


def asked(output: str, state: State) -> State:
    if output in state["cached"]:
        return {**state, "cached": state["cached"] - {output}, "waiter": {**state["waiter"], output: "served"}}
    return {**state, "registered": state["registered"] | {output}, "waiter": {**state["waiter"], output: "waiting"}}
