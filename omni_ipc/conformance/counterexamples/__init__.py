"""From a counterexample of TLC to words, and to a trace that code is driven along.

counterexample.py  its steps with their tasks and parameters: a trace; itf.py: for other tools
explaining.py      in words: which guard should have been false; probing.py: what TLC says of each guard
replay.py          drives anything that can be driven along a trace
"""
