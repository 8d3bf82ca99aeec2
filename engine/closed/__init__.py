"""Closed functions: nodes with everything that they take and give, which is what is compiled, whoever made it.

In: what a tape recorded, what Python code did, fetches of a graph, the body of a loop. Out: a `ClosedFunction`
(`function.py`), which can be run, differentiated, batched and explained. `capture.py` turns values that a body uses
from the graph around it into operands, `retrace.py` does so for recordings.
"""
