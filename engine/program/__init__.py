"""The compiler: nodes of a trace become a `Program` of static shapes.

In: nodes, and the shapes and dtypes of their inputs. Out: a `Program`, which can be run, pickled, and printed with an
explanation. `lowering.py` goes through the nodes, and removes duplicates and folds constants as it goes; `passes/`
improves what comes out; `program.py` generates Python and runs it, or `native/` runs it in C.
"""

from engine.program.lowering import lower
from engine.program.passes.pipeline import ALL_PASSES
from engine.program.program import Program

__all__ = ["ALL_PASSES", "Program", "lower"]
