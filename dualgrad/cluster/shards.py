"""`over`: one function for SciPy's solvers, of a function and the shards of its data.

Each shard's values and derivatives are computed where the shard is; what goes there is the point, and what comes back
are numbers, gradients and products. They are added up in the order of the shards, first within a task, then those of
the tasks: with the same shards in each task, results have the same bits for any number of workers.
"""

from __future__ import annotations

import contextlib
import importlib
import pickle
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from dualgrad.cluster.workers import Done, Task, added, carry_out, loaded
from engine.jacobian.views.for_scipy import SciPyFunction
from engine.runtime.errors import InvalidArgumentError

_TASKS = 64
"""Tasks that shards are dealt out in, if there are more shards and nothing else is said."""
_ATTEMPTS = 3
"""Times that a task is begun whose worker dies."""


class Here(Executor):
    """Tasks done at once, in this process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call a function."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  (it is raised where the result is asked for)
            future.set_exception(error)
        return future


def over(
    function: SciPyFunction,
    shards: Sequence[Any],
    executor: Executor | Callable[[], Executor] | None = None,
    *,
    per_task: int | None = None,
) -> Sharded:
    """A function of a point and of data, over all shards of the data.

    Parameters
    ----------
    function : SciPyFunction
        Of `for_scipy`; it takes a shard's arrays behind the point. It gives a scalar, and the sum over the shards is
        meant, or residuals, and those of all shards are meant, one shard after the other. It goes to the workers by
        pickle: a function of a module by its name, another one as the program that it is on the first shard.
    shards : sequence
        Each one an array, a tuple of arrays (so many arguments), a function without arguments that loads them where it
        is called, or a future of Dask, which is computed on where it is. Arrays go to a worker once.
    executor : concurrent.futures.Executor, client of Dask, or callable that gives one, optional
        What runs the tasks; by default this process does. A callable is asked for another executor when a worker has
        died, and what is lost is done again; Dask does so by itself.
    per_task : int, optional
        Shards in a task. The sums depend on it in their last bits, and on nothing else. By default as many as make 64
        tasks at most.

    Returns
    -------
    Sharded

    Raises
    ------
    InvalidArgumentError
        If there are no shards, or the function cannot be pickled.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import numpy as np
    >>> import tape_api as tf
    >>> from dualgrad import cluster
    >>> def misses(line, times, values):
    ...     return line[0] + line[1] * times - values
    >>> times = np.linspace(0.0, 1.0, 12)
    >>> shards = [(t, 1.0 + 2.0 * t) for t in np.split(times, 3)]
    >>> with ThreadPoolExecutor(2) as pool:
    ...     p = cluster.over(tf.for_scipy(misses, np.zeros(2), format="operator"), shards, pool)
    ...     value, gradient, product = p.gauss_newton(np.zeros(2))
    ...     round(value, 3), gradient.shape, product.shape
    (26.364, (2,), (2, 2))
    """
    return Sharded(function, shards, executor, per_task)


class Sharded:
    """A function over shards, and its derivatives: made by `over`. Its methods take the point as one flat vector.

    Attributes
    ----------
    x0 : array, shape (n,)
        The example point.
    seconds : list of float
        What each task of the last call took, on its worker.
    tasks : int
        How many tasks there are in a call.
    """

    def __init__(
        self,
        function: SciPyFunction,
        shards: Sequence[Any],
        executor: Executor | Callable[[], Executor] | None,
        per_task: int | None,
    ) -> None:
        if not len(shards):
            raise InvalidArgumentError("cluster.over: argument `shards` must have one shard or more, got none")
        if per_task is not None and per_task < 1:
            raise InvalidArgumentError(f"cluster.over: argument `per_task` must be 1 or more, got {per_task!r}")
        self.x0, self._format, self._shards = function.x0, function._format, list(shards)
        self._key, self._function = uuid.uuid4().hex, _pickled(function, shards[0])
        size = per_task or -(-len(shards) // _TASKS)
        self._parts = [tuple(range(i, min(i + size, len(shards)))) for i in range(0, len(shards), size)]
        self._given: Any = Here() if executor is None else executor
        self._executor: Any = None
        self._sent = [False] * len(self._parts)
        self._rows: list[int] = []
        self.tasks, self.seconds = len(self._parts), [0.0] * len(self._parts)

    # ---- sums --------------------------------------------------------------------------------------------------------

    def fun(self, x: Any) -> Any:
        """The sum over the shards, a float; or the residuals of all shards."""
        found = [value for part in self._all("fun", x) for value in part]
        self._rows = [np.size(value) if np.ndim(value) else -1 for value in found]
        return np.concatenate(found) if np.ndim(found[0]) else float(added(found))

    def fun_and_jac(self, x: Any) -> tuple[float, np.ndarray]:
        """The sum and its gradient, for ``minimize(p.fun_and_jac, p.x0, jac=True)``."""
        value, gradient = added(self._all("fun_and_grad", x))
        return float(value), gradient

    def hessp(self, x: Any, v: Any) -> np.ndarray:
        """The Hessian of the sum times a vector."""
        return np.asarray(added(self._all("hessp", x, np.asarray(v, np.float64))))

    def hess(self, x: Any) -> LinearOperator:
        """The Hessian of the sum as an operator: each product is a call of all workers."""
        return self._symmetric(lambda v: self.hessp(x, v))

    # ---- residuals ---------------------------------------------------------------------------------------------------

    def gauss_newton(self, x: Any) -> tuple[float, np.ndarray, LinearOperator]:
        """Half the sum of the squared residuals, its gradient, and the matrix of Gauss and Newton as an operator.

        The matrix is ``J.T @ J``, the Hessian without the second derivatives of the residuals (Nocedal and Wright,
        Numerical Optimization, 2nd edition, section 10.3). ``cg(product, -gradient)`` is a step.
        """
        value, gradient = added(self._all("least_squares", x))
        point = np.array(x, np.float64)
        return (
            float(value),
            np.asarray(gradient),
            self._symmetric(lambda v: np.asarray(added(self._all("normal_product", point, v)))),
        )

    def jac(self, x: Any) -> Any:
        """The gradient of the sum, shape (n,); or the Jacobian of all residuals as an operator.

        For ``minimize(p.fun, p.x0, jac=p.jac, hessp=p.hessp)`` and ``least_squares(p.fun, p.x0, p.jac)``.
        """
        point = np.array(x, np.float64)
        if self._counts(point)[0] < 0:
            return self.fun_and_jac(point)[1]
        ends = np.cumsum(self._rows)[:-1]

        def matvec(v: np.ndarray) -> np.ndarray:
            return np.concatenate([rows for part in self._all("matvec", point, v.reshape(-1)) for rows in part])

        def rmatvec(u: np.ndarray) -> np.ndarray:
            return np.asarray(added(self._all("rmatvec", point, np.split(u.reshape(-1), ends))))

        shape = (sum(self._rows), self.x0.size)
        return LinearOperator(shape, matvec=matvec, rmatvec=rmatvec, dtype=np.dtype(np.float64))

    def jac_blocks(self, x: Any) -> list[Any]:
        """The Jacobian's rows, in blocks that stay where they are made.

        Returns
        -------
        list of future
            Of the executor: ``future.result()`` is the block of a task's shards, in the function's format.
        """
        point = np.array(x, np.float64)
        return [self._begin(_block, k, self._task(k, "block", point, None, True), True) for k in range(self.tasks)]

    def jac_array(self, x: Any) -> Any:
        """The Jacobian's rows as an array of Dask, shape (residuals, n), of which each block is a chunk.

        In a sparse format chunks are arrays of `scipy.sparse`: ``map_blocks`` calls a function of them, ``compute``
        stacks them. With a client of Dask they stay on its workers, and those that a lost worker had are made again.
        """
        array: Any = importlib.import_module("dask.array")
        delayed: Any = importlib.import_module("dask").delayed
        rows = self._counts(np.array(x, np.float64))
        if rows[0] < 0:
            raise InvalidArgumentError("cluster.over: `jac_array` needs a function that gives residuals, got a scalar")
        meta = np.empty((0, 0)) if self._format == "dense" else sparse.coo_array((0, 0)).asformat(self._format)
        chunks = []
        for some, block in zip(self._parts, self.jac_blocks(x), strict=True):
            value = block if _is_elsewhere(block) else delayed(block.result(), traverse=False)
            shape = sum(rows[k] for k in some), self.x0.size
            chunks.append(array.from_delayed(value, shape, np.float64, meta))
        return array.concatenate(chunks)

    # ---- tasks -------------------------------------------------------------------------------------------------------

    def _counts(self, x: np.ndarray) -> list[int]:
        """How many residuals each shard has; negative for those of a scalar."""
        if not self._rows:
            self.fun(x)
        return self._rows

    def _symmetric(self, product: Callable[[np.ndarray], np.ndarray]) -> LinearOperator:
        def of(v: np.ndarray) -> np.ndarray:
            return product(np.reshape(v, -1))

        return LinearOperator((self.x0.size,) * 2, matvec=of, rmatvec=of, dtype=np.dtype(np.float64))

    def _task(self, k: int, what: str, x: np.ndarray, v: Any, whole: bool) -> Task:
        some = self._parts[k]
        if isinstance(v, list):
            v = v[some[0] : some[-1] + 1]
        return Task(self._key, self._function if whole else None, some, what, x, v)

    def _begin(self, function: Callable[..., Any], k: int, task: Task, whole: bool) -> Future[Any]:
        """Submit a task, with its shards where they must go along."""
        data = [self._shards[i] if whole or _is_elsewhere(self._shards[i]) else None for i in task.shards]
        if self._executor is None:
            self._executor = self._given if hasattr(self._given, "submit") else self._given()
        return self._executor.submit(function, task, *data)

    def _all(self, what: str, x: Any, v: Any = None) -> list[Any]:
        """The results of all tasks, in order."""
        x = np.array(x, np.float64)
        found: list[Any] = [None] * self.tasks
        left, attempts = list(range(self.tasks)), 0
        while left:
            lost: list[int] = []
            error: BaseException | None = None
            for k, answer in self._answers(left, what, x, v):
                if isinstance(answer, Done):
                    found[k], self.seconds[k] = answer.value, answer.seconds
                    self._sent[k] = True
                    continue
                self._sent[k] = False
                lost.append(k)
                error = answer if isinstance(answer, BaseException) else error
            if error is not None:
                attempts += 1
                self._replace(error, attempts)
            left = lost
        return found

    def _answers(self, tasks: Sequence[int], what: str, x: np.ndarray, v: Any) -> Iterator[tuple[int, Any]]:
        """The answers of tasks: `Done`, `Missing`, or the error that says that a worker has died."""
        futures: list[tuple[int, Any]] = []
        try:
            for k in tasks:
                whole = not self._sent[k]
                try:
                    futures.append((k, self._begin(carry_out, k, self._task(k, what, x, v, whole), whole)))
                except BrokenExecutor as error:
                    futures.append((k, error))
            for k, future in futures:
                try:
                    yield k, future if isinstance(future, BaseException) else future.result()
                except (BrokenExecutor, CancelledError) as error:
                    yield k, error
        except BaseException:
            for _, future in futures:
                if not isinstance(future, BaseException):
                    future.cancel()
            raise

    def _replace(self, error: BaseException, attempts: int) -> None:
        """Get another executor, if there is a way."""
        replaceable = not hasattr(self._given, "submit")
        if not replaceable or attempts >= _ATTEMPTS:
            why = "" if replaceable else "; give a function that makes an executor, and it is asked for another one"
            raise RuntimeError(f"cluster.over: a worker has died {attempts} times{why}") from error
        with contextlib.suppress(Exception):
            self._executor.shutdown(wait=False, cancel_futures=True)
        self._executor, self._sent = None, [False] * self.tasks


def _block(task: Task, *data: Any) -> Any:
    """The rows of a task's shards as one matrix."""
    done = carry_out(task, *data)
    assert isinstance(done, Done)
    blocks = done.value
    return sparse.vstack(blocks, format=blocks[0].format) if sparse.issparse(blocks[0]) else np.concatenate(blocks)


def _is_elsewhere(shard: Any) -> bool:
    """Whether a shard is a future of Dask, which goes along with each task: Dask runs the task where its result is."""
    return type(shard).__module__.partition(".")[0] == "distributed"


def _pickled(function: SciPyFunction, first: Any) -> bytes:
    try:
        return pickle.dumps(function, pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError):
        # no module's: it goes as the program that it is, which evaluation finds
        with contextlib.suppress(Exception):
            if not _is_elsewhere(first):
                function.fun(function.x0, *loaded(first))
    try:
        return pickle.dumps(function, pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InvalidArgumentError(
            f"cluster.over: argument `function` cannot be sent to another process: {error}"
        ) from error
