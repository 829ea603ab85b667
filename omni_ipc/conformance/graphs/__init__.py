"""State graphs: in a form of their own, out of TLC, and as they were committed.

graph.py  the form, which has one digest, whatever order TLC worked in
dump.py   out of TLC; dot.py: what it dumps, read
"""
