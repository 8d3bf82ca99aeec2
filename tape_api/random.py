"""Random numbers: ``tf.random``.

The engine's random ops are pure functions of a seed and a counter. This module keeps the counters, by TensorFlow's
rules, and so gives TensorFlow's numbers:

- after `set_seed` the same calls give the same numbers again; each call without a seed of its own takes one from a
  generator that the global seed starts;
- calls of one function with the same ``seed=`` share a sequence, which depends on both seeds only;
- in a ``tf.function`` each call in the code has a sequence of its own, as an operation of a graph has; branches and
  bodies of loops are graphs of their own;
- without any seed, numbers differ from one run of the program to the next.
"""

from __future__ import annotations

import random as python
import secrets
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any

import numpy as np

from dualgrad.frontend.namespace import namespace
from dualgrad.frontend.seeds import SET, seed_pair
from engine.core.detach import effect
from engine.core.dtypes import as_dtype, float32, int64, uint64
from engine.core.eager import EagerTensor
from engine.core.tape import active
from engine.core.trace import Symbol
from engine.ops import dropout as dropouts
from engine.ops import random as sampling
from engine.ops.creation import zeros_like
from engine.ops.gather import gather
from engine.ops.joining import stack
from engine.ops.philox import RESERVED
from engine.ops.random import Draw
from engine.runtime.commit import Lock, exclusively
from engine.runtime.faces import Shown
from tape_api.library import public
from tape_api.tensor import convert_to_tensor, wrapped
from tape_api.variable import Variable

_WORD = 2**64


def _arrays(pair: Sequence[int], start: int) -> list[Any]:
    """Seeds and counter as a draw holds them: integers of 64 bits with the same bits."""
    words = np.array([x % _WORD for x in (*pair, start)], np.uint64).view(np.int64)
    return [words[:2], words[2].reshape(())]


def _word(x: int) -> Any:
    """A counter: an integer of 64 bits with the same bits."""
    return np.array(x % _WORD, np.uint64).view(np.int64)


def _secret_pair() -> tuple[int, int]:
    """Seeds that nobody knows."""
    return secrets.randbits(64), secrets.randbits(64)


class _State:
    """The state that `set_seed` starts anew.

    Attributes
    ----------
    seed : int or None
    secret : pair of int
        Stands for the seeds of calls that have none.
    counters : dict
        How far the sequences of calls with a seed of their own have come, by kernel and seeds.
    """

    def __init__(self, seed: int | None, by_python: bool = False) -> None:
        self.seed, self.secret = seed, _secret_pair()
        self.counters: dict[Any, int] = {}
        self._plain, self._defaults = Random(seed), Random(seed)
        self._by_python = by_python or seed is None or self._python_has_it()
        self._looked = self._by_python

    def _python_has_it(self) -> bool:
        return python.getstate() == self._defaults.getstate()

    def default(self) -> int:
        """The seed of an initializer or a layer that has none, by Keras 3's rule: drawn by Python.

        After `set_seed` alone that would be another one each time. Then a generator of our own stands for Python's.
        """
        if not self._looked:
            self._looked, self._by_python = True, self._python_has_it()
        return (python if self._by_python else self._defaults).randint(1, 10**9)

    def choose(self) -> int:
        """The seed of an operation that has none."""
        return self._plain.randint(0, 2**31 - 1)


class _Call:
    """A call in the code of a ``tf.function``: an operation with a sequence of its own.

    Attributes
    ----------
    pair : pair of int
        The seeds, which it keeps for good.
    kind : str
        The kernel that TensorFlow runs for it.
    counter : Variable or None
        What counts, where the operation is in a branch or a loop: only their run knows how often it draws.
    """

    __slots__ = ("__weakref__", "_start", "counter", "kind", "pair")

    def __init__(self, pair: tuple[int, int], kind: str) -> None:
        self.pair, self.kind, self._start = pair, kind, 0
        self.counter: Variable | None = None

    @property
    def start(self) -> int:
        """The counter of the next run."""
        return self._start if self.counter is None else int(self.counter._tensor._array) % _WORD

    @start.setter
    def start(self, start: int) -> None:
        self._start = start
        if self.counter is not None:
            self.counter._tensor = EagerTensor(_word(start))

    def counted(self) -> Variable:
        """The counter as a variable."""
        if self.counter is None:
            # it is none of the function's own
            before, active.function = active.function, None
            try:
                self.counter = Variable(EagerTensor(_word(self._start)), trainable=False)
            finally:
                active.function = before
        return self.counter

    def next(self, groups: int) -> tuple[tuple[int, int], int]:
        """The seeds and the counter of one more run."""
        start, self.start = self.start, (self.start + groups) % _WORD
        return self.pair, start

    def take_back(self, start: int, groups: int) -> None:
        """Undo the run that began at `start`, if it was the last one."""
        if self.start == (start + groups) % _WORD:
            self.start = start


