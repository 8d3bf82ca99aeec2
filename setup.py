"""The extensions in C, built where there is a compiler: functions, executor, eager ops, windows, products, checksums.

Everything else about the package is in pyproject.toml.
"""

import hashlib
import importlib
import os
import runpy
import shutil
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

import numpy as np
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = os.path.dirname(os.path.abspath(__file__))
RUNTIME, OPS, EXECUTOR = "engine/runtime", "engine/ops", "engine/executor"
# products and sums must stay apart: fused, they are rounded once only
FLAGS = ["-O3", "-ffp-contract=off"] if sys.platform != "win32" else ["/fp:strict"]
if sys.platform == "linux" and "CFLAGS" not in os.environ:
    FLAGS.append("-g0")  # Python was built with -g, which is a third of the time
ELEMENTARY = f"{RUNTIME}/elementary"
BUILT = os.path.join(HERE, "build", "extensions")
fingerprint = runpy.run_path(os.path.join(HERE, RUNTIME, "extension.py"))["fingerprint"]


def extension(name: str, sources: list[str], headers: list[str]) -> Extension:
    """An extension that knows what it was built from."""
    headers = [*headers, f"{RUNTIME}/built_from.h"]
    return Extension(
        name,
        sources,
        depends=headers,
        include_dirs=[np.get_include()],
        define_macros=[("BUILT_FROM", f'"{fingerprint([*sources, *headers], HERE)}"')],
        extra_compile_args=FLAGS,
        optional=True,
    )


def elementary(name: str) -> ModuleType:
    """A module of the elementary functions; the packages around it are not run: they ask for the extensions."""
    for package in ("engine", "engine.runtime", "engine.runtime.elementary"):
        found = sys.modules.setdefault(package, ModuleType(package))
        found.__path__ = [os.path.join(HERE, *package.split("."))]
    return importlib.import_module(f"engine.runtime.elementary.{name}")


class Build(build_ext):
    """Compiles all sources side by side; what was built before of the same ones comes from `build/extensions`.

    The elementary functions are written in C first: Python has them.
    """

    workers = ThreadPoolExecutor(os.cpu_count())

    def build_extension(self, ext: Extension) -> None:
        """Build one extension."""
        made = self.get_ext_fullpath(ext.name)
        built_with = [ext.define_macros, ext.extra_compile_args, np.__version__, sysconfig.get_config_var("CFLAGS")]
        built_with += [os.environ.get(name) for name in ("CC", "CFLAGS", "LDFLAGS")]
        key = hashlib.sha256(repr(built_with).encode()).hexdigest()[:16]
        kept = os.path.join(BUILT, key, os.path.basename(made))
        if not os.path.exists(kept) or self.force:
            self.announce(f"compiling {len(ext.sources)} sources of {ext.name}", level=2)
            if ext.name.endswith("._elementary"):
                os.makedirs(self.build_temp, exist_ok=True)
                with open(os.path.join(self.build_temp, "elementary_functions.h"), "w") as file:
                    file.write(elementary("c_source").written(elementary("functions").FUNCTIONS))
                ext.include_dirs.append(self.build_temp)
            ext.depends = [*ext.sources, *ext.depends]
            ext.extra_objects = [
                one for many in self.workers.map(self.compiled, [ext] * len(ext.sources), ext.sources) for one in many
            ]
            ext.sources = []
            if os.path.exists(made):
                os.remove(made)  # it may be of the same sources with other flags, and would be left
            super().build_extension(ext)
            os.makedirs(os.path.dirname(kept), exist_ok=True)
            shutil.copy(made, f"{kept}.new")
            os.replace(f"{kept}.new", kept)
        else:
            os.makedirs(os.path.dirname(made), exist_ok=True)
            shutil.copy(kept, made)

    def compiled(self, ext: Extension, source: str) -> list[str]:
        """The object file of one source."""
        return self.compiler.compile(
            [source],
            self.build_temp,
            ext.define_macros,
            ext.include_dirs,
            extra_postargs=ext.extra_compile_args,
            depends=ext.depends,
        )


setup(
    cmdclass={"build_ext": Build},
    options={"build_ext": {"parallel": os.cpu_count()}},
    ext_modules=[
        extension(
            "engine.runtime.elementary._elementary",
            [f"{ELEMENTARY}/_elementary.c"],
            [f"{ELEMENTARY}/{name}.py" for name in ("functions", "circular", "single", "steps", "c_source")],
        ),
        extension(
            "engine.executor._executor",
            [
                f"{EXECUTOR}/{name}.c"
                for name in ("loops", "summed", "fused", "short_rows", "small_products", "rows", "threads", "_executor")
            ],
            [
                *[
                    f"{EXECUTOR}/{name}.h"
                    for name in (
                        "_loop",
                        "_reductions",
                        "_selected_rows",
                        "_table",
                        "rows",
                        "threads",
                        "loops",
                        "steps",
                    )
                ],
                f"{RUNTIME}/row_sums.h",
                f"{RUNTIME}/four_products.h",
                f"{RUNTIME}/small_product.h",
                f"{RUNTIME}/wide.h",
            ],
        ),
        extension(
            "engine.core._eager",
            ["engine/core/_eager.c"],
            [
                *[
                    f"engine/core/_eager_{name}.h"
                    for name in ("functions", "keys", "loops", "memory", "operators", "recording", "steps", "tracked")
                ],
                f"{RUNTIME}/row_sums.h",
                f"{RUNTIME}/wide.h",
            ],
        ),
        extension(
            "engine.ops._windows",
            [f"{OPS}/_windows.c"],
            [*[f"{OPS}/_windows_{name}.h" for name in ("direct", "geometry", "typed")], f"{RUNTIME}/wide.h"],
        ),
        extension(
            "engine.ops._products",
            [f"{OPS}/_products.c", f"{OPS}/first_fit.c"],
            [f"{RUNTIME}/{name}.h" for name in ("four_products", "small_matrix", "small_product", "wide")],
        ),
        extension("engine.runtime._checksum", [f"{RUNTIME}/_checksum.c"], []),
    ],
)
