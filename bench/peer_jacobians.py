"""How other libraries compute the derivatives of our problems: the problem's own text, under a thin namespace.

Each library has one or more ways; the fastest is what we compare ourselves with.
"""

from __future__ import annotations

import importlib.util
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from bench import peers
from bench.casadi_arrays import CasadiArray, CasadiNamespace
from bench.jacobians import LARGEST, LONGEST_LOOP, NotHere, Runner, check, is_scalar, shape
from bench.namespaces import ArrayNamespace, TorchNamespace
from bench.problems import Problem, Values
from engine.core.operands import Operand

Ways = dict[str, Callable[[], Any]]
LARGEST_SPARSE = {"casadi SX": 20_000, "casadi MX": 1_000_000, "asdex": 200_000}
"""Rows beyond which the first call of the sparse peers takes minutes."""
FEW = 64
"""Numbers a gradient is taken by, up to which forward mode may be the faster way to it."""
LONG = 0.5
"""Seconds: nobody needs to look at a call of so long many times."""
LARGEST_BOTH_WAYS = 2_000
"""The same where both directions are needed: an arrowhead of 10,000 rows takes them more than half a minute."""


def peer_ways(name: str, problem: Problem, values: Values) -> Ways:
    """Every way of a library. The first call of each compiles what there is to compile.

    Raises
    ------
    NotHere
        If the library is not meant for this problem.
    """
    return PEERS[name][1](problem, values)


def installed() -> list[str]:
    """The peers whose library is there."""
    return [name for name, (library, _) in PEERS.items() if importlib.util.find_spec(library)]


def first_calls(ways: Ways) -> dict[str, float]:
    """Seconds of the first call of each way, with everything that is done once."""
    forget()
    found = {}
    for name, run in ways.items():
        start = time.perf_counter()
        run()
        found[name] = time.perf_counter() - start
    return found


def right_ways(problem: Problem, values: Values, ways: Ways) -> tuple[Ways, dict[str, str]]:
    """The ways whose results are right; and in what each other one is off, which is not to be compared with.

    Raises
    ------
    NotHere
        If none is right.
    """
    right, off = {}, {}
    for name, run in ways.items():
        try:
            check(problem, values, run())
            right[name] = run
        except AssertionError as error:
            off[name] = str(error)
    if not right:
        rows, columns = shape(problem, values)
        wrong = "; ".join(f"{name}: {how}" for name, how in off.items())
        raise NotHere(f"wrong for {rows} x {columns}: {wrong}")
    return right, off


def warm_seconds(ways: Ways) -> dict[str, float]:
    """The seconds of each way once it is warm: the least of a few calls, of one if that is long."""
    return {name: _seconds(run) for name, run in ways.items()}


def _seconds(run: Runner) -> float:
    times: list[float] = []
    while len(times) < 4 and sum(times) < LONG:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def forget() -> None:
    """Forget what JAX keeps of functions compiled before, so that the next call is a first one."""
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()


def _dense_only(problem: Problem, values: Values, loop: bool = False) -> None:
    """Refuse what would fill the memory, or take forever."""
    rows, columns = shape(problem, values)
    if rows * columns * np.dtype(problem.dtype).itemsize > LARGEST:
        raise NotHere(f"a dense result of {rows} x {columns} is too large")
    if loop and rows > LONGEST_LOOP:
        raise NotHere(f"{rows} rows, one by one")


def _sparse_only(problem: Problem, values: Values, way: str) -> None:
    """Refuse what is not sparse, or would take minutes to plan."""
    if problem.format != "csr":
        raise NotHere("only for sparse problems")
    rows, _ = shape(problem, values)
    if rows > (LARGEST_BOTH_WAYS if problem.both_ways else LARGEST_SPARSE[way]):
        raise NotHere(f"planning takes too long for {rows} rows")


def _split(problem: Problem, tensors: list[Any]) -> tuple[list[Any], list[Any]]:
    return tensors[: problem.sources], tensors[problem.sources :]


# ---- TensorFlow ------------------------------------------------------------------------------------------------------


