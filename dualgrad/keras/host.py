"""The interface of a front end that the shared definitions need (`Host`), and how they are bound to one.

A shared class that depends on the mode derives from `Bound` and asks ``self.host``. For each front end a subclass is
made that knows its host; the subclasses derive from each other as the shared classes do, so ``isinstance`` and
``super()`` work as they read. A shared function whose first parameter is called `host` gets it; the others are lifted
as the functions of the tables of names are.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import FunctionType, ModuleType
from typing import Any, ClassVar

from dualgrad.frontend.docstrings import describe
from dualgrad.keras.configs import ours
from dualgrad.keras.symbolic import Symbols
from engine.core.operands import Operand, Operation
from engine.core.variable import Variable
from engine.runtime.faces import Shown

_HOME = "dualgrad.keras"


class Host:
    """A front end, as the shared definitions see it.

    Attributes
    ----------
    package : str
        The front end's name.
    eager : bool
        Whether values are computed at once. If not, layers add operations to a graph.
    source : object
        Random numbers for initializers: ``uniform``, ``normal``, ``truncated_normal`` with ``dtype=`` and ``seed=``.
    optimizers : module
        With ``get(identifier)``.
    symbols : Symbols
        How calls of layers are remembered, for ``Model(inputs, outputs)``.
    unbiased_images : bool
        Whether batch normalization of images keeps an average of the unbiased variance, as TensorFlow 1 does.
    """

    package: str
    eager: bool
    source: Any
    optimizers: Any
    symbols: Symbols
    unbiased_images: bool = False

    def __init__(self) -> None:
        self._classes: dict[type, type] = {}
        self._functions: dict[Any, Any] = {}

    def __reduce__(self) -> str:
        # a pickled layer belongs to the front end that is there
        return "host"

    # ---- what a front end defines ------------------------------------------------------------------------------------

    def function(self, step: Any) -> Any:
        """Make a ``tf.function`` of a function."""
        return step

    def tensor(self, x: Any, dtype: Any = None) -> Any:
        """A tensor of whatever users write."""
        raise NotImplementedError

    def lifted(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """The public form of an engine function that says which of its parameters are tensors."""
        raise NotImplementedError

    def variable(
        self, owner: Any, name: str, shape: tuple[int, ...], make: Callable[..., Any], dtype: Any, **options: Any
    ) -> Variable:
        """A new variable of a layer or metric; `options` are `trainable`, `constraint` and `regularizer`."""
        raise NotImplementedError

    def initializer(self, given: Any, dtype: Any) -> Any:
        """A function that makes a weight, for a layer's initializer or None."""
        return given or ("glorot_uniform" if dtype.is_floating else "zeros")

    def rewriting(self) -> AbstractContextManager[Any]:
        """Inside, a model is built from its layers: their `call` may hold branches and loops over tensors."""
        return nullcontext()

    def drawing(self, shapes_only: bool) -> AbstractContextManager[Any]:
        """Inside, a layer is called; for its shapes only, perhaps."""
        return nullcontext()

    def name_scope(self, name: str) -> AbstractContextManager[Any]:
        """A prefix of names in a graph."""
        return nullcontext()

    def named(self, name: str, function: Callable[..., Any], *operands: Any) -> Operand:
        """``function(*operands)``, whose operation is to be called `name` in a graph."""
        return function(*operands)

    def assign(self, variables: Sequence[Any], values: Callable[[], Sequence[Any]]) -> Operation | None:
        """Give variables the values that a function computes from theirs; in a graph, the operation that does."""
        raise NotImplementedError

    def update(self, layer: Any, variables: Sequence[Any], values: Callable[[], Sequence[Any]]) -> Any:
        """`assign`, as part of calling a layer; in a graph, the operations that do it."""
        raise NotImplementedError

    def after(self, operation: Any, result: Callable[[], Any]) -> Any:
        """``result()``, computed after an operation that `assign` returned."""
        raise NotImplementedError

    def penalty(self, weight: Any, regularizer: Callable[[Any], Any]) -> Callable[[], Any]:
        """A function that gives ``regularizer(weight)``."""
        raise NotImplementedError

    def lost(self, layer: Any, losses: Sequence[Any]) -> None:
        """Note losses that a call of a layer has added."""

    def values(self, variables: Sequence[Any]) -> list[Any]:
        """The values of variables, as arrays."""
        raise NotImplementedError

    def set_values(self, variables: Sequence[Any], values: Sequence[Any]) -> None:
        """Set variables to arrays, at once."""
        raise NotImplementedError

    def choose(self, condition: Any, yes: Callable[[], Any], no: Callable[[], Any]) -> Any:
        """``yes()`` if the condition (a bool or a boolean tensor) holds, else ``no()``."""
        raise NotImplementedError

    def scan(
        self, step: Callable[..., Any], state: Any, sequences: Any, backwards: bool = False,
        max_bytes: int | None = None,
    ) -> tuple[Any, Any]:  # fmt: skip
        """``state, result = step(state, row)`` for each row of the sequences: the last state, the results stacked."""
        raise NotImplementedError

    def permutation(self, count: int) -> Operand:
        """The numbers below `count` in random order, an array."""
        raise NotImplementedError

    def dropout(self, x: Any, rate: Any, noise_shape: Any = None, seed: Any = None) -> Operand:
        """Each element set to 0 with probability `rate`, the others divided by ``1 - rate``."""
        raise NotImplementedError

    def noise(self, shape: Any, mean: float, stddev: float, dtype: Any, seed: Any) -> Operand:
        """Normally distributed numbers."""
        return self.source.normal(shape, mean, stddev, dtype=dtype, seed=seed)

    def input(self, aval: Any, name: str | None, tensor: Any = None) -> Any:
        """A symbol for an input of a model."""
        raise NotImplementedError

    def symbol(self, aval: Any, name: str) -> Operand:
        """Something to build a layer with: a placeholder in a graph."""
        raise NotImplementedError

    def scope(self, layer: Any) -> AbstractContextManager[Any]:
        """A scope that names the operations of a call of a layer."""
        raise NotImplementedError

    def names(self) -> Mapping[str, Any]:
        """How often each default name of a layer has been given away, a `Counter`."""
        raise NotImplementedError

    def set_seed(self, seed: int) -> None:
        """Make random numbers reproducible."""
        raise NotImplementedError

    def own_seed(self, seed: Any) -> Any:
        """The seed of an initializer, which is given one or not."""
        return seed

    def seeds(self, seed: Any) -> Any:
        """The seed that a layer hands to `dropout` and `noise`, if it is given this one or None."""
        return seed

    # ---- binding -----------------------------------------------------------------------------------------------------

    def bound(self, shared: type) -> type:
        """The front end's subclass of a shared class."""
        made = self._classes.get(shared)
        if made is None:
            bases = [self.bound(b) if issubclass(b, Bound) and b is not Bound else b for b in shared.__bases__]
            body = {"host": self, "__doc__": shared.__doc__, "__module__": self._module_of(shared)}
            above = [b for b in bases if b is not object and b not in shared.__mro__]
            made = self._classes[shared] = type(shared)(shared.__name__, (shared, *above), body)
            describe(made)
            ours(made)
        return made

    def public(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The front end's form of a shared function."""
        form = self._functions.get(function)
        if form is None:
            form, code = function, inspect.unwrap(function).__code__
            if code.co_varnames[: code.co_argcount][:1] == ("host",):
                form = functools.update_wrapper(functools.partial(function, self), function)
            elif hasattr(function, "__operands__"):
                form = self.lifted(function, function.__name__)
            describe(form)
            if form is not function:
                form.__module__ = self._module_of(function)
            self._functions[function] = form
        return form

    def _module_of(self, shared: Any) -> str:
        """``tape_api.keras.layers`` for a class of ``dualgrad.keras.layers.core``."""
        part = shared.__module__.removeprefix(_HOME).split(".")[1]
        return f"{self.package}.keras.{part}"

    def fill(self, module: dict[str, Any], *shared: ModuleType, names: Iterable[str] | None = None) -> None:
        """Bind what shared modules define, under the same names, in a front end's module (its ``globals()``)."""
        offered = module.setdefault("__all__", [])
        module.pop("__getattr__", None)  # of `frontend.untyped`, for type checkers
        for source in shared:
            for name in names or public_names(source):
                module[name] = self.form_of(vars(source)[name])
                offered.append(name)

    def form_of(self, value: Any) -> Any:
        """The front end's form of a class, function or table of these; anything else is itself."""
        if isinstance(value, type):
            if issubclass(value, Bound):
                return self.bound(value)
            ours(value)
            return value
        if isinstance(value, FunctionType):
            return self.public(value)
        if isinstance(value, dict):
            return {key: self.form_of(item) for key, item in value.items()}
        return value


class Bound(Shown):
    """Base of the shared classes that depend on the mode."""

    host: ClassVar[Host]


def public_names(module: ModuleType) -> list[str]:
    """The names that a shared module offers: its ``__all__``, or what it defines itself."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return list(listed)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not isinstance(value, ModuleType)
        and (getattr(value, "__module__", None) or module.__name__) == module.__name__
    ]
