"""The ops, one module a family, each op with its kernel and all its rules.

The rules say shapes, derivatives in reverse and forward, batching and sparsity. A reverse rule (VJP) is often derived
from partial derivatives or transposes, which `engine.core.kinds` explains.
"""
