"""The classes that a world is built of; a defect exchanges one of them."""

from __future__ import annotations

import dataclasses

from omni_ipc.scenarios.result_link import ResultLink
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.pump import ResultPump
from omni_ipc.serving.worker import Worker


@dataclasses.dataclass(frozen=True, slots=True)
class Parts:
    """The reference, unless told otherwise."""

    table: type[OutputTable] = OutputTable
    pump: type[ResultPump] = ResultPump
    worker: type[Worker] = Worker
    link: type[ResultLink] = ResultLink  # of worlds that look into the way of large results
