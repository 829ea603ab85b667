"""Code against a state graph: in each state the same steps, after each the same state.

walk.py        all of a graph; stand.py: one run of the code beside a state
reference.py   what it is held against: the graph, and what its steps are in code
plan.py        where to go next; flow.py: how often each step must be taken at least
moves.py       what one action is in code
divergence.py  how code differs; walked.py: that as a trace
"""
