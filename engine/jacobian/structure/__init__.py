"""The structure of a Jacobian: the path, its sparsity pattern, and the data movement at its ends.

In: nodes between sources and targets. Out: patterns, peeled ends.
"""
