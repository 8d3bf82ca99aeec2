"""The tape API as Keras's shared definitions see it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import partial
from typing import Any

import numpy as np

from dualgrad.autograph.conversion import converting
from dualgrad.files.limits import spend
from dualgrad.keras.host import Host
from dualgrad.keras.symbolic import KerasTensor, TapeSymbols, new_input
from engine.core.dtypes import as_dtype
from engine.core.eager import EagerTensor
from engine.core.operands import Operand
from engine.core.value import Value
from engine.ops.dropout import stateless_dropout
from optim import keras as optimizers
from optim.slots import step
from tape_api import random
from tape_api.autograph import HOST
from tape_api.control_flow import flow, loops
from tape_api.functions.function import function
from tape_api.in_place import put
from tape_api.keras_seeds import SeedGenerator, drawn_seed
from tape_api.library import public
from tape_api.tensor import convert_to_tensor
from tape_api.variable import Variable


class _Source:
    """Random numbers from a seed, or else from the global sequence."""

    @staticmethod
    def _draw(distribution: str, shape: Any, *parameters: float, dtype: Any, seed: Any) -> Operand:
        if seed is None:
            return getattr(random, distribution)(shape, *parameters, dtype=dtype)
        return getattr(random, f"stateless_{distribution}")(shape, drawn_seed(seed), *parameters, dtype=dtype)

    def uniform(self, *arguments: Any, **more: Any) -> Operand:
        """Uniform numbers."""
        return self._draw("uniform", *arguments, **more)

    def normal(self, *arguments: Any, **more: Any) -> Operand:
        """Normal numbers."""
        return self._draw("normal", *arguments, **more)

    def truncated_normal(self, *arguments: Any, **more: Any) -> Operand:
        """Normal numbers no further than two standard deviations from the mean."""
        return self._draw("truncated_normal", *arguments, **more)


_awaited: ContextVar[Any] = ContextVar("awaited", default=None)
"""Weights whose values are to come from a file, and what else makes them."""


@contextmanager
def awaiting() -> Iterator[list[tuple[Variable, Callable[[], Any]]]]:
    """Inside, random weights of layers are not drawn: a file has their values. Gives them, and what would draw each."""
    awaited: list[tuple[Variable, Callable[[], Any]]] = []
    token = _awaited.set(awaited)
    try:
        yield awaited
    finally:
        _awaited.reset(token)


class TapeHost(Host):
    """Values are computed at once; weights are eager variables."""

    package = "tape_api"
    eager = True
    source = _Source()
    optimizers = optimizers
    symbols = TapeSymbols()

    def __init__(self) -> None:
        super().__init__()
        self._names: Counter[str] = Counter()
        self._nothing = nullcontext()

    def function(self, step: Any) -> Any:
        """`tape_api.function`."""
        return function(step)

    def rewriting(self) -> AbstractContextManager[Any]:
        """As in a function."""
        return converting(HOST)

    def drawing(self, shapes_only: bool) -> AbstractContextManager[Any]:
        """Inside, draws for the sake of shapes change nothing that is drawn later."""
        return random.inside(random.Streams(), alone=True) if shapes_only else nullcontext()

    def tensor(self, x: Any, dtype: Any = None) -> Operand:
        """`convert_to_tensor`."""
        return convert_to_tensor(x, dtype)

    def lifted(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """As the functions of the table of names."""
        return public(function, name)

    def variable(
        self, owner: Any, name: str, shape: tuple[int, ...], make: Callable[..., Any], dtype: Any, **options: Any
    ) -> Variable:
        """A variable named after its owner."""
        options.pop("regularizer", None)
        spend(math.prod(shape) * as_dtype(dtype).size, f"variable {owner.name}/{name}")
        start, awaited, is_ours = (
            partial(make, shape, dtype=dtype),
            _awaited.get(),
            type(owner).__module__[:9] == "tape_api.",
        )
        # classes of users may look at their weights; a generator of seeds would give others to those that come later
        if awaited is None or not is_ours or not isinstance(getattr(make, "_own_seed", None), int):
            return Variable(start(), name=f"{owner.name}/{name}", **options)
        made = Variable(EagerTensor(np.zeros(shape, as_dtype(dtype).numpy)), name=f"{owner.name}/{name}", **options)
        awaited.append((made, start))
        return made

    def assign(self, variables: Sequence[Any], values: Callable[[], Sequence[Any]]) -> None:
        """At once, in one step; for symbols, what layers are called with for the sake of shapes, nothing happens."""

        def found() -> Sequence[Any]:
            new = values()
            return variables if self.symbols.are_among(new) else new

        step(variables, found)

    def update(self, layer: Any, variables: Sequence[Any], values: Callable[[], Sequence[Any]]) -> None:
        """At once, in one step."""
        step(variables, values)

    def after(self, operation: Any, result: Callable[[], Any]) -> Operand:
        """The result: the operation has happened."""
        return result()

    def penalty(self, weight: Any, regularizer: Callable[[Any], Any]) -> Callable[[], Any]:
        """Computed anew each time it is asked for."""
        return partial(regularizer, weight)

    def values(self, variables: Sequence[Any]) -> list[Any]:
        """Copies."""
        return [variable.numpy() for variable in variables]

    def set_values(self, variables: Sequence[Any], values: Sequence[Any]) -> None:
        """In one step."""
        put(variables, values)

    def choose(self, condition: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        """Python's choice; of the program, by a tensor."""
        if not isinstance(condition, Value):
            return yes() if condition else no()
        return flow.cond(condition, yes, no)

    def scan(
        self, step: Callable[..., Any], state: Any, sequences: Any, backwards: bool = False,
        max_bytes: int | None = None,
    ) -> tuple[Any, Any]:  # fmt: skip
        """A Python loop."""
        return loops.scanned(step, state, sequences, backwards, max_bytes)

    def permutation(self, count: int) -> np.ndarray:
        """The order that a function of a data set draws first: so Keras shuffles, in each epoch."""
        with random.inside(random.Streams(), alone=True):
            order: np.ndarray = random.shuffle(np.arange(count)).numpy()
        return order

    def dropout(self, x: Any, rate: Any, noise_shape: Any = None, seed: Any = None) -> Operand:
        """``tf.nn.dropout``, with a generator of seeds."""
        if seed is None:
            return random.dropout(x, rate, noise_shape)
        return convert_to_tensor(stateless_dropout(x, rate, drawn_seed(seed), noise_shape))

    def input(self, aval: Any, name: str | None, tensor: Any = None) -> KerasTensor:
        """A symbol of a trace of its own."""
        if tensor is not None:
            raise NotImplementedError("keras.Input: argument `tensor` needs a graph; call the model with the tensor")
        return new_input(aval, name)

    def symbol(self, aval: Any, name: str) -> Operand:
        """A symbol to build a layer with: calls of layers with it are remembered."""
        return new_input(aval, name)

    def scope(self, layer: Any) -> AbstractContextManager[Any]:
        """Eager tensors have no names."""
        return self._nothing

    def names(self) -> Counter[str]:
        """One for the whole program."""
        return self._names

    def set_seed(self, seed: int) -> None:
        """The global seed; seeds that are not given are then drawn from Python's."""
        random.draws.reset(seed, by_python=True)

    def own_seed(self, seed: Any) -> Any:
        """Drawn once, as Keras 3 does."""
        return random.default_seed() if seed is None else seed

    def seeds(self, seed: Any) -> SeedGenerator:
        """A generator."""
        return seed if isinstance(seed, SeedGenerator) else SeedGenerator(seed)


host = TapeHost()