def _tensorflow(problem: Problem, values: Values, **options: Any) -> Ways:
    """`options` are those of ``tf.function``; none: the tape of eager mode."""
    tf = peers.tensorflow()
    _dense_only(problem, values)
    rows, _ = shape(problem, values)
    if rows * rows * np.dtype(problem.dtype).itemsize > LARGEST:
        # it keeps what it once took from the system
        raise NotHere(f"a seed for each of {rows} rows is too much for the memory")
    sources, constants = _split(problem, [tf.constant(v) for v in values])
    scalar = is_scalar(problem, values)

    def jacobian(*sources: Any) -> list[Any]:
        with tf.GradientTape() as tape:
            tape.watch(sources)
            y = problem.function(tf, *sources, *constants)
        return tape.gradient(y, sources) if scalar else tape.jacobian(y, sources)

    def batch_jacobian(source: Any) -> list[Any]:
        with tf.GradientTape() as tape:
            tape.watch(source)
            y = problem.function(tf, source, *constants)
        return [tape.batch_jacobian(y, source)]

    def hessian(source: Any) -> list[Any]:
        with tf.GradientTape() as outer:
            outer.watch(source)
            with tf.GradientTape() as inner:
                inner.watch(source)
                y = problem.function(tf, source, *constants)
            gradient = inner.gradient(y, source)
        return [outer.jacobian(gradient, source)]

    function = {"jacobian": jacobian, "batch_jacobian": batch_jacobian, "hessian": hessian}[problem.kind]
    if options:
        function = tf.function(function, **options)
    return {"jacobian": lambda: [block.numpy() for block in function(*sources)]}


# ---- JAX, and asdex upon it ------------------------------------------------------------------------------------------


def _jax_function(problem: Problem, values: Values) -> tuple[Callable[..., Any], list[Any]]:
    """The problem as a function of its sources, and these."""
    jax = peers.jax()

    def conv2d(x: Any, filters: Any, strides: int, padding: str) -> Operand:
        layout = ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(x, filters, (strides, strides), padding, dimension_numbers=layout)

    namespace = ArrayNamespace(jax.numpy, jax.nn.softplus, jax.nn.sigmoid, conv2d)
    sources, constants = _split(problem, [jax.numpy.asarray(v) for v in values])
    return lambda *sources: problem.function(namespace, *sources, *constants), sources


def _jax(problem: Problem, values: Values) -> Ways:
    jax = peers.jax()
    _dense_only(problem, values)
    function, sources = _jax_function(problem, values)
    return {
        name: _waiting(jax, jax.jit(transform), sources)
        for name, transform in _transforms(jax, jax.vmap, problem, function, values).items()
    }


def _waiting(jax: Any, function: Callable[..., Any], sources: list[Any]) -> Runner:
    return lambda: jax.block_until_ready(function(*sources))


def _transforms(library: Any, vmap: Any, problem: Problem, function: Callable[..., Any], values: Values) -> Ways:
    """The transforms of JAX and of ``torch.func``, which have the same names; only those whose seeds fit the memory."""
    numbers = tuple(range(problem.sources))
    if problem.kind == "hessian":
        return {"hessian": _listed(library.hessian(function))}
    rows, columns = shape(problem, values)
    if is_scalar(problem, values):
        forward = {"jacfwd": library.jacfwd(function, argnums=numbers)} if columns <= FEW else {}
        return {"grad": library.grad(function, argnums=numbers), **forward}
    seeds, itemsize = {"jacrev": rows, "jacfwd": columns}, np.dtype(problem.dtype).itemsize
    names = [name for name, n in seeds.items() if n * n * itemsize <= LARGEST]
    if problem.kind == "jacobian":
        return {name: getattr(library, name)(function, argnums=numbers) for name in names}

    def one(row: Any) -> Operand:
        return function(row[None])[0]

    return {name: _listed(vmap(getattr(library, name)(one))) for name in names}


