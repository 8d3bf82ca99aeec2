"""The passes of the compiler; `pipeline.py` has the table of those that see a whole program.

In: instructions with static shapes. Out: fewer, fused or better placed instructions, with the same bits.
"""
