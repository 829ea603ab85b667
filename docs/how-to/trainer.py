"""Hands an engine's outputs on to a trainer, another process, where they lie: python trainer.py"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from omni_ipc.errors import PeerClosed
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.engine import Engine
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.requests import Request
from omni_ipc.transport.channel import PortReceiver
from omni_ipc.transport.relay import Relay
from omni_ipc.transport.rendezvous import Server

RT = NativeRuntime()


class Rollout(msgspec.Struct, tag=True):
    """What is said of an image that is handed on."""

    prompt: str
    reward: float


def roll_out(directory: Path) -> None:
    """Compute images, and hand each on; from then on it is the trainer's, and the engine has let go of it."""
    config = EngineConfig(output_slots=((1 << 20, 16),))
    with Engine(config, "model:Gradient") as engine:
        with Relay[Rollout]("trainer", engine.outlet, rt=RT, lane="rollouts", timeout=30, directory=directory) as relay:
            for prompt, reward in (("red", 0.25), ("green", 0.5), ("blue", 1.0)):
                output = engine.generate(Request(prompt, prompt, {"width": 512, "height": 512}))
                handed = relay.send(Rollout(prompt, reward), output.value)
                del output
                print(f"{prompt}: {handed.leased_bytes:,} bytes handed on, {handed.copied_bytes} copied", flush=True)


def train(directory: Path) -> None:
    """Take images until the engine has closed; each is kept as long as something here looks at it."""
    batch: list[Any] = []
    with Server(rt=RT, name="trainer", directory=directory) as server:
        server.accept(timeout=30)
        server.stop()
        receiver = PortReceiver[Rollout](server.port, Rollout)
        try:
            while True:
                delivery = receiver.receive(timeout=30)
                batch.append((delivery.message, delivery.unpack()["image"]))
        except PeerClosed:
            mean = sum(rollout.reward * image.mean() for rollout, image in batch) / len(batch)
            print(f"trained on {len(batch)} images, mean weight {mean:.1f}", flush=True)


def main() -> None:
    """Roll out, with a trainer beside."""
    with tempfile.TemporaryDirectory() as directory:
        with subprocess.Popen([sys.executable, __file__, directory]):
            roll_out(Path(directory))


if __name__ == "__main__":
    train(Path(sys.argv[1])) if len(sys.argv) > 1 else main()
