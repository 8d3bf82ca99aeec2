"""The native executor, eager ops and the moves of windows, extensions in C: built where there is a compiler.

Everything else about the package is in pyproject.toml.
"""

import sys

import numpy as np
from setuptools import Extension, setup

HOME, WIDE = "engine/program/native", "engine/runtime/wide.h"
# products and sums must stay apart: fused, they are rounded once only
FLAGS = ["-O3", "-ffp-contract=off"] if sys.platform != "win32" else ["/fp:strict"]

setup(
    ext_modules=[
        Extension(
            "engine.program.native._executor",
            [f"{HOME}/{name}.c" for name in ("_executor", "rows", "loops")],
            depends=[f"{HOME}/{name}" for name in ("_table.h", "rows.h", "loops.h")] + [WIDE],
            include_dirs=[np.get_include()],
            extra_compile_args=FLAGS,
            optional=True,
        ),
        Extension(
            "engine.core._eager",
            ["engine/core/_eager.c"],
            depends=["engine/core/_eager_operators.h", "engine/core/_eager_keys.h"],
            include_dirs=[np.get_include()],
            extra_compile_args=FLAGS,
            optional=True,
        ),
        Extension(
            "engine.ops._windows",
            ["engine/ops/_windows.c"],
            depends=["engine/ops/_windows_typed.h", WIDE],
            include_dirs=[np.get_include()],
            extra_compile_args=FLAGS,
            optional=True,
        ),
    ]
)
