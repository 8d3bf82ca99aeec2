"""The compiler: nodes of a trace become a `Program` of static shapes.

In: nodes, and the shapes and dtypes of their inputs. Out: a `Program`, which runs, pickles and explains itself.
`lowering.py` goes through the nodes; `passes/` improves what comes out; `program.py` generates Python and runs it.
"""

from engine.program.lowering import lower
from engine.program.passes.pipeline import ALL_PASSES
from engine.program.program import Program

__all__ = ["ALL_PASSES", "Program", "lower"]
