"""Watch a program: whoever asks is told of each run of a session, with what it was asked, fed and gave.

`watching` puts another `Session.run` in the place of the usual one, and takes it back at the end; a session that nobody
watches pays nothing. ``tensor.eval()``, ``operation.run()``, ``variable.load()``, monitored sessions and what
`make_callable` gives all end in `Session.run`, so they are seen too. `watch_program` runs a whole program like that.

>>> import graph_api as tf
>>> seen = []
>>> with tf.Graph().as_default(), tf.Session() as sess, watching(seen.append):
...     x = tf.placeholder(tf.float32, name="x")
...     total = sess.run({"double": 2 * x}, {x: 3.0})
>>> [t.name for t in seen[0].feeds], seen[0].fed, seen[0].results
(['x:0'], [array(3., dtype=float32)], [np.float32(6.0)])
"""

from __future__ import annotations

import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import numpy as np

from dualgrad.frontend.tracebacks import is_ours
from dualgrad.migrate.judge import judge
from dualgrad.migrate.patching import replaced
from dualgrad.migrate.run import run
from engine.core.variable import variable_handle
from graph_api.graphs.graph import Graph
from graph_api.graphs.tensor import Operation, Tensor
from graph_api.legacy import monitored
from graph_api.sessions.session import Session
from optim.external import ScipyOptimizerInterface

Site = tuple[str, int]
"""A file, as Python knows it, and a line."""
_LIBRARIES = tuple(
    {str(Path(sysconfig.get_path(name)).resolve()) + "/" for name in ("stdlib", "platstdlib", "purelib", "platlib")}
)


_SESSION_RUN = Session.run


class _Flat(list[Any]):
    """A request of one who watches to another: elements, and the structure that the program asked for."""

    asked: Any = None


@cache
def is_users(file: str) -> bool:
    """Whether a file belongs to the program: neither to us, nor to Python, nor to an installed package."""
    return not (is_ours(file) or file.startswith("<") or str(Path(file).resolve()).startswith(_LIBRARIES))


def user_frame(depth: int = 1) -> FrameType:
    """The innermost frame of the user's program; the outermost frame if there is none.

    Parameters
    ----------
    depth : int
        How many frames to leave out: 1 begins with the caller.
    """
    frame = sys._getframe(depth)
    while frame.f_back is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def user_site(depth: int = 1) -> Site:
    """File and line of `user_frame`."""
    frame = user_frame(depth + 1)
    return frame.f_code.co_filename, frame.f_lineno


@dataclass(eq=False)
class Run:
    """One run of a session.

    Arrays belong to the program, which may change them once it goes on: copy what you keep.

    Attributes
    ----------
    session : Session
    graph : Graph
    fetches : structure of anything that can be fetched
        As the caller wrote it.
    flat : list of Tensor or Operation
        What that means, in order.
    feeds : list of Tensor
        What was fed, in order.
    fed : list of array
        The values, of the tensors' dtypes.
    results : list of array or None
        Of `flat`, None for operations; empty if the run failed.
    site : tuple of (str, int)
        File and line of the innermost frame of the user's program.
    error : Exception, optional
        What the run raised.
    shape : structure of int, optional
        How the numbers of `flat` make what the caller gets; a number if that is one value.
    minimizes : bool
        Whether it is a whole `ScipyOptimizerInterface.minimize`, of which the only element is the operation that
        assigns what it found. Nothing else can be computed beside it.
    watched : list of Tensor
        What a minimization hands to its callback.
    """

    session: Session
    fetches: Any
    flat: list[Tensor | Operation]
    feeds: list[Tensor]
    fed: list[Any]
    site: Site
    results: list[Any] = field(default_factory=list)
    error: BaseException | None = None
    shape: Any = 0
    minimizes: bool = False
    watched: list[Any] = field(default_factory=list)
    _before: dict[int, Any] = field(default_factory=dict, repr=False)
    _after: dict[int, Any] = field(default_factory=dict, repr=False)

    @property
    def graph(self) -> Graph:
        """The session's graph."""
        return self.session.graph

    def variables(self, when: Literal["before", "after"]) -> dict[str, Any]:
        """The values of the session's variables before or after the run.

        Parameters
        ----------
        when : {"before", "after"}

        Returns
        -------
        dict
            Names of variables (``"dense/kernel:0"``) to arrays, in the order in which they were made; without those
            that had no value. Nobody changes these arrays where they lie.
        """
        held = {"before": self._before, "after": self._after}[when]
        handles = [node.outputs[0] for node in self.graph.nodes if node.op is variable_handle]
        values = {h.name: held[id(h)] for h in handles if id(h) in held}
        return {name: value for name, value in values.items() if type(value) is np.ndarray or is_number(value)}


def is_number(value: Any) -> bool:
    """Whether a value is a NumPy scalar, and not the handle of a queue or a table."""
    return isinstance(value, np.generic) and type(value).__module__ == "numpy"


