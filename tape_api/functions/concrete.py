"""`ConcreteFunction`: a ``tf.function`` for tensors of some shapes and dtypes."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from engine.core import nest
from engine.core.value import Value
from engine.core.variable import Variable
from tape_api.functions.open_function import OpenFunction
from tape_api.tensor import TensorSpec, convert_to_tensor


class Signature:
    """The tensors that a function of some shapes and dtypes takes and returns.

    Attributes
    ----------
    structured_input_signature : (tuple, dict)
    structured_outputs : structure of TensorSpec
        What it returns; None where that is not known before it is called.
    name : str
    """

    structured_input_signature: tuple[tuple[Any, ...], dict[str, Any]]
    structured_outputs: Any
    name: str

    @property
    def inputs(self) -> list[TensorSpec]:
        """The specs of the tensors that it takes."""
        return [x for x in nest.flatten(self.structured_input_signature) if isinstance(x, TensorSpec)]

    @property
    def outputs(self) -> list[TensorSpec]:
        """The specs of the tensors that it returns."""
        return [x for x in nest.flatten(self.structured_outputs) if isinstance(x, TensorSpec)]

    def __repr__(self) -> str:
        kind = type(self).__name__
        return f"<{kind} {self.name}{self.structured_input_signature} -> {self.structured_outputs}>"


class ConcreteFunction(Signature):
    """A function for tensors of some shapes and dtypes, with the values of all other arguments bound.

    Parameters
    ----------
    function : Function
    args, kwargs
        As of a call, with a `TensorSpec`, or a tensor like it, for each tensor.
    """

    def __init__(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._function = function
        self._parameters = inspect.signature(function.python_function)
        bound = self._parameters.bind_partial(*args, **kwargs)
        if function.input_signature is not None:
            left = list(function.input_signature)
            for name, parameter in self._parameters.parameters.items():
                if name in ("self", *bound.arguments) or not left:
                    continue
                if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                    bound.arguments[name], left = tuple(left), []
                else:
                    bound.arguments[name] = left.pop(0)
        bound = self._parameters.bind(*bound.args, **bound.kwargs)
        bound.apply_defaults()
        bound.arguments.update({name: nest.map_structure(spec_of, x) for name, x in bound.arguments.items()})
        self._bound = bound
        self.structured_input_signature = bound.args, bound.kwargs
        self.name: str = getattr(function.python_function, "__name__", "function")
        made = function.open_for(bound.args, bound.kwargs)
        self._made = made if isinstance(made, OpenFunction) else None
        self._why = made if isinstance(made, str) else ""
        self.structured_outputs = None if self._made is None else self._made.specs()

    @property
    def python_function(self) -> Any:
        """The Python function."""
        return self._function.python_function

    @property
    def is_method(self) -> bool:
        """Whether its first argument is the object whose method it is."""
        return bool(self._function.takes_object)

    def parameter_names(self) -> list[str]:
        """The names of its arguments by place, without ``self``; several of one name, where it takes any number."""
        names: list[str] = []
        for name, parameter in self._parameters.parameters.items():
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                names += [name] * len(self._bound.arguments.get(name, ()))
            elif parameter.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD):
                names.append(name)
        return names[self.is_method :]

    def program(self) -> OpenFunction:
        """The function, called with symbols.

        Raises
        ------
        ValueError
            If it runs as Python.
        """
        if self._made is None:
            raise ValueError(f"the function {self.name} is no program, it runs as Python: {self._why}")
        return self._made

    @property
    def output_shapes(self) -> Any:
        """The shapes of what it returns, in its structure."""
        return nest.map_structure(lambda x: getattr(x, "shape", None), self.structured_outputs)

    @property
    def output_dtypes(self) -> Any:
        """The dtypes of what it returns, in its structure."""
        return nest.map_structure(lambda x: getattr(x, "dtype", None), self.structured_outputs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it with tensors, in the order of the Python function's parameters, or by their names.

        Raises
        ------
        TypeError
            If a tensor is missing, or another argument is not the one that was bound.
        """
        given = self._given(args, kwargs)
        arguments = dict(self._bound.arguments)
        for name, wanted in self._bound.arguments.items():
            if name in given:
                arguments[name] = self._fitted(name, given.pop(name), wanted)
            elif any(isinstance(x, TensorSpec) for x in nest.flatten(wanted)):
                raise TypeError(f"{self.name}: missing a tensor for argument `{name}`")
        if given:
            raise TypeError(f"{self.name}: unexpected arguments {', '.join(given)}")
        bound = inspect.BoundArguments(self._parameters, arguments)
        if self._made is None:
            return self._function(*bound.args, **bound.kwargs)
        own = zip(*[nest.flatten((b.args, b.kwargs)) for b in (self._bound, bound)], strict=True)
        tensors = [x for spec, x in own if isinstance(spec, TensorSpec)]
        return self._function.call_open(self._made, tensors, bound.args, bound.kwargs)

    def _given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name: those of the Python function, or its tensors alone."""
        bound, parameters = self._bound.arguments, self._parameters.parameters
        names = [name for name in bound if name != "self"]
        several = {name for name in names if parameters[name].kind is inspect.Parameter.VAR_POSITIONAL}
        names = [place for name in names for place in [name] * (len(bound[name]) if name in several else 1)]
        tensors = [n for n in names if any(isinstance(x, TensorSpec) for x in nest.flatten(bound[n]))]
        if len(args) > len(names):
            raise TypeError(f"{self.name}: takes {len(tensors)} tensors, got {len(args)}")
        given: dict[str, Any] = {}
        for name, x in zip(tensors if len(args) <= len(tensors) else names, args, strict=False):
            given[name] = (*given.get(name, ()), x) if name in several else x
        return {**given, **kwargs}

    def _fitted(self, name: str, value: Any, wanted: Any) -> Any:
        if not any(isinstance(x, TensorSpec) for x in nest.flatten(wanted)):
            if value is not wanted and value != wanted:
                raise TypeError(f"{self.name}: argument `{name}` is bound to {wanted!r}, got {value!r}")
            return wanted
        nest.assert_same_structure(wanted, value)
        return nest.map_structure(lambda spec, x: like(self.name, name, x, spec), wanted, value)


def spec_of(x: Any) -> Any:
    """A spec of its own for a tensor, an array or a spec; anything else as it is."""
    if isinstance(x, TensorSpec):
        return TensorSpec(x.shape, x.dtype, x.name)
    if isinstance(x, Value) and not isinstance(x, Variable):
        return TensorSpec(x.shape, x.dtype)
    return TensorSpec(x.shape, x.dtype) if isinstance(x, np.ndarray) else x


def like(function: str, argument: str, x: Any, spec: Any, how: str = "dtype") -> Any:
    """`x` as a tensor of a function's argument, which must be as the spec says; what is no spec is bound."""
    if not isinstance(spec, TensorSpec):
        return spec
    kind: dict[str, Any] = {how: spec.dtype}
    tensor = x.read_value() if isinstance(x, Variable) else convert_to_tensor(x, **kind)
    if tensor.dtype is not spec.dtype or not spec.shape.is_compatible_with(tensor.shape):
        raise TypeError(
            f"{function}: argument `{argument}` must be like {spec}, got shape {tensor.shape} and dtype "
            f"{tensor.dtype.name}"
        )
    return tensor
