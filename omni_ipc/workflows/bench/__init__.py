"""Benchmarks: each compares subjects in one run, and gives rows.

transport.py    the run: every subject, again and again in turn, until the time is over
  │ one fresh interpreter a subject (pairs.py)
  ▼
pair.py         forks, for each measurement, into a writer and a reader (measures.py) of its subject
subjects/       one file each, one interface (subject.py)

explore.py      the run: every kernel and its twin, by every explorer, in turn
  │ one interpreter an explorer (contestants.py), a peer's in an environment that is made for it (environments.py)
  ▼
explorers/      one file each, one interface (serving.py)

serving.py      the run: a whole output path in one interpreter each (served.py), with its worker in another
  ▼
servers/        one file each, one interface (server.py)

rows.py         medians with their spread; goals.py: what is to be reached; plot.py: the picture
"""
