"""SciPy's own functions on values: ``scipy.linalg.solve(a, t)``, ``scipy.special.logsumexp(t)``.

NumPy's functions and all ufuncs ask their operands what to do (`engine.numpy_api.protocol`). SciPy's other functions do
not: they make arrays of what they are given. So those that we have a function for (`engine.numpy_api.scipy_functions`)
are replaced, in their module, by ones that ask first. For arguments without a value among them nothing changes. A name
that a program took from SciPy before is SciPy's own, and says what it always said: that the derivative would be lost.

A module is treated when it is loaded, so that nobody loads SciPy for this.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import FunctionType, ModuleType
from typing import Any

FUNCTIONS = {
    "scipy.fft": ("dct dst fft fft2 fftn hfft idct idst ifft ifft2 ifftn ihfft irfft irfft2 irfftn rfft rfft2 rfftn"),
    "scipy.integrate": ("cumulative_trapezoid simpson trapezoid"),
    "scipy.linalg": (
        "block_diag cho_factor cho_solve cholesky circulant companion convolution_matrix coshm cosm det eig "
        "eigh eigvals eigvalsh expm expm_frechet fractional_matrix_power hankel inv khatri_rao logm lstsq "
        "lu_factor lu_solve norm pinv pinvh polar qr sinhm sinm solve solve_banded solve_continuous_lyapunov "
        "solve_discrete_lyapunov solve_lyapunov solve_sylvester solve_toeplitz solve_triangular solveh_banded "
        "sqrtm svd svdvals tanhm tanm toeplitz"
    ),
    "scipy.ndimage": (
        "convolve1d correlate1d gaussian_filter gaussian_filter1d map_coordinates uniform_filter uniform_filter1d"
    ),
    "scipy.signal": "convolve convolve2d correlate fftconvolve",
    "scipy.sparse": "diags diags_array",
    "scipy.stats": "",
    "scipy.special": (
        "comb factorial log_softmax logsumexp multigammaln perm polygamma softmax "
        "spherical_in spherical_jn spherical_kn spherical_yn"
    ),
}
"""By module, the names that `engine.numpy_api.scipy_functions` has something for: that is loaded by the first call."""

SPARSE = ("coo_array", "coo_matrix", "csc_array", "csc_matrix", "csr_array", "csr_matrix")
"""Classes of `scipy.sparse` that can be made of values."""
METHODS = {
    "rv_continuous": "cdf isf logcdf logpdf logsf pdf ppf sf",
    "rv_discrete": "cdf isf logcdf logpmf logsf pmf ppf sf",
    "multivariate_normal": "__call__ entropy logpdf pdf",
    "multivariate_t": "__call__ logpdf pdf",
    "dirichlet": "__call__ logpdf pdf",
    "multinomial": "__call__ logpmf pmf",
    "wishart": "__call__ logpdf pdf",
    "invwishart": "__call__ logpdf pdf",
    "matrix_normal": "__call__ logpdf pdf",
}
"""By class of `scipy.stats`, or by the object that is the only one of its class: the methods that ask."""


SOLVERS = {
    "scipy.integrate": {
        "dualgrad.solvers.ode": "odeint solve_ivp",
        "dualgrad.solvers.quadrature": "dblquad nquad quad quad_vec",
    },
    "scipy.interpolate": {"dualgrad.solvers.interpolation": "interpn"},
    "scipy.optimize": {
        "dualgrad.solvers.implicit": "brentq fixed_point fsolve least_squares minimize newton root root_scalar"
    },
    "scipy.sparse.linalg": {"dualgrad.solvers.linear": "bicgstab cg gmres spsolve"},
}
"""By module, where functions are that replace solvers, which call a function of the user's: it may hold values too."""


def _holds_values(x: Any) -> bool:
    # before that module is loaded there are no values
    core = sys.modules.get("engine.core.value")
    if core is None:
        return False
    return isinstance(x, core.Value) or (type(x) in (list, tuple) and any(map(_holds_values, x)))


def _uses_tracked(x: Any, depth: int = 3) -> bool:
    """Whether a function of the user's has a value in its closure whose derivative somebody waits for."""
    core, tape = sys.modules.get("engine.core.value"), sys.modules.get("engine.core.tape")
    if core is None or tape is None or not isinstance(x, FunctionType) or not depth:
        return False
    for cell in x.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
        if _uses_tracked(value, depth - 1):
            return True
        if isinstance(value, core.Value) and (
            value.level or any(core.address(value) in t.tracked for t in tape.active.tapes)
        ):
            return True
    return False


def _asking(name: str, theirs: Callable[..., Any]) -> Callable[..., Any]:
    """SciPy's function for arrays, ours for values."""

    @functools.wraps(theirs)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not (any(map(_holds_values, args)) or any(map(_holds_values, kwargs.values()))):
            return theirs(*args, **kwargs)
        from engine.numpy_api import protocol

        return protocol.of_scipy(name, theirs, args, kwargs)

    # where it is found under this name, as pickle looks for it
    call.__module__, _, call.__qualname__ = name.rpartition(".")
    return call


def _distribution(module: ModuleType, own: Any) -> str:
    """The name of a distribution of SciPy's; one that a program has made, or changed, is called by its class."""
    name = getattr(own, "name", "")
    standard: Any = getattr(module, name or "", None)
    same = type(standard) is type(own) and (standard.a, standard.b) == (own.a, own.b)
    return name if same else type(own).__name__


