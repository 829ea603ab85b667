"""What a controlled loop cannot do: whatever waits for the world outside."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

from omni_ipc.errors import Inconclusive
from omni_ipc.testbed.where import is_stdlib, locate

_REMEDY = "Let tasks of the scenario play the other side, and talk by queues, events and futures."
_NAMES = """
    add_reader remove_reader add_writer remove_writer add_signal_handler remove_signal_handler
    sock_recv sock_recv_into sock_recvfrom sock_recvfrom_into sock_sendall sock_sendto sock_connect sock_accept
    sock_sendfile sendfile start_tls getaddrinfo getnameinfo
    create_connection create_server create_datagram_endpoint connect_accepted_socket
    create_unix_connection create_unix_server connect_read_pipe connect_write_pipe subprocess_exec subprocess_shell
"""


def _refusal(name: str) -> Callable[..., Any]:
    def refuse(self: Any, *_args: Any, **_options: Any) -> Any:
        frame = sys._getframe(1)
        while is_stdlib(frame.f_code.co_filename) and frame.f_back is not None:
            frame = frame.f_back
        kernel = self.kernel
        kernel.stop(
            Inconclusive(
                f"Task '{kernel.current.name}' used {name}() of an event loop at {locate(frame)}: it is not under "
                f"control. {_REMEDY}"
            )
        )

    refuse.__name__ = name
    return refuse


LoopBase: Any = type("LoopBase", (asyncio.BaseEventLoop,), {name: _refusal(name) for name in _NAMES.split()})
"""asyncio's loop, without what it does outside."""
