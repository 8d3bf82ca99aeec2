"""The compiler: nodes of a trace become a `Program` of static shapes.

In: nodes, and the shapes and dtypes of their inputs. Out: a `Program`, which can be run, pickled, and printed with an
explanation. `lowering.py` goes through the nodes, and removes duplicates and folds constants as it goes; `passes/`
improves what comes out (`pipeline.py` has their order); `program.py` generates Python and runs it, or hands it to
`engine.executor`, which runs it in C. `ir/` holds what all of them work on.
"""
