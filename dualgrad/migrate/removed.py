"""Names and habits that NumPy, SciPy and Python have given up since programs for TensorFlow 1 were written.

`REMOVED` says what stands for a name today, as an expression that Python can evaluate, and since when it is gone. A
program that dies of one of them is told so in one line (`explained`); ``dualgrad run --compat`` lets the program, and
nothing else, have them (`dualgrad.migrate.bridging`).
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from dualgrad.frontend.rows import pairs

_NUMPY_20 = "NumPy 2.0"
_BELOW = (
    *("numpy.linalg", "scipy.special", "scipy.integrate", "scipy.signal.windows", "collections.abc"),
    "dualgrad.migrate.internal_tools",
)
"""Modules of packages that do not import them."""
_ABC = (
    "Awaitable ByteString Callable Container Coroutine Generator Hashable ItemsView Iterable Iterator KeysView Mapping "
    "MappingView MutableMapping MutableSequence MutableSet Sequence Set Sized ValuesView"
)


def _rows_of(module: str, since: str, text: str) -> dict[str, tuple[str, str]]:
    """Rows of a module from ``"name=expression"``; an underscore in an expression's module is a dot."""
    rows = (pair.partition("=") for pair in text.split())
    return {f"{module}.{name}": (now, since) for name, _, now in rows}


REMOVED: dict[str, tuple[str, str]] = {
    **_rows_of(
        "numpy", "NumPy 1.24", "bool=bool complex=complex float=float int=int object=object str=str unicode=str"
    ),
    **_rows_of("numpy", "NumPy 1.20", "long=int"),
    **_rows_of("numpy", _NUMPY_20, "Inf=numpy.inf Infinity=numpy.inf NAN=numpy.nan NaN=numpy.nan infty=numpy.inf"),
    **_rows_of("numpy", _NUMPY_20, "PINF=numpy.inf NINF=-numpy.inf PZERO=0.0 NZERO=-0.0"),
    **_rows_of("numpy", _NUMPY_20, "float_=numpy.float64 complex_=numpy.complex128 cfloat=numpy.complex128"),
    **_rows_of("numpy", _NUMPY_20, "longfloat=numpy.longdouble singlecomplex=numpy.complex64 string_=numpy.bytes_"),
    **_rows_of("numpy", _NUMPY_20, "unicode_=numpy.str_ bool8=numpy.bool_ int0=numpy.intp uint0=numpy.uintp"),
    **_rows_of("numpy", _NUMPY_20, "alltrue=numpy.all sometrue=numpy.any product=numpy.prod cumproduct=numpy.cumprod"),
    **_rows_of("numpy", _NUMPY_20, "mat=numpy.asmatrix round_=numpy.round row_stack=numpy.vstack"),
    **_rows_of("numpy", _NUMPY_20, "in1d=numpy.isin trapz=numpy.trapezoid safe_eval=ast.literal_eval"),
    **_rows_of(
        "PIL.Image", "Pillow 10", "ANTIALIAS=PIL.Image.LANCZOS CUBIC=PIL.Image.BICUBIC LINEAR=PIL.Image.BILINEAR"
    ),
    "numpy.asfarray": ("lambda a, dtype=float: numpy.asarray(a, dtype)", _NUMPY_20),
    "numpy.msort": ("lambda a: numpy.sort(a, axis=0)", _NUMPY_20),
    "numpy.asscalar": ("lambda a: a.item()", "NumPy 1.23"),
    "numpy.rank": ("numpy.ndim", "NumPy 1.18"),
    "numpy.linalg.linalg": ("numpy.linalg", _NUMPY_20),
    **_rows_of("scipy.misc", "SciPy 1.3", "comb=scipy.special.comb factorial=scipy.special.factorial"),
    **_rows_of("scipy.misc", "SciPy 1.3", "logsumexp=scipy.special.logsumexp"),
    **_rows_of("scipy.integrate", "SciPy 1.14", "cumtrapz=scipy.integrate.cumulative_trapezoid"),
    **_rows_of("scipy.integrate", "SciPy 1.14", "simps=scipy.integrate.simpson trapz=scipy.integrate.trapezoid"),
    **_rows_of("scipy.signal", "SciPy 1.13", "gaussian=scipy.signal.windows.gaussian hann=scipy.signal.windows.hann"),
    **_rows_of("scipy.signal", "SciPy 1.13", "hamming=scipy.signal.windows.hamming"),
    **{f"collections.{name}": (f"collections.abc.{name}", "Python 3.10") for name in _ABC.split()},
    **_rows_of("time", "Python 3.8", "clock=time.perf_counter"),
    **_rows_of("fractions", "Python 3.9", "gcd=math.gcd"),
    **_rows_of("itertools", "Python 3", "ifilter=filter imap=map izip=zip izip_longest=itertools.zip_longest"),
    **_rows_of("os", "Python 3", "getcwdu=os.getcwd"),
    **_rows_of("string", "Python 3", "letters=string.ascii_letters lowercase=string.ascii_lowercase"),
    **_rows_of("string", "Python 3", "uppercase=string.ascii_uppercase maketrans=str.maketrans"),
    **_rows_of("sys", "Python 3", "maxint=sys.maxsize"),
    "inspect.getargspec": ("dualgrad.migrate.internal_tools.getargspec", "Python 3.11"),
    "dict.has_key": ("lambda self, key: key in self", "Python 3"),
    "dict.iteritems": ("dict.items", "Python 3"),
    "dict.iterkeys": ("dict.keys", "Python 3"),
    "dict.itervalues": ("dict.values", "Python 3"),
    "ndarray.itemset": ("lambda self, *at: self.__setitem__(at[0] if at[:-1] else (), at[-1])", _NUMPY_20),
    "ndarray.ptp": ("numpy.ptp", _NUMPY_20),
    "ndarray.tostring": ("lambda self: self.tobytes()", "NumPy 2.3"),
}
"""By name: an expression that stands for it, and what gave it up. Methods stand under the name of their class."""

