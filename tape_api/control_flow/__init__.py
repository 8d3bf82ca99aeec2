"""Branches, loops and arrays of tensors: in Python, and as single ops."""
