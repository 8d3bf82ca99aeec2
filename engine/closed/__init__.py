"""Sub-traces: closed functions inside a graph, such as branches and loop bodies.

In: nodes that a Python function has added to a graph. Out: a `SubTrace` that can be run, differentiated and batched on
its own. Values that the body uses from the outer graph become explicit operands (`capture.py`).
"""
