"""Jacobians: planned once, stored sparsely where mostly zero, computed in as few sweeps as their structure allows.

In: targets, sources and the nodes between them. Out: arrays, `scipy.sparse` matrices or linear operators.
`structure/` finds which element depends on which, `coloring/` which columns or rows can share a sweep, `planning/`
chooses the sweeps, `execution/` runs them, `views/` hands the result out. Tapes enter at `on_tape.py`, graphs at
`graph_api/derivatives/jacobians.py`; `second.py` is Hessians, `callable_plan.py` the plan in a user's hands.
"""
