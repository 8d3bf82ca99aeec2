"""The native executor, an extension in C: built where there is a compiler, left out where there is none.

Everything else about the package is in pyproject.toml.
"""

import sys

import numpy as np
from setuptools import Extension, setup

HOME = "engine/program/native"
UNIX = sys.platform != "win32"

setup(
    ext_modules=[
        Extension(
            "engine.program.native._executor",
            [f"{HOME}/{name}.c" for name in ("_executor", "rows", "loops")],
            depends=[f"{HOME}/{name}" for name in ("_table.h", "rows.h", "loops.h")],
            include_dirs=[np.get_include()],
            # products and sums must stay apart: fused, they are rounded once only
            extra_compile_args=["-O3", "-ffp-contract=off"] if UNIX else ["/fp:strict"],
            optional=True,
        )
    ]
)
