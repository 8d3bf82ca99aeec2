"""AutoGraph: Python's own ``if``, ``while`` and ``for``, over tensors, as branches and loops of a program.

A function is rewritten from its source once (`conversion`, `source`): jumps become flags (`jumps`), branches and loops
calls of `operators` (`flow`, with `analysis` of what they read and write), calls and logic as well (`expressions`).
"""
