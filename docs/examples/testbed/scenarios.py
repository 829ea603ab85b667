"""What a pump must do, whoever comes first."""

import asyncio
import threading
from concurrent.futures import CancelledError

from vendor.pump import Pump


def deliver_beside(pump):
    deliverer = threading.Thread(target=pump.deliver, args=(7, "seven"), name="deliverer")
    deliverer.start()
    return deliverer


def the_answer_arrives():
    pump = Pump()
    deliverer = deliver_beside(pump)
    assert pump.ask(7).result() == "seven"
    deliverer.join()


def a_coroutine_waits():
    async def ask(pump):
        return await asyncio.wrap_future(pump.ask(7))

    pump = Pump()
    deliverer = deliver_beside(pump)
    assert asyncio.run(ask(pump)) == "seven"
    deliverer.join()


def somebody_gives_up():
    pump = Pump()
    future = pump.ask(7)
    deliverer = deliver_beside(pump)
    try:
        assert future.result() == "seven"
    except CancelledError:
        pass
    deliverer.join()


def no_answer_is_dropped():
    pump = Pump()
    deliverer = deliver_beside(pump)
    first = pump.fetch(7, timeout=1.0)
    deliverer.join()
    second = pump.fetch(7, timeout=1.0)
    assert "seven" in (first, second), "nobody has the answer, and nobody will"
