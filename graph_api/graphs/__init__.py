"""Graphs, their tensors and variables, and how these are named."""
