"""What an engine is built of: classes and runtimes of one's own, in its process and in its workers'."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from omni_ipc.errors import UsageError
from omni_ipc.recordings import SUFFIX
from omni_ipc.seam.native import NativeRuntime
from omni_ipc.serving.core import EngineParts
from omni_ipc.serving.engine import Engine, PipelineSpec
from omni_ipc.serving.engine_config import EngineConfig
from omni_ipc.serving.group import HostGroup
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.requests import Request
from omni_ipc.serving.worker import Worker

PIPELINE = PipelineSpec("omni_ipc.pipelines.synthetic:Synthetic", {"nbytes": 8})


class NotingTable(OutputTable):
    """Is told apart by its class."""


class NotingWorker(Worker):
    """Says who it is, when it is asked."""

    def _invoke(self, method: str, arguments: dict[str, object]) -> object:  # type: ignore[override]
        return type(self).__name__ if method == "who" else super()._invoke(method, arguments)


class Ranked(NativeRuntime):
    """Leaves a file that bears its rank, when it is closed."""

    def __init__(self, folder: str, rank: int) -> None:
        self._path = Path(folder) / f"rank {rank}"

    def close(self) -> None:
        self._path.touch()


@pytest.fixture(scope="module")
def hosts() -> Iterator[HostGroup]:
    with HostGroup(2) as group:
        yield group


def test_workers_run_on_the_runtime_that_is_named(hosts: HostGroup, tmp_path: Path) -> None:
    """Each makes its own, with the options, and closes it when it ends."""
    config = EngineConfig(
        workers=2,
        worker_runtime="omni_ipc.seam.recording:RecordingRuntime",
        worker_runtime_options={"folder": str(tmp_path)},
    )
    with Engine(config, PIPELINE, hosts=hosts) as engine:
        assert engine.generate(Request("1")).request_id == "1"
    files = sorted(tmp_path.glob(f"*{SUFFIX}"))
    assert {int(file.name.partition("-")[0]) for file in files} == {*hosts.pids}
    assert all('"Worker.' in file.read_text() and '"kind":"closed"' in file.read_text() for file in files)


def test_a_runtime_is_told_its_rank_if_it_asks(hosts: HostGroup, tmp_path: Path) -> None:
    """Its constructor has a parameter of that name."""
    config = EngineConfig(
        workers=2, worker_runtime=f"{__name__}:Ranked", worker_runtime_options={"folder": str(tmp_path)}
    )
    with Engine(config, PIPELINE, hosts=hosts):
        pass
    assert {path.name for path in tmp_path.iterdir()} == {"rank 0", "rank 1"}


def test_a_runtime_that_cannot_be_imported_is_refused_at_once() -> None:
    """Before any process is started."""
    with pytest.raises(UsageError, match=r"'nowhere:Runtime' cannot be imported"):
        Engine(EngineConfig(worker_runtime="nowhere:Runtime"), PIPELINE)


def test_an_engine_is_built_of_the_parts_that_are_given(hosts: HostGroup) -> None:
    """On both sides: the worker is imported by its path where it runs."""
    parts = EngineParts(table=NotingTable, worker=NotingWorker)
    with Engine(EngineConfig(workers=2), PIPELINE, hosts=hosts, parts=parts) as engine:
        assert type(engine._calls._table) is NotingTable
        assert engine.call("who") == ["NotingWorker", "NotingWorker"]
