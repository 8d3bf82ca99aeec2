"""Forms in which a Jacobian is handed out: dense, sparse, an operator, functions for SciPy.

In: blocks or products. Out: arrays, matrices, linear operators.
"""