class Streams:
    """The sequences of a ``tf.function``, for one combination of arguments.

    Attributes
    ----------
    calls : dict
    is_split : bool
        Whether calls in branches or bodies of loops are among them.
    """

    def __init__(self) -> None:
        self.calls: dict[Any, _Call] = {}
        self.is_split = False


class _Run:
    """One run of the Python code of a ``tf.function``, whose calls are counted."""

    def __init__(self, streams: Streams, path: tuple[Any, ...] = ()) -> None:
        self.streams, self._path = streams, path
        self._calls = self._without_seed = 0

    def next(self) -> tuple[Any, ...]:
        """The name of the next call, of a random function or of another ``tf.function``."""
        self._calls += 1
        return (*self._path, self._calls)

    def call(self, state: _State, kind: str, seed: Any) -> _Call:
        """The next call of a random function: as in a graph, its seed is how many before it had none."""
        name = (*self.next(), kind, seed)
        self._without_seed += seed is None
        found = self.streams.calls.get(name)
        if found is None:
            pair = seed_pair(state.seed, seed, lambda: self._without_seed - 1)
            found = self.streams.calls[name] = _Call(pair or _secret_pair(), kind)
        return found


class _Thread(threading.local):
    run: _Run | None = None


_thread = _Thread()


@contextmanager
def inside(streams: Streams, alone: bool = False) -> Iterator[None]:
    """Run a function's code: its calls have the sequences of `streams`, or of the function around it if not `alone`."""
    outer = _thread.run
    _thread.run = _Run(streams) if outer is None or alone else _Run(outer.streams, outer.next())
    try:
        yield
    finally:
        _thread.run = outer


def position(back: Any = None) -> Any:
    """How many calls of the running function's code have been counted; or count from there on again."""
    run = _thread.run
    if run is None:
        return None
    if back is not None:
        run._calls, run._without_seed = back
    return run._calls, run._without_seed


def is_inside() -> bool:
    """Whether a function's code is running, not its program."""
    return _thread.run is not None


def is_split() -> bool:
    """Whether the running function has drawn in branches or bodies of loops."""
    return _thread.run is not None and _thread.run.streams.is_split


