import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from vendor.pump import Pump

from omni_ipc.testbed.schedules import schedules


@pytest.mark.interleave(instrument=["vendor.pump"], seconds=20, require="holds")
def test_the_answer_arrives():
    pump = Pump()
    deliverer = threading.Thread(target=pump.deliver, args=(7, "seven"), name="deliverer")
    deliverer.start()
    assert pump.ask(7).result() == "seven"
    deliverer.join()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(numbers=st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True), schedule=schedules())
def test_each_answer_finds_who_asked(numbers, schedule):
    def scenario():
        pump = Pump()
        futures = [pump.ask(number) for number in numbers]
        threads = [threading.Thread(target=pump.deliver, args=(number, str(number))) for number in numbers]
        for thread in threads:
            thread.start()
        assert [future.result() for future in futures] == [str(number) for number in numbers]
        for thread in threads:
            thread.join()

    schedule.run(scenario, instrument=["vendor.pump"])
