"""The standard library under control: what code under test gets in place of threads, locks, queues, futures and clocks.

redirects.py    which names are redirected, and to what
world.py        which run is on, and who asks
threads.py      threads, and who the current one is
clock.py        time
"""
