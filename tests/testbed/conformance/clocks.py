"""time and datetime."""

from __future__ import annotations

import datetime
import time


def clock_sleep_refuses_less_than_nothing() -> object:
    return time.sleep(-1)


def clock_sleep_refuses_text() -> object:
    return time.sleep("long")  # type: ignore[arg-type]


def clock_sleep_needs_a_time() -> object:
    return time.sleep()  # type: ignore[call-arg]


def clock_sleep_takes_its_time() -> object:
    began, wall = time.monotonic(), time.time()
    slept = time.sleep(0.01), time.sleep(0), time.sleep(0.0)
    return slept, time.monotonic() - began >= 0.01, time.time() - wall >= 0.009


def clock_goes_on() -> object:
    counters = (time.monotonic, time.perf_counter, time.time)
    before = [counter() for counter in counters]
    time.sleep(0.005)
    return [counter() > earlier for counter, earlier in zip(counters, before, strict=True)]


def clock_counts_nanoseconds() -> object:
    counters = (time.monotonic_ns, time.perf_counter_ns, time.time_ns)
    before = [counter() for counter in counters]
    time.sleep(0.005)
    return [type(earlier) for earlier in before], [
        counter() - earlier > 4_000_000 for counter, earlier in zip(counters, before, strict=True)
    ]


def clock_takes_no_arguments() -> object:
    return time.monotonic(1)  # type: ignore[call-arg]


def clock_agrees_with_itself() -> object:
    return abs(time.time_ns() / 1e9 - time.time()) < 5, abs(time.clock_gettime(time.CLOCK_REALTIME) - time.time()) < 5


def clock_dates() -> object:
    now = datetime.datetime.now()
    return type(now), abs(now.timestamp() - time.time()) < 5, now.tzinfo, datetime.date.today() == now.date()


def clock_dates_in_a_zone() -> object:
    now = datetime.datetime.now(datetime.UTC)
    return str(now.tzinfo), abs(now.timestamp() - time.time()) < 5


class _Moment(datetime.datetime):
    """A date of one's own."""


def clock_dates_of_a_class_of_ones_own() -> object:
    return type(_Moment.now()) is _Moment, type(_Moment.today()) is _Moment
