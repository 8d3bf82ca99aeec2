"""Ways to run a program, and what each gives: for each key a list of arrays (None where there is none), or an error.

The reference is a plain tape whose reverse walk is not replayed. All other ways must give the same bits.
"""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

import graph_api
import tape_api
from engine.closed import replay
from engine.compiler.lowering import lower
from engine.core import lazy_tensor
from engine.core.eager import applied_in_python
from engine.core.nest import flatten
from engine.core.value import Value, dtype_of
from engine.derivatives.reverse import reverse
from engine.derivatives.slopes import with_slopes
from engine.transforms import gradient_tape
from engine.transforms.gradient_tape import GradientTape
from tests.fuzz.keys import KEYS, Asked, numbers
from tests.fuzz.programs import LAYOUTS, Leaf, Program, compiled

Results = dict[str, Any]


@dataclass(frozen=True)
class Failed:
    """What came in place of results.

    Attributes
    ----------
    kind : str
        The class of the error.
    message : str
    """

    kind: str
    message: str


def attempt(function: Callable[[], Any]) -> Any:
    """A result, or the error in its place."""
    try:
        return function()
    except (TimeoutError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - to be compared
        return Failed(type(error).__name__, str(error))


def plain(result: Any) -> Any:
    """Arrays of tensors, sparse matrices and what else there is."""
    if result is None or isinstance(result, Failed):
        return result
    if hasattr(result, "indptr"):
        # by hand, because SciPy does not know float16
        dense = np.zeros(result.shape, result.dtype)
        dense[np.repeat(np.arange(result.shape[0]), np.diff(result.indptr)), result.indices] = result.data
        return dense
    value = getattr(result, "_array", None)
    return np.asarray(result.numpy() if value is None else value) if isinstance(result, Value) else np.asarray(result)


# ---- on tapes --------------------------------------------------------------------------------------------------------


def tape_leaf(leaf: Leaf, value: np.ndarray) -> Any:
    """A leaf on a tape."""
    if leaf.kind == "variable":
        return tape_api.Variable(value)
    return LAYOUTS[leaf.layout](value) if leaf.kind == "array" else tape_api.constant(value)


@contextmanager
def walked() -> Iterator[None]:
    """No reverse walk is replayed."""
    before = vars(GradientTape)["_replayed"]
    GradientTape._replayed = staticmethod(  # type: ignore[assignment]
        lambda nodes, *given, late=None, **options: reverse(with_slopes(nodes), *given, **options)
    )
    try:
        yield
    finally:
        GradientTape._replayed = before


@contextmanager
def all_put_off() -> Iterator[None]:
    """Each tape that is not persistent puts off what it can, small things too."""
    before = gradient_tape.place_if_due, lazy_tensor.LARGE
    gradient_tape.place_if_due, lazy_tensor.LARGE = lambda frame: 0, 0
    try:
        with applied_in_python(1):
            yield
    finally:
        gradient_tape.place_if_due, lazy_tensor.LARGE = before


@contextmanager
def replayed_at_once() -> Iterator[None]:
    """A reverse walk is compiled when it is first seen."""
    before = replay.COMPILE_AFTER
    replay.COMPILE_AFTER = 0
    try:
        yield
    finally:
        replay.COMPILE_AFTER = before


def run_on_tape(
    program: Program, values: Mapping[str, np.ndarray], keys: Sequence[str], wrap: Callable[..., Any] | None = None,
    watched: bool = False, one_by_one: bool = False, variables: dict[str, Any] | None = None,
) -> Results:  # fmt: skip
    """Values and derivatives by a tape; with `watched`, all of it recorded by another one; `variables` are kept."""
    fn = compiled(program)

    def start() -> tuple[dict[str, Any], list[Any]]:
        tensors = {leaf.name: tape_leaf(leaf, values[leaf.name]) for leaf in program.leaves}
        for leaf in program.leaves if variables is not None else ():
            if leaf.kind == "variable":
                new = tensors[leaf.name]
                tensors[leaf.name] = variables.setdefault(leaf.name, new).assign(new)  # type: ignore[union-attr]
        return tensors, [tensors[name] for name in program.watched]

    def call(tensors: dict[str, Any]) -> list[Any]:
        given = tensors.values()
        return wrap(fn, *given) if wrap else fn(tape_api, *given)

    results: Results = {}
    tensors, watching = start()
    with tape_api.GradientTape() if watched else nullcontext() as outer:
        if watched:
            outer.watch(watching)
        with tape_api.GradientTape(persistent=True) as tape:
            tape.watch(watching)
            found = call(tensors)
        results["value"] = [plain(y) for y in found]
        ys, xs = program.parted(found, tensors)
        asked = asked_of(program, tape, ys, xs, results["value"])
        if asked.ys and xs:
            sources = [[x] for x in xs] if one_by_one else [xs]
            results["gradient"] = attempt(
                lambda: [
                    plain(None if g is None else tape_api.convert_to_tensor(g))
                    for s in sources
                    for g in tape.gradient(asked.ys, s, asked.cotangents)
                ]
            )
            for key in keys:
                if key in KEYS:
                    results[key] = attempt(lambda key=key: [plain(r) for r in flatten(KEYS[key](asked))])  # type: ignore[misc]
    results["state"] = [plain(x.read_value()) for x in tensors.values() if isinstance(x, tape_api.Variable)]
    if "order2" in keys and asked.ys and xs:
        results["order2"] = attempt(lambda: _second(program, start, call))
    return results


def asked_of(program: Program, api: Any, ys: Sequence[Any], xs: list[Any], values: Sequence[np.ndarray]) -> Asked:
    """The floating targets, and numbers to multiply them with; `values` are the results of the program."""
    which = [i for i, y in enumerate(ys) if dtype_of(y).is_differentiable]
    seeds = numbers([(values[i].shape, dtype_of(ys[i]).numpy) for i in which])
    _, sources = program.parted(values, {leaf.name: leaf.value for leaf in program.leaves})
    tangents = numbers([(x.shape, x.dtype) for x in sources])
    return Asked(api, [ys[i] for i in which], xs, seeds if program.weighted else None, tangents)


def taped(program: Program, values: Mapping[str, np.ndarray], persistent: bool = False) -> Asked:
    """A program recorded by a tape."""
    tensors = {x.name: tape_leaf(x, values[x.name]) for x in program.leaves}
    with tape_api.GradientTape(persistent) as tape:
        tape.watch([tensors[name] for name in program.watched])
        found = compiled(program)(tape_api, *tensors.values())
    ys, xs = program.parted(found, tensors)
    return asked_of(program, tape, ys, xs, [plain(y) for y in found])


def _second(program: Program, start: Callable[[], Any], call: Callable[..., Any]) -> list[Any]:
    """The gradient of the sum of all gradients."""
    tensors, watching = start()
    with tape_api.GradientTape() as outer:
        outer.watch(watching)
        with tape_api.GradientTape() as tape:
            tape.watch(watching)
            results = call(tensors)
        ys, xs = program.parted(results, tensors)
        asked = asked_of(program, tape, ys, xs, [plain(y) for y in results])
        found = tape.gradient(asked.ys, xs, asked.cotangents)
        found = [tape_api.convert_to_tensor(g) for g in found if g is not None]
    if not found:
        return [None] * len(xs)
    return [plain(None if g is None else tape_api.convert_to_tensor(g)) for g in outer.gradient(found, xs)]


# ---- in graphs -------------------------------------------------------------------------------------------------------


def run_in_graph(
    program: Program, values: Mapping[str, np.ndarray], keys: Sequence[str], reference: Results,
    unknown: bool = False, first: Mapping[str, np.ndarray] | None = None, tape: bool = False,
) -> Results:  # fmt: skip
    """Values and derivatives by a session, which has run with the values `first` before, if given."""
    tf = graph_api
    fn = compiled(program)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.no_op()  # a session refuses an empty graph
        tensors: dict[str, Any] = {}
        for leaf in program.leaves:
            value = values[leaf.name]
            if leaf.kind == "source":
                shape = leaf.static_shape if unknown else value.shape
                tensors[leaf.name] = tf.placeholder(value.dtype, shape)
            elif leaf.kind == "array":
                tensors[leaf.name] = LAYOUTS[leaf.layout](value)
            else:
                tensors[leaf.name] = (tf.constant if leaf.kind == "constant" else tf.Variable)(value)
        with tf.GradientTape(persistent=True) if tape else nullcontext() as recorder:
            if tape:
                recorder.watch([tensors[name] for name in program.watched])
            found = fn(tf, *tensors.values())
        nodes: Results = {"value": found}
        ys, xs = program.parted(found, tensors)
        # shapes that are not known here are those of the reference
        asked = asked_of(program, recorder if tape else tf, ys, xs, reference["value"])
        if asked.ys and xs:
            if tape:
                nodes["gradient"] = attempt(lambda: recorder.gradient(asked.ys, xs, asked.cotangents))
            else:
                nodes["gradient"] = attempt(lambda: _gradients(asked.ys, xs, asked.cotangents))
            for key in keys:
                if key == "order2":
                    nodes[key] = attempt(lambda: _second_in_graph(nodes["gradient"], xs))
                else:
                    nodes[key] = attempt(lambda key=key: KEYS[key](asked))  # type: ignore[misc]
        variables = {id(tensors[x.name].handle): x.value for x in program.leaves if x.kind == "variable"}
        # an initializer would be a program of its own, as would be a run that reads
        state = session._state

        def begin() -> None:
            state.values.update({key: value.copy() for key, value in variables.items()})

        results = {}
        for run in (first, values) if first is not None else (values,):
            begin()
            feeds = {tensors[x.name]: run[x.name] for x in program.leaves if x.kind == "source"}
            results = _run(session, nodes, feeds, begin)
            results["state"] = [np.asarray(v) for v in state.read(list(variables))]
        return results


def _second_in_graph(gradients: Any, xs: list[Any]) -> Any:
    if isinstance(gradients, Failed):
        raise RuntimeError(gradients.message)
    found = [graph_api.convert_to_tensor(g) for g in gradients if g is not None]
    return _gradients(found, xs) if found else [None] * len(xs)


def _gradients(ys: list[Any], xs: list[Any], cotangents: Any = None) -> Any:
    """Gradients as a tape gives them: a graph wants to be told the cotangents of complex values."""
    ones = [graph_api.ones_like(y) if graph_api.as_dtype(y.dtype).is_complex else None for y in ys]
    return graph_api.gradients(ys, xs, ones if cotangents is None else cotangents)


def _run(session: Any, nodes: Results, feeds: Any, begin: Callable[[], None]) -> Results:
    """All keys in one run; key by key, each from the `begin`-ning, if that fails."""
    flat = {key: found if isinstance(found, Failed) else flatten(found) for key, found in nodes.items()}
    wanted = {
        key: [
            graph_api.convert_to_tensor(x) if isinstance(x, graph_api.IndexedSlices) else x
            for x in found
            if x is not None
        ]
        for key, found in flat.items()
        if not isinstance(found, Failed)
    }
    try:
        fetched: Results = session.run(wanted, feeds)
    except Exception:  # noqa: BLE001 - which of them?
        fetched = {}
        # values last: they leave the variables as all of them at once would have
        for key in reversed(wanted):
            begin()
            # an update takes place if somebody asks for its result
            both = {"value": wanted["value"], key: wanted[key]}
            fetched[key] = attempt(lambda both=both, key=key: session.run(both, feeds)[key])  # type: ignore[misc]
    results: Results = {}
    for key, found in flat.items():
        got = fetched.get(key, found)
        if isinstance(got, Failed):
            results[key] = got
        else:
            values = iter(got)
            results[key] = [None if x is None else plain(next(values)) for x in found]
    return results


@contextmanager
def some_passes(seed: int) -> Iterator[None]:
    """Some of the passes that programs are compiled with."""
    defaults = lower.__wrapped__.__kwdefaults__  # type: ignore[attr-defined]
    rng = random.Random(seed)
    every = list(defaults["passes"])
    kind = rng.randrange(4)
    if kind == 0:
        chosen = [p for p in every if rng.random() < 0.5]
    elif kind == 1:
        left_out = rng.choice(every)
        chosen = [p for p in every if p != left_out]
    else:
        chosen = [] if kind == 2 else [rng.choice(every)]
    before = defaults["passes"]
    defaults["passes"] = tuple(chosen)
    try:
        yield
    finally:
        defaults["passes"] = before


def values_of(program: Program) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The values of the leaves, and others: those of the sources in another order."""
    values = {leaf.name: leaf.value for leaf in program.leaves}
    fed = {x.name for x in program.leaves if x.kind == "source" and x.value.dtype.kind in "fc"}
    others = {n: np.flip(v).copy() if n in fed and n in program.sources else v for n, v in values.items()}
    return values, others


def follows(program: Program, values: Mapping[str, np.ndarray]) -> bool:
    """Whether a tape follows all sources: not what an op without a derivative gives, which in a graph is as good."""
    if not program.computed:
        return True
    asked = taped(program, values, persistent=True)
    return all(asked.api.gradient(x, x) is not None for x in asked.xs)


def reference_of(program: Program, values: Mapping[str, np.ndarray]) -> Results:
    """A plain tape."""
    with walked():
        return run_on_tape(program, values, program.keys)
