"""Recordings of real processes, made once."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from omni_ipc.serving.group import HostGroup
from tests.workflows.violations import Recorded, record


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """Record, what was not recorded before; by processes that are gone then."""

    @functools.cache
    def once(defect: str, order_of: str = "") -> Path:
        with HostGroup(1) as hosts:
            return record(defect, hosts, tmp_path_factory.mktemp("recorded"), order_of=order_of or defect)

    return once
