"""The standard library under control: what code under test gets in place of threads, locks, queues, futures and clocks.

redirects.py                which names are redirected, and to what
redirecting.py  doors.py    how: functions, classes written in Python, and other classes
world.py                    which run is on, and who asks
threads.py  local.py        threads, who the current one is, and what each has for itself
executor.py  waiting.py     concurrent.futures
clock.py                    time
kept.py                     what modules make when they are imported, fresh for each run
"""
