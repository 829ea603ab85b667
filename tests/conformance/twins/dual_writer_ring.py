"""DualWriterRing, a second time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from omni_ipc.conformance.graphs.graph import Label
from tests.conformance.twins.exploring import State, Steps, label


def initial(writers: Sequence[str], messages: int) -> State:
    places = len(writers) * messages
    return {
        "claim": dict.fromkeys(writers, 0),
        "sent": dict.fromkeys(writers, 0),
        "cells": dict.fromkeys(writers, ((),) * places),
        "write": dict.fromkeys(writers, 1),
        "read": dict.fromkeys(writers, 1),
        "taken": dict.fromkeys(writers, ()),
    }


def steps_of(messages: int) -> Steps:
    """Let each writer claim and publish in its own ring, and the reader take from any."""

    def steps(state: State) -> Iterator[tuple[Label, State]]:
        for writer in state["claim"]:
            yield from of_ring(writer, state)
        if all(set(taken) == set(range(1, messages + 1)) for taken in state["taken"].values()):
            yield label("Terminating"), state

    def of_ring(writer: str, state: State) -> Iterator[tuple[Label, State]]:
        place, sent = state["claim"][writer], state["sent"][writer]
        if place == 0 and sent < messages:
            yield label("WriterClaim", writer=writer), put(state, writer, claim=state["write"][writer])
        if place:
            cells = list(state["cells"][writer])
            cells[place - 1] = (writer, sent + 1)
            after = put(state, writer, cells=tuple(cells), write=place + 1, sent=sent + 1, claim=0)
            yield label("WriterPublish", writer=writer), after
        if (at := state["read"][writer]) != state["write"][writer]:
            author, number = state["cells"][writer][at - 1]
            after = put(put(state, writer, read=at + 1), author, taken=(*state["taken"][author], number))
            yield label("ReaderTake", lane=writer), after

    return steps


def put(state: State, key: str, **values: object) -> State:
    """Change functions at one argument."""
    return {**state, **{name: {**state[name], key: value} for name, value in values.items()}}