def counted_apart(*functions: Callable[..., Any], anew: bool = False) -> list[Callable[..., Any]]:
    """The functions of one branch or loop, each of which counts its calls by itself, and anew each time it is called.

    To TensorFlow each is a graph of its own: its first operation without a seed takes the number 0, and each turn of a
    loop goes on with the numbers of the same operations. If `anew`, they start again each time the loop does.
    """
    run = _thread.run
    if run is None:
        return list(functions)
    place, streams = run.next(), Streams() if anew else run.streams

    def apart(function: Callable[..., Any], path: tuple[Any, ...]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            outer = _thread.run
            _thread.run = inner = _Run(streams, path)
            try:
                return function(*args)
            finally:
                run.streams.is_split |= inner._calls > 0
                _thread.run = outer

        return call

    return [apart(f, (*place, i)) if callable(f) else f for i, f in enumerate(functions)]


class Draws:
    """Where the draws of calls come from: seeds, and a counter for each sequence; the `state` of the last `reset`."""

    def __init__(self) -> None:
        self._locks = (Lock(),)
        self.state = _State(None)
        self.calls: weakref.WeakValueDictionary[int, _Call] = weakref.WeakValueDictionary()

    def reset(self, seed: int | None, by_python: bool = False) -> None:
        """Start again with the given seed; `by_python` says that Python's own generator has been given it, too."""
        effect("it sets a seed")
        # all at once, for an interrupt may come at any time
        self.state = _State(None if seed is None else int(seed), by_python)
        for call in list(self.calls.values()):
            call.start = 0  # they keep the seeds that they have

    def seeds(self, seed: Any) -> tuple[int, int] | None:
        """The two seeds of one more call with the given seed (None if it has none); None if there are none."""
        return seed_pair(self.state.seed, seed, self.state.choose)

    def _counted(self, kind: str, seed: Any, groups: int) -> tuple[_Call | None, tuple[int, int], int]:
        """A call within a function, or none; its seeds and counter."""
        state = self.state
        if _thread.run is not None:
            call = self._call(_thread.run, kind, seed)
            return call, *call.next(groups)
        pair = self.seeds(seed)
        if pair is not None and seed is None:
            return None, pair, 0
        key = kind if pair is None else (kind, pair)
        start = state.counters.get(key, 0)
        state.counters[key] = (start + groups) % _WORD
        return None, pair or state.secret, start

    def _call(self, run: _Run, kind: str, seed: Any) -> _Call:
        """The next call of a function's code."""
        call = run.call(self.state, kind, seed)
        self.calls[id(call)] = call
        return call

    def next(self, seed: Any = None) -> Draw:
        """The draw of one more call with the given seed (None if it has none)."""

        def draw(kind: str, groups: Any) -> tuple[Any, Any]:
            moved = 0 if groups is None else groups()
            if active.region is not None:
                return self._captured(kind, seed, moved)
            # where only shapes are asked, it is not known, and goes for nothing
            count = 0 if isinstance(moved, Symbol) else int(getattr(moved, "_array", moved))
            call, pair, start = exclusively(self._locks, self._counted, kind, seed, count)
            seeds, counter = map(EagerTensor, _arrays(pair, start))
            if active.function is not None and groups is not None:
                if call is None:
                    effect("it draws random numbers")
                else:
                    active.function.draw((seeds, counter), _Again(self._locks, call, count))
            return seeds, counter

        return draw

    def _captured(self, kind: str, seed: Any, groups: Any) -> tuple[Any, Any]:
        """Seeds and counter of a call within a branch or a loop of a function, each run of which draws."""
        if _thread.run is None:
            raise RuntimeError("random: there is no function around this branch or loop")
        call = exclusively(self._locks, self._call, _thread.run, kind, seed)
        counter = call.counted()
        active.region.draws = True
        start = counter.read_value()
        counter.assign(start + convert_to_tensor(groups, int64))
        return EagerTensor(_arrays(call.pair, 0)[0]), start


class _Again:
    """One more run of a call, in a program (`engine.core.function_tape`)."""

    __slots__ = ("_call", "_groups", "_locks")

    def __init__(self, locks: tuple[Any, ...], call: _Call, groups: int) -> None:
        self._locks, self._call, self._groups = locks, call, groups

    def __call__(self) -> list[Any]:
        return _arrays(*exclusively(self._locks, self._call.next, self._groups))

    def take_back(self, arrays: list[Any]) -> None:
        """Undo a call that gave `arrays`, as Python draws again."""
        exclusively(self._locks, self._call.take_back, int(arrays[1]) % _WORD, self._groups)


draws = Draws()
SET.append(lambda: draws.state.seed)


def default_seed() -> int:
    """The seed of an initializer or a layer that has none."""
    return draws.state.default()


def op_seeds(seed: int | None) -> tuple[int | None, int | None]:
    """The two seeds of a data set that is shuffled; None if there are none."""
    return draws.seeds(seed) or (None, None)


def set_seed(seed: int | None) -> None:
    """Start all sequences of random numbers again, with `seed` as the global seed; None stands for none.

    Examples
    --------
    >>> set_seed(1)
    >>> a, b = uniform([2]), uniform([2])
    >>> set_seed(1)
    >>> bool((uniform([2]) == a).numpy().all()), bool((uniform([2]) == a).numpy().all())
    (True, False)
    """
    draws.reset(seed)


def uniform(
    shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = float32, seed: Any = None, name: str | None = None
) -> EagerTensor:
    """Uniform random numbers in [minval, maxval), by default [0, 1).

    Parameters
    ----------
    shape : sequence of int, or integer vector
    minval, maxval : number or tensor
        For integers `maxval` must be given.
    dtype : DType
        Floating, int32 or int64.
    seed : int, optional
        Of a sequence of this call's own.
    """
    return wrapped(sampling.uniform(shape, minval, maxval, dtype, draw=draws.next(seed)))


def normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, seed: Any = None, name: str | None = None
) -> EagerTensor:
    """Normally distributed random numbers; `mean` and `stddev` are broadcast against `shape`."""
    return wrapped(sampling.normal(shape, mean, stddev, dtype, draw=draws.next(seed)))


def truncated_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, seed: Any = None, name: str | None = None
) -> EagerTensor:
    """Normally distributed random numbers no further than two standard deviations from the mean."""
    return wrapped(sampling.truncated_normal(shape, mean, stddev, dtype, draw=draws.next(seed)))


def gamma(
    shape: Any, alpha: Any, beta: Any = None, dtype: Any = float32, seed: Any = None, name: str | None = None
) -> EagerTensor:
    """Gamma-distributed random numbers (`shape` of them per pair of parameters), differentiable in the parameters."""
    return wrapped(sampling.gamma(shape, alpha, beta, dtype, draw=draws.next(seed)))


