"""Coloring: which columns or rows one sweep carries together.

In: a sparsity pattern. Out: a color per column or row.
"""
