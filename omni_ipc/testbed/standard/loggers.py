"""Loggers and handlers: what a call of ``log.info()`` reads of them, and of those above; and what changes them."""

from __future__ import annotations

import functools
import logging
import sys
import warnings
from collections.abc import Iterator
from typing import Any

from omni_ipc.testbed.standard.announcing import Part, announcing, of, save
from omni_ipc.testbed.standard.redirecting import Method, Redirect
from omni_ipc.testbed.standard.world import running

_DISABLED = (logging.root.manager, "_disable")  # for all loggers


def _upwards(logger: logging.Logger | None) -> Iterator[logging.Logger]:
    """Give a logger and those above it."""
    while logger is not None:
        yield logger
        logger = logger.parent


def _enabling(logger: logging.Logger) -> list[Part]:
    return [_DISABLED, (logger, "disabled"), *((each, "level") for each in _upwards(logger))]


def _handling(logger: logging.Logger) -> list[Part]:
    handlers = [handler for each in _upwards(logger) for handler in each.handlers]
    return [
        *((each, name) for each in _upwards(logger) for name in ("handlers", "propagate")),
        *((handler, name) for handler in handlers for name in ("level", "filters", "formatter")),
        *([] if handlers else [(sys, "stderr")]),
    ]


def _setting(original: Method) -> Method:
    @functools.wraps(original)
    def set_attribute(one: Any, name: str, value: Any) -> None:
        kernel = running()
        if kernel is not None and not {"disabled", "lock"}.isdisjoint(vars(one)):  # else it is just being made
            save(kernel, one)
        original(one, name, value)

    return set_attribute


LOGGERS: tuple[Redirect, ...] = (
    *announcing(logging.Logger, "isEnabledFor getEffectiveLevel", _enabling),
    *announcing(logging.Logger, "handle", lambda logger: ((logger, "disabled"), (logger, "filters"))),
    *announcing(logging.Logger, "callHandlers hasHandlers", _handling),
    *announcing(logging.Logger, "setLevel", lambda logger: ((logger, "level"),), changes=True),
    *announcing(logging.Logger, "addHandler removeHandler", lambda logger: ((logger, "handlers"),), changes=True),
    *announcing(logging.Filterer, "addFilter removeFilter", lambda one: ((one, "filters"),), changes=True),
    *announcing(logging.Handler, "setLevel", lambda handler: ((handler, "level"),), changes=True),
    *announcing(logging.Handler, "setFormatter", lambda handler: ((handler, "formatter"),), changes=True),
    *announcing(logging, "disable", of(_DISABLED), changes=True),
    *announcing(logging, "basicConfig", of((logging.root, "handlers"), (logging.root, "level")), changes=True),
    *announcing(
        logging, "captureWarnings", of((warnings, "showwarning"), (logging, "_warnings_showwarning")), changes=True
    ),
    Redirect(logging.Filterer, "__setattr__", _setting),
)
