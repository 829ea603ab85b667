"""Loggers and handlers: what a call of ``log.info()`` reads of them, and of those above; and what changes them."""

from __future__ import annotations

import functools
import logging
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from omni_ipc.testbed.standard.announcing import CONTENT, Part, announce, announcing, of, save, save_new, spare
from omni_ipc.testbed.standard.redirecting import Method, Redirect
from omni_ipc.testbed.standard.world import running
from omni_ipc.testbed.tasks import Task

_DISABLED = (logging.root.manager, "_disable")  # for all loggers
_CALLING: dict[Task, logging.Logger] = {}
"""By task, the logger that is calling its handlers."""


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
        *((each.handlers, CONTENT) for each in _upwards(logger)),
        *((handler, name) for handler in handlers for name in ("level", "filters", "formatter")),
        *((handler.filters, CONTENT) for handler in handlers),
        *([] if handlers else [(sys, "stderr")]),
    ]


def _of_list(name: str) -> Callable[[Any], list[Part]]:
    return lambda one: [(one, name), (getattr(one, name), CONTENT)]


def _calling(original: Method) -> Method:
    """Announce what `Logger.callHandlers` reads, before it begins, and behind each handler, which may take long."""

    @functools.wraps(original)
    def announced(logger: logging.Logger, *args: Any) -> None:
        kernel = running()
        if kernel is None:
            original(logger, *args)
            return
        announce(kernel, lambda: _handling(logger))
        task = kernel.current
        around = _CALLING.get(task)
        _CALLING[task] = logger
        try:
            original(logger, *args)
        finally:
            if around is None:
                del _CALLING[task]
            else:
                _CALLING[task] = around

    return announced


def _handled(original: Method) -> Method:
    @functools.wraps(original)
    def announced(handler: logging.Handler, *args: Any) -> Any:
        result = original(handler, *args)
        kernel = running()
        if kernel is not None and (logger := _CALLING.get(kernel.current)) is not None:
            announce(kernel, lambda: _handling(logger))
        return result

    return announced


def _getting(original: Method) -> Method:
    @functools.wraps(original)
    def get_logger(manager: logging.Manager, name: str) -> logging.Logger:
        known = manager.loggerDict.get(name)
        logger: logging.Logger = original(manager, name)
        if known is not logger and (kernel := running()) is not None:
            save_new(kernel, logger)
        return logger

    return get_logger


def _setting(original: Method) -> Method:
    @functools.wraps(original)
    def set_attribute(one: Any, name: str, value: Any) -> None:
        if (kernel := running()) is not None:
            is_made = not {"disabled", "lock"}.isdisjoint(vars(one))  # what its class sets last
            (save if is_made else spare)(kernel, one)
            if name == "lock":
                kernel.closers.append(functools.partial(_leave, one))
        super(logging.Filterer, one).__setattr__(name, value)

    return set_attribute


def _leave(handler: logging.Handler) -> None:
    """Give a handler of an ended run a real lock: `logging` takes that when the process ends, and after a fork."""
    vars(handler)["lock"] = threading.RLock()


LOGGERS: tuple[Redirect, ...] = (
    *announcing(logging.Logger, "isEnabledFor getEffectiveLevel", _enabling),
    *announcing(logging.Logger, "handle", lambda logger: [(logger, "disabled"), *_of_list("filters")(logger)]),
    *announcing(logging.Logger, "hasHandlers", _handling),
    Redirect(logging.Logger, "callHandlers", _calling),
    Redirect(logging.Handler, "handle", _handled),
    Redirect(logging.Manager, "getLogger", _getting),
    *announcing(logging.Logger, "setLevel", lambda logger: ((logger, "level"),), changes=True),
    *announcing(logging.Logger, "addHandler removeHandler", _of_list("handlers"), changes=True),
    *announcing(logging.Filterer, "addFilter removeFilter", _of_list("filters"), changes=True),
    *announcing(logging.Handler, "setLevel", lambda handler: ((handler, "level"),), changes=True),
    *announcing(logging.Handler, "setFormatter", lambda handler: ((handler, "formatter"),), changes=True),
    *announcing(logging, "disable", of(_DISABLED), changes=True),
    *announcing(logging, "basicConfig", of((logging.root, "handlers"), (logging.root, "level")), changes=True),
    *announcing(
        logging, "captureWarnings", of((warnings, "showwarning"), (logging, "_warnings_showwarning")), changes=True
    ),
    Redirect(logging.Filterer, "__setattr__", _setting),
)
