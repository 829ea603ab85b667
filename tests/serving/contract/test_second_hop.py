"""Outputs handed on by an engine to another process: where they lie, for as long as that one looks at them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from omni_ipc.pipelines.synthetic import expected
from omni_ipc.serving.engine import Engine
from omni_ipc.serving.group import HostGroup
from omni_ipc.serving.requests import Request
from omni_ipc.transport.relay import HandedOn, Relay
from tests.serving.contract.engines import NBYTES, held_slots, is_output_of, start
from tests.support.guests import Picture
from tests.support.lanes import ROOT, RT
from tests.support.waiting import until

TWO_SLOTS = ((NBYTES, 2),)


@pytest.fixture(scope="module")
def hosts() -> Iterator[HostGroup]:
    with HostGroup() as hosts:
        yield hosts


@contextmanager
def trainer(place: Path) -> Iterator[subprocess.Popen[str]]:
    """Run a process that keeps what it is handed."""
    command = [sys.executable, "-m", "tests.support.guests", str(place), "trainer", "keep"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def hand_on(engine: Engine, relay: Relay[Picture], name: str) -> HandedOn:
    """Have a request served, hand its output on, and let go of it."""
    return relay.send(Picture(name), engine.generate(Request(name)).value["tensors"])


def said(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdout is not None
    return process.stdout.readline().split()


def total(name: str) -> str:
    return str(int(expected(name, NBYTES).sum()))


def test_an_output_is_a_trainers_without_a_copy_and_outlives_its_engine(hosts: HostGroup, tmp_path: Path) -> None:
    """The engine lets go of it, serves on, and shuts down; the trainer's picture is still the same."""
    with trainer(tmp_path) as process:
        with start(hosts, output_slots=TWO_SLOTS) as engine:
            with Relay[Picture]("trainer", engine.outlet, rt=RT, lane="out", timeout=30, directory=tmp_path) as relay:
                assert hand_on(engine, relay, "a") == HandedOn(NBYTES, 0)
                assert said(process) == ["a", total("a")]
                assert held_slots(engine) == []
                for number in range(20):
                    assert is_output_of(f"{number}", engine.generate(Request(f"{number}")))
            engine.shutdown()
        assert said(process) == ["closed", total("a")]
        assert process.wait(30) == 0


def test_the_slots_of_a_trainer_that_is_killed_go_back_to_the_worker(hosts: HostGroup, tmp_path: Path) -> None:
    """It had all there are; without them outputs come by fragments, and from its death on in slots again."""
    with trainer(tmp_path) as process, start(hosts, output_slots=TWO_SLOTS) as engine:
        with Relay[Picture]("trainer", engine.outlet, rt=RT, lane="out", timeout=30, directory=tmp_path) as relay:
            for name in ("a", "b"):
                hand_on(engine, relay, name)
                assert said(process) == [name, total(name)]
            assert not lies_in_a_slot(engine, "c")
            process.kill()
            process.wait()
            until(lambda: lies_in_a_slot(engine, "d"))


def lies_in_a_slot(engine: Engine, name: str) -> bool:
    """Tell whether an output came by the slab; that it is whole, in any case."""
    output = engine.generate(Request(name))
    assert is_output_of(name, output)
    (array,) = output.value["tensors"]
    return engine.outlet.reader.locate(array.ctypes.data, array.nbytes) is not None
