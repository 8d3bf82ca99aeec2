"""The core: values, ops and nodes, and what derives an op's rules.

In: arrays, symbols and batches. Out: `Node` records on tapes and in traces. `op.py` says what an op is, `kinds.py` how
its rules are made, `eager.py`, `trace.py` and `batching.py` what applying one means, `tape.py` how it is recorded.
"""
