"""Colouring: which columns or rows one sweep carries together.

In: a sparsity pattern. Out: a colour per column or row.
"""