def poisson(shape: Any, lam: Any, dtype: Any = float32, seed: Any = None, name: str | None = None) -> EagerTensor:
    """Counts of the Poisson distribution, `shape` of them for each rate in `lam`."""
    return wrapped(sampling.poisson(shape, lam, dtype, draw=draws.next(seed)))


def categorical(
    logits: Any, num_samples: Any, dtype: Any = None, seed: Any = None, name: str | None = None
) -> EagerTensor:
    """Classes drawn with the given log-probabilities: int64 of shape (rows, num_samples)."""
    return wrapped(sampling.categorical(logits, num_samples, dtype, draw=draws.next(seed)))


def shuffle(value: Any, seed: Any = None, name: str | None = None) -> EagerTensor:
    """The rows of `value` in random order; differentiable."""
    return wrapped(sampling.shuffle(value, draw=draws.next(seed)))


def dropout(x: Any, rate: Any, noise_shape: Any = None, seed: Any = None, name: str | None = None) -> EagerTensor:
    """Each element of `x` set to 0 with probability `rate`, the others divided by ``1 - rate`` (``tf.nn.dropout``)."""
    return wrapped(dropouts.dropout(x, rate, noise_shape, draw=draws.next(seed)))


stateless_uniform = public(sampling.stateless_uniform, "stateless_uniform")
stateless_normal = public(sampling.stateless_normal, "stateless_normal")
stateless_truncated_normal = public(sampling.stateless_truncated_normal, "stateless_truncated_normal")
stateless_gamma = public(sampling.stateless_gamma, "stateless_gamma")
stateless_poisson = public(sampling.stateless_poisson, "stateless_poisson")
stateless_categorical = public(sampling.stateless_categorical, "stateless_categorical")
split = public(sampling.stateless_split, "split")
fold_in = public(sampling.stateless_fold_in, "fold_in")


_ALGORITHMS = (None, 1, 3, "philox", "auto_select")


class Generator(Shown):
    """A source of random numbers with a state of its own. Make one with `from_seed`.

    It gives the numbers of TensorFlow's generator with the Philox algorithm. Its state is a variable, which a
    checkpoint saves: the counter's lower and upper half, and the key.

    Parameters
    ----------
    copy_from : Generator, optional
        Whose state is copied. By default `state` is given.
    state : sequence of three int, optional
    alg : {None, "philox", "auto_select"}

    Raises
    ------
    NotImplementedError
        If another algorithm is asked for.

    Examples
    --------
    >>> a, b = Generator.from_seed(1), Generator.from_seed(1)
    >>> bool((a.normal([3]) == b.normal([3])).numpy().all())
    True
    """

    def __init__(self, copy_from: Generator | None = None, state: Any = None, alg: Any = None) -> None:
        if (copy_from is None) == (state is None):
            raise ValueError("Generator: exactly one of `copy_from` and `state` must be given")
        if getattr(alg, "value", alg) not in _ALGORITHMS:
            raise NotImplementedError(f"Generator: argument `alg` must be 'philox' or None, got {alg!r}")
        given = copy_from.state.numpy() if copy_from is not None else state
        self._state_var = Variable(_state_of(given), trainable=False, name="StateVar", dtype=int64)

    def _trackable_children(self) -> None:
        """A checkpoint saves what it holds."""

    @classmethod
    def from_seed(cls, seed: int, alg: Any = None) -> Generator:
        """A generator that gives the same numbers for the same seed."""
        return cls(state=_from_seed(seed), alg=alg)

    @classmethod
    def from_state(cls, state: Any, alg: Any = None) -> Generator:
        """A generator with a given state, three integers."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        """A generator that gives other numbers every time."""
        return cls(state=[*_secret_pair(), secrets.randbits(64)], alg=alg)

    @property
    def state(self) -> Variable:
        """The variable: int64 of shape (3,)."""
        return self._state_var

    @property
    def key(self) -> EagerTensor:
        """The part of the state that tells its numbers from those of other generators."""
        return convert_to_tensor(self._state_var)[2]

    @property
    def algorithm(self) -> int:
        """TensorFlow's number of Philox."""
        return 1

    def reset(self, state: Any) -> None:
        """Go on from a given state."""
        self._state_var.assign(_state_of(state))

    def reset_from_seed(self, seed: int) -> None:
        """Start again with the given seed."""
        self.reset(_from_seed(seed))

    def skip(self, delta: Any) -> EagerTensor:
        """Leave out as many numbers; returns the state before."""
        return self._moved(convert_to_tensor(delta, int64) * RESERVED)

    def _moved(self, groups: Any) -> EagerTensor:
        """Move the counter on; returns the state before."""

        def move() -> EagerTensor:
            before = convert_to_tensor(self._state_var)
            self._state_var.assign(before + groups * np.array([1, 0, 0], np.int64))
            return before

        # other threads draw from it, too
        return exclusively(self._state_var.locks, move)

    def _draw(self, kind: str, groups: Any) -> tuple[Any, Any]:
        before = self._moved(groups())
        return gather(before, np.array([2, 1])), before[0]

    def uniform(
        self, shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = float32, name: str | None = None
    ) -> EagerTensor:
        """Uniform random numbers in [minval, maxval); integers of the dtype's whole range if both limits are None."""
        if minval is None and maxval is None and as_dtype(dtype).is_integer:
            return self.uniform_full_int(shape, dtype)
        return wrapped(sampling.uniform(shape, minval, maxval, dtype, draw=self._draw))

    def uniform_full_int(self, shape: Any, dtype: Any = uint64, name: str | None = None) -> EagerTensor:
        """Integers of the whole range of a dtype of 32 or 64 bits."""
        return wrapped(sampling.full_integers(shape, dtype, draw=self._draw))

    def normal(
        self, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, name: str | None = None
    ) -> EagerTensor:
        """Normally distributed random numbers."""
        return wrapped(sampling.normal(shape, mean, stddev, dtype, draw=self._draw))

    def truncated_normal(
        self, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, name: str | None = None
    ) -> EagerTensor:
        """Normally distributed random numbers no further than two standard deviations from the mean."""
        return wrapped(sampling.truncated_normal(shape, mean, stddev, dtype, draw=self._draw))

    def make_seeds(self, count: int = 1) -> EagerTensor:
        """Seeds for stateless functions, shape (2, count)."""
        keys = self.uniform_full_int([count], int64)
        return wrapped(stack([keys, zeros_like(keys)]))

    def split(self, count: int = 1) -> list[Generator]:
        """Generators that are independent of this one and of each other."""
        return [Generator(state=[0, 0, int(key)]) for key in self.uniform_full_int([count], int64).numpy()]


