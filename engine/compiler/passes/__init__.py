"""The passes of the compiler. `pipeline.py` has the table of all of them; each larger pass has a module of its own.

Passes of level "node" (duplicate nodes, constant folding) are not here: `engine.compiler.lowering` applies them as it
goes.

In: instructions with static shapes. Out: fewer, fused or better placed instructions, with the same bits.
"""