def _listed(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: [function(*arguments)]


def _asdex(problem: Problem, values: Values) -> Ways:
    """Sparse, upon JAX; finding pattern and colors is part of the first call."""
    _sparse_only(problem, values, "asdex")
    asdex, jax = peers.asdex(), peers.jax()
    function, sources = _jax_function(problem, values)
    shapes = [s.shape for s in sources]
    flat = [s.ravel() for s in sources]

    def flattened(*columns: Any) -> Operand:
        y = function(*(c.reshape(shape) for c, shape in zip(columns, shapes, strict=True)))
        return y if problem.kind == "hessian" else y.ravel()

    def build() -> Callable[..., Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if problem.kind == "hessian":
                return jax.jit(_listed(asdex.hessian(flattened, *flat)))
            return jax.jit(asdex.jacobian(flattened, *flat, argnums=tuple(range(problem.sources))))

    compiled: list[Callable[..., Any]] = []

    def run() -> list[Any]:
        if not compiled:
            compiled.append(build())
        return [_Coordinates(block) for block in jax.block_until_ready(compiled[0](*flat))]

    return {"colored": run}


class _Coordinates:
    """JAX's sparse array; SciPy's when asked."""

    def __init__(self, block: Any) -> None:
        self._block = block

    def numpy(self) -> sparse.sparray:
        """As SciPy's."""
        rows, columns = np.asarray(self._block.indices).T
        return sparse.csr_array((np.asarray(self._block.data), (rows, columns)), shape=self._block.shape)


# ---- PyTorch ---------------------------------------------------------------------------------------------------------


def _torch(problem: Problem, values: Values) -> Ways:
    torch = peers.torch()
    _dense_only(problem, values)
    namespace = TorchNamespace(torch)
    sources, constants = _split(problem, [torch.from_numpy(np.array(v)) for v in values])

    def function(*sources: Any) -> Operand:
        return problem.function(namespace, *sources, *constants)

    return {
        name: _given(transform, sources)
        for name, transform in _transforms(torch.func, torch.func.vmap, problem, function, values).items()
    }


def _given(function: Callable[..., Any], sources: list[Any]) -> Runner:
    return lambda: function(*sources)


# ---- autograd --------------------------------------------------------------------------------------------------------


def _autograd(problem: Problem, values: Values) -> Ways:
    autograd = peers.load("autograd")
    if problem.kind == "batch_jacobian":
        raise NotHere("autograd has no batch Jacobian")
    _dense_only(problem, values, loop=True)
    import autograd.numpy as anp

    namespace = ArrayNamespace(anp, lambda x: anp.logaddexp(x, 0.0))
    sources, constants = _split(problem, list(values))

    def function(*sources: Any) -> Operand:
        return problem.function(namespace, *sources, *constants)

    transform = autograd.hessian if problem.kind == "hessian" else autograd.jacobian
    if is_scalar(problem, values):
        transform = autograd.grad
    functions = [transform(function, i) for i in range(problem.sources)]
    return {"rows": lambda: [f(*sources) for f in functions]}


# ---- CasADi ----------------------------------------------------------------------------------------------------------


def _casadi(problem: Problem, values: Values) -> Ways:
    """With a symbol for each number, or for each matrix; building the function is part of the first call."""
    _sparse_only(problem, values, "casadi MX")
    casadi = peers.load("casadi")
    ways = {"MX": _casadi_way(casadi, casadi.MX, problem, values)}
    if shape(problem, values)[0] <= LARGEST_SPARSE["casadi SX"]:
        ways["SX"] = _casadi_way(casadi, casadi.SX, problem, values)
    return ways


def _casadi_way(casadi: Any, kind: Any, problem: Problem, values: Values) -> Runner:
    namespace = CasadiNamespace(casadi, kind)
    sources, constants = _split(problem, list(values))
    point = casadi.DM(np.concatenate([s.ravel() for s in sources]))
    ends = np.cumsum([0, *(s.size for s in sources)])
    compiled: list[Any] = []

    def build() -> Callable[..., Any]:
        x = kind.sym("x", point.numel())
        columns = [
            CasadiArray(x[int(start) : int(end)], s.shape)
            for s, start, end in zip(sources, ends, ends[1:], strict=False)
        ]
        y = problem.function(namespace, *columns, *map(namespace.constant, constants)).column
        derivative = casadi.hessian(y, x)[0] if problem.kind == "hessian" else casadi.jacobian(y, x)
        return casadi.Function("derivative", [x], [derivative])

    def run() -> list[Any]:
        if not compiled:
            compiled.append(build())
        return [_CasadiMatrix(compiled[0](point))]

    return run


class _CasadiMatrix:
    """CasADi's sparse matrix; SciPy's when asked."""

    def __init__(self, matrix: Any) -> None:
        self._matrix = matrix

    def numpy(self) -> sparse.sparray:
        """As SciPy's."""
        return sparse.csr_array(self._matrix.sparse())


# ---- NumPy, by hand --------------------------------------------------------------------------------------------------


def _by_hand(problem: Problem, values: Values) -> Ways:
    """The derivative as it was written by hand; only where that is how one would write it to be fast."""
    if problem.kind == "hessian" or problem.format != "dense":
        raise NotHere("written by hand to be right, not to be fast")
    if problem.kind == "batch_jacobian":
        return {"by hand": lambda: [problem.expected(*values)]}
    ends = np.cumsum([v.size for v in values[: problem.sources - 1]])
    return {"by hand": lambda: np.split(problem.expected(*values), ends, axis=1)}


PEERS: dict[str, tuple[str, Callable[[Problem, Values], Ways]]] = {
    "tf_graph": ("tensorflow", lambda problem, values: _tensorflow(problem, values, jit_compile=False)),
    "tf_eager": ("tensorflow", _tensorflow),
    "tf_xla": ("tensorflow", lambda problem, values: _tensorflow(problem, values, jit_compile=True)),
    "jax": ("jax", _jax),
    "torch": ("torch", _torch),
    "autograd": ("autograd", _autograd),
    "casadi": ("casadi", _casadi),
    "asdex": ("asdex", _asdex),
    "numpy": ("numpy", _by_hand),
}
"""By name: the library to import, and what gives its ways."""
