"""How other libraries compute the derivatives of our problems: the problem's own text, under a thin namespace.

Each library has one or more ways; the fastest is what we compare ourselves with.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from bench import peers
from bench.casadi_arrays import CasadiArray, CasadiNamespace
from bench.jacobians import LARGEST, NotHere, Runner
from bench.namespaces import ArrayNamespace, TorchNamespace
from bench.problems import Problem, Size, Values

Ways = dict[str, Callable[[], Any]]
LONGEST_LOOP = 2048
"""Rows of a Jacobian that is computed one by one."""
LARGEST_SYMBOLIC = 100_000
"""Elements of the target that CasADi has a symbol for each."""


def peer_jacobian(name: str, problem: Problem, size: Size) -> Runner:
    """The fastest way of a library to the derivative of a problem, warmed up.

    Raises
    ------
    NotHere
        If the library is not meant for this problem.
    """
    return fastest(peer_ways(name, problem, problem.values(size)))[1]


def peer_ways(name: str, problem: Problem, values: Values) -> Ways:
    """Every way of a library. The first call of each compiles what there is to compile.

    Raises
    ------
    NotHere
        If the library is not meant for this problem.
    """
    return PEERS[name](problem, values)


def fastest(ways: Ways) -> tuple[str, Runner]:
    """Which of several ways is the fastest once it is warm."""
    if len(ways) == 1:
        ((name, run),) = ways.items()
        run()
        return name, run
    return min(ways.items(), key=lambda item: _seconds(item[1]))


def _seconds(run: Runner) -> float:
    run()
    times = []
    for _ in range(3):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def _dense_only(problem: Problem, values: Values, loop: bool = False) -> None:
    """Refuse what would fill the memory, or take forever."""
    columns = sum(v.size for v in values[: problem.sources])
    rows = columns if problem.kind == "hessian" else _rows(problem, values)
    if problem.kind != "batch_jacobian" and rows * columns * np.dtype(problem.dtype).itemsize > LARGEST:
        raise NotHere(f"a dense result of {rows} x {columns} is too large")
    if loop and rows > LONGEST_LOOP:
        raise NotHere(f"{rows} rows, one by one")


def _rows(problem: Problem, values: Values) -> int:
    return int(np.size(problem.function(ArrayNamespace(np), *values)))


def _split(problem: Problem, tensors: list[Any]) -> tuple[list[Any], list[Any]]:
    return tensors[: problem.sources], tensors[problem.sources :]


# ---- TensorFlow ------------------------------------------------------------------------------------------------------


def _tensorflow(problem: Problem, values: Values, **options: Any) -> Ways:
    """`options` are those of ``tf.function``; none: the tape of eager mode."""
    tf = peers.tensorflow()
    _dense_only(problem, values)
    sources, constants = _split(problem, [tf.constant(v) for v in values])

    def jacobian(*sources: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(sources)
            y = problem.function(tf, *sources, *constants)
        return tape.jacobian(y, sources)

    def batch_jacobian(source: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(source)
            y = problem.function(tf, source, *constants)
        return [tape.batch_jacobian(y, source)]

    def hessian(source: Any) -> Any:
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
    namespace = ArrayNamespace(jax.numpy, jax.nn.softplus)
    sources, constants = _split(problem, [jax.numpy.asarray(v) for v in values])
    return lambda *sources: problem.function(namespace, *sources, *constants), sources


def _jax(problem: Problem, values: Values) -> Ways:
    jax = peers.jax()
    _dense_only(problem, values)
    function, sources = _jax_function(problem, values)
    return {
        name: _waiting(jax, jax.jit(transform), sources)
        for name, transform in _transforms(jax, jax.vmap, problem, function).items()
    }


def _waiting(jax: Any, function: Callable[..., Any], sources: list[Any]) -> Runner:
    return lambda: jax.block_until_ready(function(*sources))


def _transforms(library: Any, vmap: Any, problem: Problem, function: Callable[..., Any]) -> Ways:
    """The transforms of JAX and of ``torch.func``, which have the same names."""
    numbers = tuple(range(problem.sources))
    if problem.kind == "hessian":
        return {"hessian": library.hessian(function, argnums=numbers[:1])}
    if problem.kind == "jacobian":
        return {way: getattr(library, way)(function, argnums=numbers) for way in ("jacrev", "jacfwd")}

    def one(row: Any) -> Any:
        return function(row[None])[0]

    return {way: _listed(vmap(getattr(library, way)(one))) for way in ("jacrev", "jacfwd")}


def _listed(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: [function(*arguments)]


def _asdex(problem: Problem, values: Values) -> Ways:
    """Sparse, upon JAX; finding pattern and colours is part of the first call."""
    _sparse_only(problem)
    asdex, jax = peers.asdex(), peers.jax()
    function, sources = _jax_function(problem, values)
    shapes = [s.shape for s in sources]
    flat = [s.ravel() for s in sources]

    def flattened(*columns: Any) -> Any:
        y = function(*(c.reshape(shape) for c, shape in zip(columns, shapes, strict=True)))
        return y if problem.kind == "hessian" else y.ravel()

    def build() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if problem.kind == "hessian":
                return jax.jit(_listed(asdex.hessian(flattened, *flat)))
            return jax.jit(asdex.jacobian(flattened, *flat, argnums=tuple(range(problem.sources))))

    compiled: list[Callable[..., Any]] = []

    def run() -> Any:
        if not compiled:
            compiled.append(build())
        return [_Coordinates(block) for block in jax.block_until_ready(compiled[0](*flat))]

    return {"coloured": run}


class _Coordinates:
    """JAX's sparse array; SciPy's when asked."""

    def __init__(self, block: Any) -> None:
        self._block = block

    def numpy(self) -> Any:
        """As SciPy's."""
        rows, columns = np.asarray(self._block.indices).T
        return sparse.csr_array((np.asarray(self._block.data), (rows, columns)), shape=self._block.shape)


