"""Execution: plans as programs, sweeps in chunks or on executors, decompression.

In: a plan and arrays. Out: the blocks of the Jacobian.
"""
