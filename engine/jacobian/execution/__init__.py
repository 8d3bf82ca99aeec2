"""Execution: compiles a plan, runs its sweeps (in chunks, or on a user's `executor`), puts the numbers in their places.

In: a plan and arrays. Out: the blocks of the Jacobian.
"""
