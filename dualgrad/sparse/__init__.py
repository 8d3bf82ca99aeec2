"""Sparse tensors, written with the functions of whichever front end a sparse tensor belongs to."""
