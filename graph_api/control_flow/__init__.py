"""Branches, loops, assertions and Python functions as operations of a graph."""
