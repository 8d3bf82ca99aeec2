"""``dualgrad record --backend tensorflow``: a program under real TensorFlow, recorded as one under dualgrad is.

A program of TensorFlow 1 gets ``tensorflow.compat.v1`` as `tensorflow`, as TensorFlow's own guide advises, with
resource variables, whose reads and writes are ordered. Of the first runs of each kind the values of operations are
asked for besides, and kept whole: they are the operands that `dualgrad compare` gives to ours.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from dualgrad.migrate.census import Census, Counting
from dualgrad.migrate.environment import machine
from dualgrad.migrate.patching import replaced
from dualgrad.migrate.recorder import Recorder, finished, place_in
from dualgrad.migrate.run import execute
from dualgrad.migrate.watch import user_site
from dualgrad.migrate.watch_tapes import Step

_VARIABLES = ("VariableV2", "Variable", "VarHandleOp")
_NUMBERS = "biufcOSU"


def record(recorder: Recorder, path: Path, arguments: Sequence[str], api: str) -> int:
    """Run a program under real TensorFlow and write its record.

    Parameters
    ----------
    recorder : Recorder
    path : Path
    arguments : sequence of str
    api : {"1", "2", "eager"}

    Returns
    -------
    int
        The program's exit code; 2 if TensorFlow is not installed.
    """
    if find_spec("tensorflow") is None:
        print("dualgrad record: TensorFlow is not installed here: pip install tensorflow", file=sys.stderr)  # noqa: T201
        return 2
    census = Census()
    tf = loaded(api, census)
    watcher = Watcher(recorder)
    with recorder.listening(), watcher.sessions(), watcher.tapes(tf):
        code = finished(lambda: execute(path, list(arguments)))
    made = {"backend": "tensorflow", "version": import_module("tensorflow").__version__, **machine()}
    recorder.finish(made, code, {"arguments": list(arguments), "api": api}, census, watcher.nodes)
    return code


def loaded(api: str, census: Census) -> ModuleType:
    """Real TensorFlow, as a program of this API expects it, counted by a census; the module itself is returned."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")  # has tf.layers, if the package tf_keras is there
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        real: Any = import_module("tensorflow" if api == "2" else "tensorflow.compat.v1")
    if api == "1":
        real.disable_v2_behavior()
        real.enable_resource_variables()
    if api != "2":
        for name in [n for n in sys.modules if n.startswith("tensorflow.")]:
            old = sys.modules.get(f"tensorflow.compat.v1.{name.removeprefix('tensorflow.')}")
            if old is not None:
                sys.modules[name] = old
    counted = Counting(real, "", census)
    counted.__path__ = list(getattr(real, "__path__", []))
    sys.modules["tensorflow"] = counted
    return real


