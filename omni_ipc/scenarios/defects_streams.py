"""Defects of streams and of who owns their outputs."""

from __future__ import annotations

from typing import Any

from omni_ipc.errors import OmniError
from omni_ipc.serving.admission import Admission
from omni_ipc.serving.output_streams import OutputStreams
from omni_ipc.serving.outputs import OutputTable
from omni_ipc.serving.results import Computed, RequestOutput
from omni_ipc.serving.scheduler import Scheduler
from omni_ipc.serving.streams import OutputStream


class AbandonedStream(Scheduler):
    """Relies on an abort when a consumer disappears: that its stream was deleted is no news."""

    def desert(self, admission: Admission) -> None:
        with self._rt.region("Stream.Desert", None, number=admission.number):
            pass


class StreamLeftOpen(OutputStreams):
    """Leaves the streams that it iterates over open when its own consumer leaves."""

    def close(self) -> None:
        pass


class ReusedRequestId(Scheduler):
    """Ends whatever is open under the id of a request when one stream of that id ends."""

    def end(self, admission: Admission, error: OmniError) -> OmniError | None:
        with self._rt.region("Stream.End", self._guard, number=admission.number):
            for same in [*self._open.get(admission.request.id, {}).values()]:
                self._end(same, error)
            return admission.error


class AbortedOutputLeak(OutputTable):
    """Drops an output that is here, and forgets that one which still comes is not wanted either."""

    def drop(self, output: str, reason: OmniError | None = None) -> bool:
        with self._rt.region("Consumer.Drop", self._lock, output=output):
            waited = self._waiting.pop(output, None)
            return self._cached.pop(output, waited) is not None


class WaitCountedAsCompute(OutputStream):
    """Books the wait for the output as time of the model's execution."""

    def _assemble(self, computed: Computed, value: Any, waited_s: float) -> RequestOutput:
        return RequestOutput(
            request_id=self.request_id,
            value=value,
            execution_time_s=computed.execution_s + waited_s,
            output_ready_wait_time_s=0.0,
            stage_durations_s=computed.stages,
        )
