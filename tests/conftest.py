"""For every test: what it leaves behind fails it; what needs CUDA says so where there is none."""

from __future__ import annotations

from collections.abc import Iterator

import hypothesis
import pytest

from tests.support.leaks import leaked_since, snapshot

hypothesis.settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def _nothing_is_left_behind() -> Iterator[None]:
    """Fail the test that leaks a descriptor, mapping, thread, child process or file in /dev/shm."""
    before = snapshot()
    yield
    if leaked := leaked_since(before):
        pytest.fail("The test left behind:\n  " + "\n  ".join(leaked), pytrace=False)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what is marked `cuda`, with the reason, where there is no device."""
    marked = [item for item in items if item.get_closest_marker("cuda")]
    if marked and (reason := _no_cuda()):
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=reason))


def _no_cuda() -> str | None:
    try:
        import torch
    except ImportError:
        return "torch is not installed: pip install 'omni-ipc[torch]'"
    return None if torch.cuda.is_available() else f"torch {torch.__version__} sees no CUDA device"