class Watcher:
    """Hands what TensorFlow does to a recorder.

    Parameters
    ----------
    recorder : Recorder
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self._busy = False
        self._unfetchable: set[Any] = set()

    # ---- sessions ----------------------------------------------------------------------------------------------------

    @contextmanager
    def sessions(self) -> Iterator[None]:
        """Record the runs of sessions inside the ``with`` block."""
        base: Any = import_module("tensorflow.python.client.session").BaseSession

        def run(
            usual: Any, session: Any, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
        ) -> Any:
            if self._busy:
                return usual(session, fetches, feed_dict, options, run_metadata)
            self._busy = True
            try:
                return self._run(session, usual, fetches, feed_dict, options, run_metadata)
            finally:
                self._busy = False

        with replaced((base, "run", run)):
            yield

    def _run(self, session: Any, usual: Callable[..., Any], fetches: Any, feed_dict: Any, *more: Any) -> list[Any]:
        graph, recorder, site = session.graph, self.recorder, user_site(3)
        nest = import_module("tensorflow").nest
        flat = [self._element(graph, x) for x in _leaves(nest, fetches)]
        feeds = {
            graph.as_graph_element(_of_variable(k)): v for k, v in (feed_dict or {}).items() if not isinstance(k, tuple)
        }
        kind = "run", id(graph), tuple(map(id, flat)), tuple(map(id, feeds))
        keep, ops = recorder.should_keep(kind)
        recorder.count += 1
        recorder.seen[kind] += 1
        if not keep:
            return usual(session, fetches, feed_dict, *more)
        before = self._variables(session, usual)
        extra = self._inner(graph, flat, feeds) if ops else []
        step = {
            "kind": "run",
            "session": place_in(recorder.sessions, session),
            "graph": place_in(recorder.graphs, graph),
            "site": recorder.site(site),
            "fetches": [x.name for x in flat],
            "feeds": {t.name: recorder.writer.put(_as_fed(t, v)) for t, v in feeds.items()},
        }
        try:
            result, values = self._with_values(session, usual, fetches, feed_dict, extra, more)
        except Exception as error:
            step |= {"results": [None] * len(flat), "error": f"{type(error).__name__}: {error}".splitlines()[0]}
            recorder.add(step, before, self._variables(session, usual), {})
            raise
        given = _leaves(nest, result) if len(_leaves(nest, result)) == len(flat) else [None] * len(flat)
        step["results"] = [recorder.writer.put(v) if _is_data(v) else None for v in given]
        told = {"ops": {x.name: recorder.writer.put(v) for x, v in values.items() if _is_data(v)}} if values else {}
        recorder.add(step, before, self._variables(session, usual), told)
        return result

    def _with_values(
        self, session: Any, usual: Callable[..., Any], fetches: Any, feed_dict: Any, extra: list[Any], more: Any
    ) -> tuple[Any, dict[Any, Any]]:
        """The results of a run, and the values of other tensors in the same run."""
        while extra:
            try:
                result, values = usual(session, [fetches, extra], feed_dict, *more)
            except Exception as error:  # noqa: BLE001
                # some values cannot be fetched, of branches not taken say; which ones is only known by trying
                bad = [x for x in extra if f"{x.op.name}" in str(error)] or extra
                self._unfetchable.update(x.name for x in bad)
                extra = [x for x in extra if x.name not in self._unfetchable]
                continue
            return result, dict(zip(extra, values, strict=True))
        return usual(session, fetches, feed_dict, *more), {}

    @staticmethod
    def _element(graph: Any, x: Any) -> Any:
        return graph.as_graph_element(_of_variable(x), allow_tensor=True, allow_operation=True)

    def _variables(self, session: Any, usual: Callable[..., Any]) -> dict[str, Any]:
        """The values of the variables that have one."""
        v1 = import_module("tensorflow.compat.v1")
        with session.graph.as_default():
            found = [
                *session.graph.get_collection(v1.GraphKeys.GLOBAL_VARIABLES),
                *session.graph.get_collection(v1.GraphKeys.LOCAL_VARIABLES),
            ]
            known = self.recorder.__dict__.setdefault("_reads", {}).setdefault(id(session.graph), {})
            for v in found:
                if v.name not in known and not session.graph.finalized:
                    known[v.name] = (v1.is_variable_initialized(v), v.read_value())
        names = list(known)
        has = usual(session, [known[n][0] for n in names])
        names = [n for n, there in zip(names, has, strict=True) if there]
        return dict(zip(names, usual(session, [known[n][1] for n in names]), strict=True))

    def _inner(self, graph: Any, flat: Sequence[Any], feeds: Any) -> list[Any]:
        """The tensors that a run computes and that can be fetched."""
        fed = {t.name for t in feeds}
        seen: set[str] = set()
        left = [x.op if hasattr(x, "op") else x for x in flat]
        elements: list[Any] = []
        while left:
            op = left.pop()
            if op.name in seen:
                continue
            seen.add(op.name)
            left += [*[x.op for x in op.inputs if x.name not in fed], *op.control_inputs]
            if op.type in _VARIABLES or op._get_control_flow_context() is not None:
                continue
            for x in op.outputs:
                numbers = not x.dtype._is_ref_dtype and x.dtype.name not in ("resource", "variant")
                if numbers and x.name not in fed and x.name not in self._unfetchable and graph.is_fetchable(x):
                    elements.append(x)
        return elements

    def nodes(self, graph: Any) -> Iterator[dict[str, Any]]:
        """The nodes of a graph of TensorFlow as JSON data."""
        own = self.recorder.__dict__.get("_reads", {}).get(id(graph), {})
        hidden = {x.op.name for pair in own.values() for x in pair}
        for op in graph.get_operations():
            if op.name not in hidden:
                yield {
                    "name": op.name,
                    "type": op.type,
                    "inputs": [x.name for x in op.inputs],
                    **({"after": [c.name for c in op.control_inputs]} if op.control_inputs else {}),
                    "outputs": [[x.dtype.base_dtype.name, _dims(x)] for x in op.outputs],
                    "site": self.recorder.site(_user_frame(op.traceback)),
                }

    # ---- tapes -------------------------------------------------------------------------------------------------------

    @contextmanager
    def tapes(self, tf: Any) -> Iterator[None]:
        """Record gradients of tapes outside of functions inside the ``with`` block."""
        tape: Any = import_module("tensorflow").GradientTape
        nest = import_module("tensorflow").nest

        def gradient(usual: Any, self_: Any, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
            result = usual(self_, target, sources, *args, **kwargs)
            targets, flat, gradients = nest.flatten(target), nest.flatten(sources), nest.flatten(result)
            if all(hasattr(x, "numpy") for x in [*targets, *flat]) and len(flat) == len(gradients):
                ends = _named(targets, "target") | _named(flat, "source")
                gave = dict(zip(_named(flat, "source"), map(_value, gradients), strict=True))
                self.recorder.keep_step(Step("gradient", user_site(2), ends, gave, {}, {}))
            return result

        with replaced((tape, "gradient", gradient)):
            yield


def _user_frame(traceback: Any) -> tuple[str, int]:
    """The innermost frame of the user's program in the traceback of an operation."""
    from dualgrad.migrate.watch import is_users

    frames = [(frame.filename, frame.lineno) for frame in traceback]
    return next((f for f in reversed(frames) if is_users(f[0])), frames[-1] if frames else ("", 0))


def _dims(x: Any) -> list[int | None] | None:
    return None if x.shape.rank is None else [None if d is None else int(d) for d in x.shape.as_list()]


def _of_variable(x: Any) -> Any:
    """The element to ask a graph for: of a variable its value."""
    return x._as_graph_element() if hasattr(x, "_as_graph_element") else x


def _leaves(nest: Any, x: Any) -> list[Any]:
    return list(nest.flatten(x, expand_composites=True))


def _as_fed(tensor: Any, value: Any) -> np.ndarray:
    return (
        np.asarray(value, tensor.dtype.as_numpy_dtype) if tensor.dtype.name != "string" else np.asarray(value, object)
    )


def _is_data(x: Any) -> bool:
    return isinstance(x, (bytes, str)) or (
        isinstance(x, (np.ndarray, np.generic)) and np.asarray(x).dtype.kind in _NUMBERS
    )


def _value(x: Any) -> np.ndarray | None:
    if x is None:
        return None
    return np.asarray(import_module("tensorflow").convert_to_tensor(x).numpy())


def _named(values: Sequence[Any], other: str) -> dict[str, Any]:
    by_name: dict[str, Any] = {}
    for i, x in enumerate(values):
        name = x.name if hasattr(x, "assign") else f"{other} {i}"
        by_name[name if name not in by_name else f"{name} ({i})"] = _value(x)
    return by_name