BUILTINS = pairs("basestring=str long=int raw_input=input reduce=functools.reduce unichr=chr unicode=str xrange=range")
"""Functions that Python 3 has not, and what stands for each."""

MODULES = pairs(
    "ConfigParser=configparser Queue=queue StringIO=io cPickle=pickle copy_reg=copyreg "
    "imp=dualgrad.migrate.old_imp urlparse=urllib.parse"
)
"""Modules that are gone, and those that have their names today."""

WITHOUT_MODULE = {
    "distutils": ("Python 3.12", "setuptools brings it"),
    "scipy.misc": ("SciPy 1.14", "comb, factorial, logsumexp are in scipy.special, pictures in imageio and PIL"),
}
"""Modules that are gone without one of today in their place: since when, and what to do."""

_NAME = re.compile(
    r"module '([\w.]+)' has no attribute '(\w+)'|`np\.(\w+)` was|cannot import name '(\w+)' from '([\w.]+)'"
)
_METHOD = re.compile(r"'(?:[\w.]*\.)?(\w+)' object has no attribute '(\w+)'")
_OF_ARRAY = re.compile(r"`(\w+)` was removed from the (ndarray) class")  # until NumPy 2.3
_SCALAR = ("only 0-dimensional arrays", "only length-1 arrays", "format: a real number is required, not numpy.ndarray")
_RAGGED = "inhomogeneous shape"
_NO_COPY = "Unable to avoid copy while creating an array"


class Told(NamedTuple):
    """A line for who runs the program, and whether ``--compat`` would let it go on."""

    line: str
    bridged: bool


def _name_of(error: BaseException) -> str | None:
    """The name that an exception says is missing, as a key of `REMOVED`."""
    text = str(error)
    if found := _NAME.search(text):
        module, name, of_numpy, imported, source = found.groups()
        return f"numpy.{of_numpy}" if of_numpy else f"{source}.{imported}" if imported else f"{module}.{name}"
    if found := _METHOD.search(text):
        kind = "dict" if found[1] in ("OrderedDict", "defaultdict") else found[1]
        return f"{kind}.{found[2]}"
    return f"{found[2]}.{found[1]}" if (found := _OF_ARRAY.search(text)) else None


