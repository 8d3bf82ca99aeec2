"""Tapes, symbolic gradients, transforms of functions, and numeric checks of derivatives."""
