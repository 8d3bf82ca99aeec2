"""The core: values, ops and nodes, and what derives an op's rules.

An op is applied to arrays, graph symbols or batches; the call is recorded as a `Node` on a tape or in a graph.
`op.py` says what an op is and `kinds.py` how its rules are made. `eager.py`, `trace.py` and `batching.py` say what
happens when an op is applied to eager tensors, graph symbols and batches, `tape.py` how a call is recorded.
`arguments.py` refuses bad axes.
"""
