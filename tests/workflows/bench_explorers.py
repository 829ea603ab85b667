"""An explorer that says one thing, whatever it is asked, and programs for the one that runs plain threads."""

from __future__ import annotations

import os
import sys
import threading

from omni_ipc.workflows.bench.explorers.serving import BOUNDED, HOLDS, VIOLATED, Answer, Question, serve

ANSWERS = {
    "believes": Answer(HOLDS, "", 3, 0.5),
    "accuses": Answer(VIOLATED, "the balance is 80", 2, 0.25),
    "misleads": Answer(VIOLATED, "no such thing", 2, 0.25),
    "shrugs": Answer(BOUNDED, "", 10, 0.5),
}


def hang() -> None:
    threading.Event().wait()


def raise_in_thread() -> None:
    thread = threading.Thread(target=lambda: [].pop())  # type: ignore[var-annotated]
    thread.start()
    thread.join()


def end_well() -> None:
    pass


def _answer(_: Question) -> Answer:
    mode = sys.argv[1]
    if mode == "dies":
        os._exit(1)
    if mode == "raises":
        raise LookupError("nowhere")
    return ANSWERS[mode]


if __name__ == "__main__":
    serve(_answer)
