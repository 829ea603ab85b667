"""What the user's code may leave behind by fork: a second process that goes on as if it were the worker."""

from __future__ import annotations

import functools
import os
import traceback
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def staying(method: Callable[P, T]) -> Callable[P, T]:
    """Let a call come back in the process that made it alone.

    A child that was forked in the call, and comes back from it, would read and write the engine's lanes beside its
    parent. It ends here instead, as if it had come to the end of its program.
    """

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        caller = os.getpid()
        try:
            returned = method(*args, **kwargs)
        except BaseException as error:
            if os.getpid() != caller:
                os._exit(_status_of(error))
            raise
        if os.getpid() != caller:
            os._exit(0)
        return returned

    return call


def _status_of(error: BaseException) -> int:
    """Give the exit status of a program that ends with an error, and tell of it as that would."""
    code: Any = error.code if isinstance(error, SystemExit) else 1
    if isinstance(error, SystemExit) and (code is None or isinstance(code, int)):
        return code or 0
    traceback.print_exception(error)
    return 1
