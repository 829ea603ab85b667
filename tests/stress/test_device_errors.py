"""Whose an error of a device is: the code's, which is to be found, or the machine's, which shows nothing."""

from __future__ import annotations

import pytest

from omni_ipc.stress.device_errors import is_lost

OF_THE_CODE = [
    "an illegal memory access was encountered",
    "device-side assert triggered",
    "invalid argument",
    "invalid resource handle",
    "invalid device ordinal",
    "invalid configuration argument",
    "part or all of the requested memory range is already mapped",
    "pointer does not correspond to a registered memory region",
    "operation not permitted when stream is capturing",
    "operation failed due to a previous error during capture",
    "dependency created on uncaptured work in another stream",
]
OF_THE_MACHINE = [
    "unspecified launch failure",
    "unknown error",
    "uncorrectable ECC error encountered",
    "no CUDA-capable device is detected",
    "CUDA-capable device(s) is/are busy or unavailable",
    "no kernel image is available for execution on the device",
]


@pytest.mark.parametrize("told", OF_THE_CODE)
def test_what_is_answered_to_a_wrong_call_does_not_count_as_a_lost_device(told: str) -> None:
    """A defect that shows so would be blamed on the machine, and its trace be inconclusive for ever."""
    assert not is_lost("cuda:0", f"PeerFailed: The worker failed with torch.AcceleratorError: CUDA error: {told}")


@pytest.mark.parametrize("told", OF_THE_MACHINE)
def test_what_no_call_is_the_cause_of_counts_as_a_lost_device(told: str) -> None:
    """It says nothing of the code; on the host nothing is ever lost."""
    sentence = f"PeerFailed: The worker failed with torch.AcceleratorError: CUDA error: {told}"
    assert is_lost("cuda:0", sentence)
    assert not is_lost("cpu", sentence)
