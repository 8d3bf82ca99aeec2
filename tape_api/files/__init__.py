"""Checkpoints, weights and whole models in files."""
