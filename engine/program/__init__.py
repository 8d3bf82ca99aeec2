"""The static-shape compiled form of a trace."""

from engine.program.lowering import lower
from engine.program.program import Program

__all__ = ["Program", "lower"]
