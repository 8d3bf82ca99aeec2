"""Planning: directions, elimination order, chunks, and what each costs.

In: a path and its patterns. Out: a `Plan`.
"""
