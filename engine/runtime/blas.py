"""NumPy's BLAS, and SciPy's: facts, as far as they can be told from outside, and how many threads they compute with.

The threads of OpenBLAS meet at the end of each product, and where one of them has to wait for a core, all wait. On a
machine that is busy with other things a small product takes ten times as long with two threads as with one; on an idle
one it takes half as long at best. So products that take less than some milliseconds are computed by one thread. The
same goes for decompositions, systems and all else that LAPACK computes. NumPy and SciPy bring a library each, whose
threads wait actively for the next call: there two libraries stop each other, even on an idle machine.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

_VARIABLES = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
"""Where OpenBLAS, which NumPy brings along, looks first to last."""


_WIDE_CORES = ("skylakex", "cooperlake", "sapphirerapids", "zen5")
"""The processors, as OpenBLAS names them, for which it multiplies small matrices as they lie."""
_WIDE = {"X86_V4", "AVX512_SKX"}
"""NumPy's names for the instruction sets of these."""


@functools.cache
def multiplies_in_place() -> bool:
    """Whether small matrices are multiplied as they lie, without being copied first.

    OpenBLAS does so with AVX-512, unless the environment tells it to take the processor for another one.
    """
    if named := os.environ.get("OPENBLAS_CORETYPE", ""):
        return named.lower() in _WIDE_CORES
    known = np.show_config(mode="dicts").get("SIMD Extensions", {})
    return not _WIDE.isdisjoint([*known.get("baseline", ()), *known.get("found", ())])


_ONES, _OUT = np.ones((3, 12), np.float32), np.full((12, 12), np.nan, np.float32)
with np.errstate(all="ignore"):
    if (np.matmul(_ONES.T, _ONES, out=_OUT) != 3).any():
        # OpenBLAS on ARM with SME; with other processors' kernels it is right
        said = "float32 products of a matrix and its transpose hold what lay in memory, and are wrong on this processor"
        warnings.warn(f"NumPy's BLAS: {said}. Set OPENBLAS_CORETYPE=NEOVERSEN1 before Python starts", stacklevel=2)


class _Count(NamedTuple):
    """Functions of a BLAS that tell and set how many threads it computes with."""

    get: Any
    set: Any


@functools.cache
def openblas(user: str = "numpy._core._multiarray_umath") -> ctypes.CDLL | None:
    """The library that a module multiplies with; its functions are found by `openblas_function`."""
    try:
        # looks in what this module is linked against, too
        return ctypes.CDLL(importlib.import_module(user).__file__)
    except (ImportError, OSError):
        return None


def openblas_function(name: str, library: ctypes.CDLL | None = None) -> Any:
    """A function of OpenBLAS, by its name without what it begins and ends with; None if that is another BLAS."""
    for form in ("scipy_openblas_{}64_", "scipy_openblas_{}", "openblas_{}64_", "openblas_{}"):
        if (found := getattr(library or openblas(), form.format(name), None)) is not None:
            return found
    return None


@functools.cache
def thread_count(of_scipy: bool = False) -> _Count | None:
    """Functions that tell and set the number of threads; None where NumPy's (or SciPy's) BLAS is no OpenBLAS."""
    library = openblas("scipy.linalg._flapack") if of_scipy else openblas()
    if library is None:
        return None
    get, set = (openblas_function(f"{word}_num_threads", library) for word in ("get", "set"))
    return None if get is None or set is None else _Count(get, set)


@functools.cache
def threads_wanted() -> int:
    """The number that the environment asks for, else a thread for each processor that this process may use.

    It is looked up once: what is chosen by it, and so a last bit, stays as it is while a process runs.
    """
    for name in _VARIABLES:
        if (wanted := os.environ.get(name, "")).isdigit() and int(wanted):
            return int(wanted)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def blas_threads() -> int:
    """How many threads this thread's products of matrices are computed with."""
    return 1 if _scope.depth else threads_wanted()


def in_one_thread() -> bool:
    """Whether this thread is in a scope of `one_thread`, which others are not."""
    return _scope.depth > 0 and threads_wanted() > 1


class _Scope(threading.local):
    depth = 0
    """How many scopes of one thread this thread is in."""


class _Lowered:
    """How many scopes there are in all threads, and how many threads a BLAS had before the first of them."""

    def __init__(self, *which: bool) -> None:
        self.which = which
        self.lock = threading.Lock()
        self.count = 0
        self.before = 1

    def enter(self) -> None:
        """Begin a scope."""
        with self.lock:
            self.count += 1
            if self.count == 1 and (count := thread_count(*self.which)) is not None:
                self.before = count.get()
                count.set(1)

    def leave(self) -> None:
        """End a scope."""
        with self.lock:
            self.count -= 1
            # who finds one thread has lowered nothing, and somebody else may have
            if self.count == 0 and self.before > 1 and (count := thread_count(*self.which)) is not None:
                count.set(self.before)


_scope, _lowered, _of_scipy = _Scope(), _Lowered(), _Lowered(True)


def _enter() -> None:
    _scope.depth += 1
    _lowered.enter()


def _leave() -> None:
    _scope.depth -= 1
    _lowered.leave()


@contextmanager
def one_thread() -> Iterator[None]:
    """BLAS computes with one thread: this thread's products, and those that others ask for meanwhile."""
    _enter()
    try:
        yield
    finally:
        _leave()


def multiplications(a: Any, b: Any, out: Any = None) -> int:
    """How many multiplications a product of two matrices takes, or one of a stack of them."""
    return a.shape[-2] * a.shape[-1] * b.shape[-1]


def takes_one_thread(work: float, most: int) -> bool:
    """Whether `few_threads` has a kernel computed with one thread for so many multiplications."""
    return threads_wanted() > 1 and _LEAST < work <= most


def few_threads(
    work: Callable[..., float], most: int, of_scipy: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of kernels: with one thread of BLAS, where an operand's shapes say that there is little to multiply.

    Parameters
    ----------
    work : callable
        How many multiplications there are in a product, from what the kernel takes.
    most : int
        Up to how many one thread makes them.
    of_scipy : bool
        Whether SciPy's BLAS computes, not NumPy's.
    """
    enter, leave = (_of_scipy.enter, _of_scipy.leave) if of_scipy else (_enter, _leave)

    def of(kernel: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(kernel)
        def wrapped(*operands: Any, **params: Any) -> Any:
            if not takes_one_thread(work(*operands, **params), most):
                return kernel(*operands, **params)
            enter()
            try:
                return kernel(*operands, **params)
            finally:
                leave()

        return wrapped if threads_wanted() > 1 else kernel

    return of


_LEAST = 9216
"""Multiplications up to which OpenBLAS itself takes one thread (of a matrix and a vector; of two matrices 2**18)."""
