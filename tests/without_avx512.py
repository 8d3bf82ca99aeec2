"""pytest on a processor without AVX-512, as most are: ``python -m tests.without_avx512 [arguments of pytest]``.

NumPy's loops for AVX-512 have last bits of their own, and so have OpenBLAS's. NumPy is told not to use them by names
that differ between its versions, and says nothing about a name that it does not know: the names are looked up, and the
tests start only once the loops are off.
"""

from __future__ import annotations

import os
import sys

from numpy._core import _multiarray_umath as numpy_core

KERNELS = "Haswell"
"""OpenBLAS's kernels for processors with AVX2 and nothing newer."""


def names() -> list[str]:
    """What this NumPy calls its loops for AVX-512."""
    # x86-64-v4 is what those processors have in common
    return [name for name in numpy_core.__cpu_dispatch__ if "AVX512" in name or name == "X86_V4"]


def still_on() -> list[str]:
    """What of it this process uses all the same."""
    from threadpoolctl import threadpool_info

    loops = [name for name in names() if numpy_core.__cpu_features__[name]]
    found = [info.get("architecture") for info in threadpool_info() if info["internal_api"] == "openblas"]
    return loops + [f"OpenBLAS for {kernels}" for kernels in found if kernels != KERNELS]


def main() -> None:
    """Run pytest in a process without AVX-512."""
    if os.environ.get("OPENBLAS_CORETYPE") != KERNELS:
        switches = {"NPY_DISABLE_CPU_FEATURES": " ".join(names()), "OPENBLAS_CORETYPE": KERNELS}
        os.execve(sys.executable, [sys.executable, "-m", "tests.without_avx512", *sys.argv[1:]], os.environ | switches)
    import scipy.linalg  # noqa: F401  (its BLAS is looked at, too)

    if on := still_on():
        raise SystemExit(f"AVX-512 is not switched off: {', '.join(on)}")
    print(f"NumPy does without {', '.join(names()) or 'nothing: it has no loops for AVX-512'}", flush=True)
    os.execv(sys.executable, [sys.executable, "-m", "pytest", *sys.argv[1:]])


if __name__ == "__main__":
    main()
