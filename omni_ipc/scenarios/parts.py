"""The classes that a world is built of; a defect exchanges one of them."""

from __future__ import annotations

import dataclasses

from omni_ipc.scenarios.result_link import ResultLink
from omni_ipc.serving.core import EngineCore
from omni_ipc.serving.output_streams import OutputStreams
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.pump import ResultPump
from omni_ipc.serving.scheduler import Scheduler
from omni_ipc.serving.streams import OutputStream
from omni_ipc.serving.timeouts import OutputTimeout
from omni_ipc.serving.worker import Worker
from omni_ipc.transport.bell import Bell
from omni_ipc.transport.reader import LaneReader
from omni_ipc.transport.writer import LaneWriter


@dataclasses.dataclass(frozen=True, slots=True)
class Parts:
    """The reference, unless told otherwise."""

    table: type[OutputTable] = OutputTable
    pump: type[ResultPump] = ResultPump
    worker: type[Worker] = Worker
    link: type[ResultLink] = ResultLink  # of worlds that look into the way of large results
    # of worlds with clients:
    engine: type[EngineCore] = EngineCore
    scheduler: type[Scheduler] = Scheduler
    stream: type[OutputStream] = OutputStream
    streams: type[OutputStreams] = OutputStreams
    timeout: type[OutputTimeout] = OutputTimeout
    # of worlds that look into a lane:
    writer: type[LaneWriter] = LaneWriter
    reader: type[LaneReader] = LaneReader
    bell: type[Bell] = Bell
