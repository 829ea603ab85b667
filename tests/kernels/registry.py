"""All kernels, in the order of the table."""

from __future__ import annotations

from tests.kernels import field
from tests.kernels.asyncio_threads import futures, loops
from tests.kernels.goker import blocking_channels, blocking_locks, blocking_mixed, nonblocking, nonblocking_orders
from tests.kernels.kernel import Kernel
from tests.kernels.sctbench import accounts, containers, exclusion, lifetimes, locks, orders, stealing, waiting

PLAIN: tuple[Kernel, ...] = (
    *(accounts.KERNELS + orders.KERNELS + locks.KERNELS + waiting.KERNELS),
    *(containers.KERNELS + stealing.KERNELS + exclusion.KERNELS + lifetimes.KERNELS),
    *(blocking_locks.KERNELS + blocking_channels.KERNELS + blocking_mixed.KERNELS),
    *(nonblocking.KERNELS + nonblocking_orders.KERNELS),
    *(loops.KERNELS + futures.KERNELS),
)
"""Those that are plain functions."""

KERNELS = (*PLAIN, *field.KERNELS)
