"""A shard whose soak takes no time: finds something, or dies, as its seed says: ``python -m tests.machines.shard``."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from omni_ipc.accounts import Account, Finding
from omni_ipc.errors import EnvironmentMissing, Inconclusive, UsageError
from omni_ipc.stress.settings import SoakConfig
from omni_ipc.workflows import soak_shard
from tests.support.accounts import account

DIES_ONCE, DIES, FINDS, REFUSES, FAILS, WAITS, STOPPED, STAYS = 100, 200, 300, 400, 500, 600, 700, 800
"""Seeds, and what comes of them."""


class Refusal(UsageError):
    """One in the telling of which somebody asks the shard to end."""

    def __str__(self) -> str:
        signal.raise_signal(signal.SIGTERM)
        return "It cannot be done."


def soak(config: SoakConfig, *, on_sample: Callable[[Account], object], claim: bool) -> Account:
    """Come to an account, or to an end."""
    folder = Path(config.folder)
    folder.mkdir(parents=True, exist_ok=True)
    now = account(seed=config.seed, asked_s=config.seconds, memory_bytes=config.memory_bytes or 0)
    if config.seed == REFUSES:
        raise EnvironmentMissing("There is no CUDA here.", "Take --device cpu.")
    if config.seed == FAILS:
        raise Inconclusive("Nothing could be started.")
    if config.seed == STOPPED:
        raise Refusal
    (folder / "rounds" / "1").mkdir(parents=True)  # of an attempt before nothing is left there
    if config.seed == STAYS:
        with contextlib.suppress(KeyboardInterrupt):
            on_sample(now)
            time.sleep(600)
        on_sample(msgspec.structs.replace(now, requests=150))
        time.sleep(600)
    if config.seed in (WAITS, WAITS + 1, REFUSES - 1):
        try:
            on_sample(now)
            while True:
                time.sleep(0.05)  # not signal.pause, which misses what came just before
        except KeyboardInterrupt:
            return account(seed=config.seed, interrupted="it was interrupted")
    died = folder / "died"
    begins_anew = config.seed == DIES_ONCE and died.exists()
    on_sample(account(seed=config.seed, requests=0, outcomes={}) if begins_anew else now)
    if config.seed == DIES or (config.seed == DIES_ONCE and not begins_anew):
        died.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if config.seed == FINDS:
        (folder / "lost.trace.json").write_text("a trace")
        found = Finding(at_s=1.0, kind="bytes", message="Bytes differ.", trace=str(folder / "lost.trace.json"))
        return account(seed=config.seed, findings=(found,))
    return now


if __name__ == "__main__":
    soak_shard._SAY_EVERY_S = 0.0
    soak_shard.main(lambda: soak)
