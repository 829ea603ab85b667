"""The standard library under control: what code under test gets in place of threads, locks, queues, futures and clocks.

redirects.py                which names are redirected, and to what
redirecting.py  doors.py    how: functions, classes written in Python, and other classes
sealed.py                   methods of classes written in C: what was made before a run is told
world.py                    which run is on, and who asks
threads.py  life.py         threads, and the tasks that they are
current.py  local.py        who the current one is, and what each has for itself
attributes.py               what is read past the locks that guard it
contexts.py                 contexts of `contextvars` that several tasks enter
executor.py  waiting.py     concurrent.futures
clock.py                    time
library.py  loggers.py      what it keeps for the whole process: standard streams, warnings, the environment, loggers
announcing.py               how that is told, and put back
kept.py                     what modules make when they are imported, fresh for each run
"""