def removed(name: str) -> str | None:
    """Since when a name is gone, and what to write; None if it is not known to be.

    Parameters
    ----------
    name : str
        Such as ``"numpy.float"``, ``"scipy.misc.imread"``, ``"cPickle"`` or ``"xrange"``.

    Examples
    --------
    >>> removed("numpy.float")
    'gone since NumPy 1.24: write float (or run with --compat)'
    >>> removed("numpy.float32") is None
    True
    """
    if name in REMOVED:
        if _is_there(name):
            return None
        now, since = REMOVED[name]
        return f"gone since {since}: write {_replaced(now)} (or run with --compat)"
    if name in BUILTINS:
        return f"gone since Python 3: write {BUILTINS[name]} (or run with --compat)"
    for module, (since, way) in WITHOUT_MODULE.items():
        if f"{name}.".startswith(f"{module}."):
            return f"gone since {since}: {way}"
    module = name.partition(".")[0]
    if module in MODULES:
        now = "importlib" if module == "imp" else MODULES[module]
        return f"gone since {'Python 3.12' if module == 'imp' else 'Python 3'}: import {now} (or run with --compat)"
    return None


def _is_there(name: str) -> bool:
    """Whether the NumPy, SciPy or Python that runs has the name, still or again (``numpy.bool``)."""
    import importlib
    import warnings

    module, _, last = name.rpartition(".")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return hasattr(importlib.import_module(module), last)
    except ImportError:
        return False


def _replaced(now: str) -> str:
    if now.startswith("dualgrad."):
        return "inspect.getfullargspec"
    return now.partition(":")[2].strip() if now.startswith("lambda") else now


def explained(error: BaseException) -> Told | None:
    """The line for an exception that comes of a newer NumPy, SciPy or Python than the program was written for.

    Examples
    --------
    >>> explained(AttributeError("module 'time' has no attribute 'clock'")).line
    'time.clock is gone since Python 3.8: write time.perf_counter'
    >>> explained(ValueError("something else")) is None
    True
    """
    text = str(error)
    if isinstance(error, (AttributeError, ImportError)) and (row := REMOVED.get(name := _name_of(error) or "")):
        return Told(f"{name} is gone since {row[1]}: write {_replaced(row[0])}", True)
    if isinstance(error, ModuleNotFoundError) and error.name in MODULES:
        since = "Python 3.12" if error.name == "imp" else "Python 3"
        now = "importlib" if error.name == "imp" else MODULES[error.name]
        return Told(f"the module {error.name} is gone since {since}: import {now}", True)
    if isinstance(error, ModuleNotFoundError) and error.name in WITHOUT_MODULE:
        since, way = WITHOUT_MODULE[error.name]
        return Told(f"the module {error.name} is gone since {since}: {way}", False)
    if isinstance(error, NameError) and error.name in BUILTINS:
        return Told(f"{error.name} is gone since Python 3: write {BUILTINS[error.name]}", True)
    if isinstance(error, TypeError) and any(part in text for part in _SCALAR):
        return Told("an array of one element is no number since NumPy 2.4: write x.item() for x", True)
    if isinstance(error, ValueError) and _RAGGED in text:
        return Told("rows of different lengths make no array since NumPy 1.24: pass dtype=object", False)
    if isinstance(error, ValueError) and _NO_COPY in text:
        return Told("copy=False never copies since NumPy 2.0: write np.asarray(x)", False)
    return None


def standing_for(name: str) -> Any:
    """The object that stands for a name of `REMOVED` or `BUILTINS` today.

    Raises
    ------
    KeyError
        If it is in neither.
    """
    expression = REMOVED[name][0] if name in REMOVED else BUILTINS[name]
    return eval(expression, _Modules())


class _Modules(dict[str, Any]):
    """Names that are modules, imported when they are looked up."""

    def __missing__(self, name: str) -> Any:
        import builtins
        import importlib

        if hasattr(builtins, name):
            raise KeyError(name)
        module = importlib.import_module(name)
        for below in _BELOW:
            if below.startswith(f"{name}."):
                importlib.import_module(below)
        return module