_global: list[Generator] = []


def get_global_generator() -> Generator:
    """The generator of the process, made when it is first asked for; its state then is no function of anything."""
    if not _global:
        _global.append(Generator.from_non_deterministic_state())
    return _global[0]


def set_global_generator(generator: Generator) -> None:
    """Make a generator the one that `get_global_generator` gives.

    Raises
    ------
    TypeError
        If it is none.
    """
    if not isinstance(generator, Generator):
        raise TypeError(f"set_global_generator: argument `generator` must be a Generator, got {generator!r}")
    _global[:] = [generator]


def _array(x: Any) -> np.ndarray:
    return np.asarray(x.numpy() if hasattr(x, "numpy") else x)


def _state_of(given: Any) -> np.ndarray:
    """A generator's state: integers of 64 bits."""
    words = _array(given).ravel().tolist()
    if len(words) != 3:
        raise ValueError(f"Generator: argument `state` must hold three integers, got {given!r}")
    return np.array([int(x) % _WORD for x in words], np.uint64).view(np.int64)


def _from_seed(seed: Any) -> list[int]:
    """The state that a seed stands for: an integer fills it from its lower end, fewer than three are its last ones."""
    if isinstance(seed, int):
        return [seed >> shift & (_WORD - 1) for shift in (0, 64, 128)]
    words = _array(seed).ravel().tolist()[:3]
    return [*[0] * (3 - len(words)), *words]


# what these were called first
experimental = namespace("tape_api.random.experimental")
experimental.stateless_split, experimental.stateless_fold_in = split, fold_in  # type: ignore[attr-defined]
experimental.Generator = Generator  # type: ignore[attr-defined]
experimental.get_global_generator = get_global_generator  # type: ignore[attr-defined]
experimental.set_global_generator = set_global_generator  # type: ignore[attr-defined]

__all__ = [
    "Generator",
    "categorical",
    "dropout",
    "experimental",
    "fold_in",
    "gamma",
    "get_global_generator",
    "normal",
    "poisson",
    "set_global_generator",
    "set_seed",
    "shuffle",
    "split",
    "stateless_categorical",
    "stateless_gamma",
    "stateless_normal",
    "stateless_poisson",
    "stateless_truncated_normal",
    "stateless_uniform",
    "truncated_normal",
    "uniform",
]