def _of_values(theirs: type) -> Callable[..., Any]:
    """A constructor of a class of sparse matrices; of values it makes one of ours, which holds them."""

    def new(cls: type, *args: Any, **kwargs: Any) -> Any:
        entries = args[0] if args else kwargs.get("arg1")
        if cls is theirs and isinstance(entries, tuple) and entries and _holds_values(entries[0]):
            from engine.numpy_api import sparse_values

            return sparse_values.made(theirs, *args, **{k: v for k, v in kwargs.items() if k != "copy"})
        return object.__new__(cls)

    return new


def _treat_sparse(module: ModuleType) -> None:
    for name in SPARSE:
        owner = getattr(module, name, None)
        if owner is None:
            continue
        owner.__new__ = _of_values(owner)
        for method in ("__add__", "__mul__", "__radd__", "__rmul__", "__rsub__", "__sub__", "__truediv__", "multiply"):
            setattr(owner, method, _with_values(method, getattr(owner, method)))


def _with_values(method: str, theirs: Callable[..., Any]) -> Callable[..., Any]:
    """A method of sparse matrices: with a value it is that of a sparse matrix of values."""

    @functools.wraps(theirs)
    def call(self: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
        if not _holds_values(other):
            return theirs(self, other, *args, **kwargs)
        from engine.numpy_api.sparse_values import SparseValues

        own = SparseValues.of(self, other)
        if method in ("__mul__", "__rmul__") and hasattr(self, "getrow") and other.shape.rank:
            return own @ other if method == "__mul__" else other @ own  # of matrices, as distinct from arrays
        return getattr(own, method)(other)

    return call


class Frozen:
    """A distribution whose parameters are given, tensors among them."""

    def __init__(self, distribution: Any, args: Any, kwargs: Any) -> None:
        self._distribution, self._args, self._kwargs = distribution, args, kwargs

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._distribution, name)
        if name == "entropy":
            return lambda: method(*self._args, **self._kwargs)
        return lambda x: method(x, *self._args, **self._kwargs)


def _asking_method(
    module: ModuleType, method: str, theirs: Callable[..., Any], title: str | None
) -> Callable[..., Any]:
    """As `_asking`, for a method of distributions: of that called `title`, or of all of a class."""

    @functools.wraps(theirs)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not (any(map(_holds_values, args)) or any(map(_holds_values, kwargs.values()))):
            return theirs(self, *args, **kwargs)
        if method == "__call__":
            return Frozen(self, args, kwargs)
        from engine.numpy_api import protocol

        name = f"scipy.stats.{title or _distribution(module, self)}.{method}"
        return protocol.of_scipy(name, functools.partial(theirs, self), args, kwargs)

    return call


def _treat_distributions(module: ModuleType) -> None:
    for name, methods in METHODS.items():
        owner = getattr(module, name, None)
        if owner is None:
            continue
        title = None if isinstance(owner, type) else name
        of = owner if isinstance(owner, type) else type(owner)
        for method in methods.split():
            setattr(of, method, _asking_method(module, method, getattr(of, method), title))


def _solving(name: str, theirs: Callable[..., Any], where: str) -> Callable[..., Any]:
    """SciPy's solver for arrays, ours where values are among the arguments, or tracked ones in their closures."""

    @functools.wraps(theirs)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = [*args, *kwargs.values()]
        matrices = sys.modules.get("engine.numpy_api.sparse_values")
        has_matrix = matrices is not None and any(isinstance(x, matrices.SparseValues) for x in given)
        asked = has_matrix or any(map(_holds_values, given))
        if not asked and not any(map(_uses_tracked, given)):
            return theirs(*args, **kwargs)
        ours = getattr(import_module(where), name.rpartition(".")[2])
        if asked:
            return ours(*args, **kwargs)
        errors = import_module("engine.runtime.errors")
        try:
            return ours(*args, **kwargs)
        except (errors.OperatorNotAllowedInGraphError, errors.SymbolicArrayError):
            # the function makes numbers of its tensors itself, as in a rule of one's own: tapes say what that loses
            return theirs(*args, **kwargs)

    call.__module__, _, call.__qualname__ = name.rpartition(".")
    return call


def treat(module: ModuleType) -> None:
    """Replace the functions of a module that we have."""
    if module.__name__ == "scipy.stats":
        _treat_distributions(module)
    if module.__name__ == "scipy.sparse":
        _treat_sparse(module)
    for name in FUNCTIONS.get(module.__name__, "").split():
        theirs = getattr(module, name, None)
        if theirs is not None:
            setattr(module, name, _asking(f"{module.__name__}.{name}", theirs))
    for where, names in SOLVERS.get(module.__name__, {}).items():
        for name in names.split():
            setattr(module, name, _solving(f"{module.__name__}.{name}", getattr(module, name), where))


class _Treating:
    """A loader that treats what it has loaded.

    It has the methods of `importlib.abc.Loader` without being one: that module loads a dozen others.
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As the loader of the module does it."""
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Load the module, then treat it."""
        self._inner.exec_module(module)
        treat(module)


class _Finder:
    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        if fullname not in FUNCTIONS and fullname not in SOLVERS:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Treating(spec.loader)  # type: ignore[assignment]
        return spec


def watch() -> None:
    """Treat the modules that are loaded, and the others when they are; once."""
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    for name in dict.fromkeys([*FUNCTIONS, *SOLVERS]):
        if name in sys.modules:
            treat(sys.modules[name])
    sys.meta_path.insert(0, _Finder())
