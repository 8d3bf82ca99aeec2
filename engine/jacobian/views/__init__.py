"""What a Jacobian is given out as: dense, sparse, an operator, functions for SciPy.

In: blocks or products. Out: arrays, matrices, linear operators.
"""