def _sparse_only(problem: Problem) -> None:
    if problem.format != "csr":
        raise NotHere("only for sparse problems")


# ---- PyTorch ---------------------------------------------------------------------------------------------------------


def _torch(problem: Problem, values: Values) -> Ways:
    torch = peers.torch()
    _dense_only(problem, values)
    namespace = TorchNamespace(torch)
    sources, constants = _split(problem, [torch.from_numpy(np.array(v)) for v in values])

    def function(*sources: Any) -> Any:
        return problem.function(namespace, *sources, *constants)

    return {
        name: _given(transform, sources)
        for name, transform in _transforms(torch.func, torch.func.vmap, problem, function).items()
    }


def _given(function: Callable[..., Any], sources: list[Any]) -> Runner:
    return lambda: function(*sources)


# ---- autograd --------------------------------------------------------------------------------------------------------


def _autograd(problem: Problem, values: Values) -> Ways:
    autograd = peers.autograd()
    if problem.kind == "batch_jacobian":
        raise NotHere("autograd has no batch Jacobian")
    _dense_only(problem, values, loop=True)
    import autograd.numpy as anp

    namespace = ArrayNamespace(anp, lambda x: anp.logaddexp(x, 0.0))
    sources, constants = _split(problem, list(values))

    def function(*sources: Any) -> Any:
        return problem.function(namespace, *sources, *constants)

    transform = autograd.hessian if problem.kind == "hessian" else autograd.jacobian
    functions = [transform(function, i) for i in range(problem.sources)]
    return {"rows": lambda: [f(*sources) for f in functions]}


# ---- CasADi ----------------------------------------------------------------------------------------------------------


def _casadi(problem: Problem, values: Values) -> Ways:
    """With a symbol for each number, or for each matrix; building the function is part of the first call."""
    _sparse_only(problem)
    casadi = peers.casadi()
    ways = {"MX": _casadi_way(casadi, casadi.MX, problem, values)}
    if _rows(problem, values) <= LARGEST_SYMBOLIC:
        ways["SX"] = _casadi_way(casadi, casadi.SX, problem, values)
    return ways


def _casadi_way(casadi: Any, kind: Any, problem: Problem, values: Values) -> Runner:
    namespace = CasadiNamespace(casadi, kind)
    sources, constants = _split(problem, list(values))
    point = casadi.DM(np.concatenate([s.ravel() for s in sources]))
    ends = np.cumsum([0, *(s.size for s in sources)])
    compiled: list[Any] = []

    def build() -> Any:
        x = kind.sym("x", point.numel())
        columns = [
            CasadiArray(x[int(start) : int(end)], s.shape)
            for s, start, end in zip(sources, ends, ends[1:], strict=False)
        ]
        y = problem.function(namespace, *columns, *map(namespace.constant, constants)).column
        derivative = casadi.hessian(y, x)[0] if problem.kind == "hessian" else casadi.jacobian(y, x)
        return casadi.Function("derivative", [x], [derivative])

    def run() -> Any:
        if not compiled:
            compiled.append(build())
        return [_CasadiMatrix(compiled[0](point))]

    return run


class _CasadiMatrix:
    """CasADi's sparse matrix; SciPy's when asked."""

    def __init__(self, matrix: Any) -> None:
        self._matrix = matrix

    def numpy(self) -> Any:
        """As SciPy's."""
        return sparse.csr_array(self._matrix.sparse())


PEERS: dict[str, Callable[[Problem, Values], Ways]] = {
    "tf_graph": lambda problem, values: _tensorflow(problem, values, jit_compile=False),
    "tf_eager": _tensorflow,
    "tf_xla": lambda problem, values: _tensorflow(problem, values, jit_compile=True),
    "jax": _jax,
    "torch": _torch,
    "autograd": _autograd,
    "casadi": _casadi,
    "asdex": _asdex,
}