class _Quiet(threading.local):
    """How many minimizations this thread is inside of, whose runs are parts of one step."""

    depth = 0


_quiet = _Quiet()
Observer = Callable[[Run], Any]
Around = Callable[[Run, Callable[[Sequence[Any]], list[Any]]], Sequence[Any]]


def as_asked(run: Run, compute: Callable[[Sequence[Any]], list[Any]]) -> list[Any]:
    """The usual way to make a run: compute what was asked for."""
    return compute(run.flat)


@contextmanager
def watching(observer: Observer, around: Around = as_asked) -> Iterator[None]:
    """Tell `observer` of every run of a session inside the ``with`` block.

    Parameters
    ----------
    observer : callable
        Called with a `Run` after each, also after one that failed, in the thread that made it.
    around : callable
        ``around(run, compute)`` gives the results of `run`, which has none yet. ``compute(elements)`` runs the session
        with ``run.fed``; more may be asked of it, or nothing at all.
    """

    def told(made: Run, compute: Callable[[Sequence[Any]], list[Any]]) -> None:
        made._before = dict(made.session._state.values)
        try:
            made.results = list(around(made, compute))
        except BaseException as error:
            made.error = error
            raise
        finally:
            made._after = dict(made.session._state.values)
            observer(made)

    def run(
        usual: Any, self: Session, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        if _quiet.depth:
            return usual(self, fetches, feed_dict, options, run_metadata)
        beside = fetches[1] if isinstance(fetches, monitored.Hooked) else None
        fetches = fetches[0] if isinstance(fetches, monitored.Hooked) else fetches
        more: list[Any] = []
        asked = fetches.asked if isinstance(fetches, _Flat) else fetches
        elements, pack = self._resolve(list(fetches) if isinstance(fetches, _Flat) else fetches)
        feeds, values = self._feeds(feed_dict)[:2] if feed_dict else ((), ())
        made = Run(self, asked, list(elements), list(feeds), list(values), user_site(2))
        packed = self._resolve(asked)[1] if asked is not fetches else pack
        made.shape = 0 if packed is None else packed(list(range(len(elements))))

        def compute(wanted: Sequence[Any]) -> list[Any]:
            flat = _Flat(wanted)
            flat.asked = asked
            whole: Any = flat if usual is not _SESSION_RUN else list(wanted)
            whole = whole if beside is None else monitored.Hooked([whole, beside])
            results: Any = usual(self, whole, dict(zip(made.feeds, made.fed, strict=True)), options, run_metadata)
            if beside is None:
                return list(results)
            more[:] = results[1:]
            return list(results[0])

        told(made, compute)
        results = made.results[0] if pack is None else pack(made.results)
        return results if beside is None else [results, *more]

    minimize = ScipyOptimizerInterface, "minimize", partial(_minimize, told)
    with replaced((Session, "run", run), minimize, (monitored, "telling", _tell)):
        yield


def _minimize(
    told: Callable[..., Any], usual: Callable[..., Any], self: ScipyOptimizerInterface, session: Any = None,
    feed_dict: Any = None, fetches: Any = None, *rest: Any, **options: Any,
) -> None:  # fmt: skip
    """Minimize by SciPy, as one run."""
    session = self.session_for(session)
    feeds, values = session._feeds(feed_dict)[:2] if feed_dict else ((), ())
    made = Run(session, self.operation, [self.operation], list(feeds), list(values), user_site(2), minimizes=True)
    made.watched = list(session._resolve(fetches)[0]) if fetches else []

    def compute(wanted: Sequence[Any]) -> list[Any]:
        _quiet.depth += 1
        try:
            usual(self, session, dict(zip(made.feeds, made.fed, strict=True)), fetches, *rest, **options)
        finally:
            _quiet.depth -= 1
        return [None for _ in wanted]

    told(made, compute)


def _tell(usual: Callable[..., Any], hook: Any, method: str, *args: Any) -> Any:
    """Tell a hook; runs that hooks of the library make are none of the program's."""
    hidden = monitored.is_of_library(hook)
    _quiet.depth += hidden
    try:
        return usual(hook, method, *args)
    finally:
        _quiet.depth -= hidden


def watch_program(
    path: str | Path, arguments: Sequence[str], observer: Observer, api: str = "auto", around: Around = as_asked
) -> int:
    """Run a program as ``dualgrad run`` does, and tell `observer` of each run of a session.

    Parameters
    ----------
    path : path
    arguments : sequence of str
        Of the program.
    observer, around : callable
        As `watching` takes them.
    api : {"1", "2", "eager", "auto"}
        What it was written for; by default its names tell.

    Returns
    -------
    int
        The exit code.
    """
    path = Path(path)
    with watching(observer, around):
        try:
            return run(path, list(arguments), judge(path) if api == "auto" else api)
        except SystemExit as end:
            return exit_code(end)


def exit_code(end: SystemExit) -> int:
    """The exit code of a Python that ends like that; what it would print is printed."""
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    print(end.code, file=sys.stderr)  # noqa: T201
    return 1
