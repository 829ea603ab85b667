"""Children that fork quickly, for all tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.zygote import Zygote, zygote


@pytest.fixture(scope="module")
def children() -> Iterator[Zygote]:
    """Fork children from one process that has imported everything."""
    with zygote() as parent:
        yield parent
