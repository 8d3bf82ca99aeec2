"""Functions of a SavedModel: programs for tensors of some kinds, and functions that choose among them."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from dualgrad.files import limits
from dualgrad.graph_functions.reading import Captured, Functions, GraphFunction, Refused
from engine.closed.function import ClosedFunction
from engine.compiler.eager_state import EagerState
from engine.core import nest
from engine.core.aval import Aval
from engine.core.eager import EagerTensor
from engine.core.instantiate import instantiate
from engine.core.tape import active
from engine.core.value import Value
from engine.runtime.errors import InvalidArgumentError
from tape_api.functions.concrete import Signature, like
from tape_api.functions.open_function import OpenFunction
from tape_api.functions.tracing import on_values
from tape_api.saved_model.structures import NotRead
from tape_api.tensor import TensorSpec, convert_to_tensor
from tape_api.variable import Variable


class ReadFunction(OpenFunction):
    """A function of a file, made of the engine's ops.

    Parameters
    ----------
    made : GraphFunction
    variables : dict of int to Variable
        By the identities of what stands for them.
    outputs : structure
        Of TensorSpec, one for each result.

    Raises
    ------
    InvalidArgumentError
        If it does not have as many results.
    """

    def __init__(self, made: GraphFunction, variables: dict[int, Variable], outputs: Any) -> None:
        leaves = nest.flatten(outputs)
        self._places = [i for i, x in enumerate(leaves) if isinstance(x, (TensorSpec, NotRead))]
        if len(self._places) != len(made.results):
            raise InvalidArgumentError(
                f"the function returns {len(made.results)} tensors, the file says {len(self._places)}"
            )
        for i, x in zip(self._places, made.results, strict=True):
            leaves[i] = x
        self.avals = [x.aval for x in made.inputs]
        self.outputs, self._leaves = nest.pack_sequence_as(outputs, leaves), leaves
        self.made_variables, self.draws = False, bool(made.hidden)
        self._variables, self._inputs, self._trace = variables, made.inputs, self  # type: ignore[assignment]
        state = EagerState(variables)
        self.closed = ClosedFunction(made.trace, made.inputs, made.results, made.nodes, store=state)
        self._own, self._runs = {}, Counter()

    def variables(self) -> dict[int, Any]:
        """The variables that it reads or assigns to, by the identities of what stands for them."""
        return self._variables

    def instantiated(self, nodes: Sequence[Any], given: dict[int, Any]) -> dict[int, Any]:
        """Apply the ops of its nodes, one by one, to other values."""
        return instantiate(nodes, {**self._variables, **given}, on_values)

    def _values(self, arguments: Sequence[Any]) -> list[Any]:
        if active.tapes or active.instead is not None or not all(type(x) is EagerTensor for x in arguments):
            return self._op_by_op(arguments)
        return super()._values(arguments)


class Restored:
    """All that the functions of one model share: the file's functions, and the objects that they capture.

    Parameters
    ----------
    folder : str
        Where the model is.
    functions : Functions
    objects : list
        The objects of the model, by number: variables, arrays of constants, or others, which functions cannot take.
    """

    def __init__(self, folder: str, functions: Functions, objects: Sequence[Any]) -> None:
        self.folder, self.functions, self.objects = folder, functions, objects


class RestoredConcreteFunction(Signature):
    """A function of a SavedModel for tensors of some shapes and dtypes, with the values of other arguments bound.

    It is made of ops when it is called first: tapes see them, and variables are what the loaded object holds.

    Attributes
    ----------
    variables, trainable_variables : tuple of Variable
    """

    def __init__(self, restored: Restored, name: str, signature: Any, outputs: Any, captures: Sequence[int]) -> None:
        self.name, self.structured_outputs, self._restored = name, outputs, restored
        self.structured_input_signature = signature
        self._captures = list(captures)
        self._specs = self.inputs
        self._keywords = [spec.name or f"argument_{i}" for i, spec in enumerate(self._specs)]
        self._positional = len(self._specs)
        self._made: ReadFunction | None = None

    def named(self, keywords: Sequence[str], positional: int) -> RestoredConcreteFunction:
        """Set the names of its tensors, and how many of them may be given by place."""
        if len(keywords) == len(self._specs):
            self._keywords, self._positional = list(keywords), positional
        return self

    is_method = False

    def parameter_names(self) -> list[str]:
        """Names for its arguments by place, where their specs have none."""
        return [f"argument_{i}" for i in range(len(self.structured_input_signature[0]))]

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that it captures."""
        captured: list[Any] = [self._restored.objects[i] for i in self._captures]
        return tuple({id(v): v for v in captured if isinstance(v, Variable)}.values())

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """Those that tapes watch."""
        return tuple([v for v in self.variables if v.trainable])

    def program(self) -> ReadFunction:
        """The function, made of ops.

        Raises
        ------
        UnimplementedError
            If it needs ops that are not known here.
        DataLossError
            If it is damaged.
        """
        if self._made is None:
            with limits.damage(self._restored.folder):
                self._made = self._read()
        return self._made

    def _read(self) -> ReadFunction:
        unread = [x for x in nest.flatten(self.structured_input_signature) if isinstance(x, NotRead)]
        captured = [self._captured(i) for i in self._captures]
        captured += [Refused(f"an argument that is a {x.what}") for x in unread]
        avals = [Aval(s.shape.as_tuple() if s.shape.rank is not None else None, s.dtype) for s in self._specs]
        made = self._restored.functions.made(self.name, avals, captured)
        variables = {
            id(handle): self._restored.objects[number]
            for handle, number in zip(made.handles, self._captures, strict=True)
            if handle is not None
        }
        for handle, first in made.hidden:
            variables[id(handle)] = Variable(first(), trainable=False, name="hidden")
        return ReadFunction(made, variables, self.structured_outputs)

    def _captured(self, number: int) -> Any:
        obj = self._restored.objects[number]
        if isinstance(obj, Variable):
            return Captured(obj.aval)
        if isinstance(obj, NotRead):
            return Refused(f"an object that is a {obj.what}")
        return obj

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it with tensors: by their names or places, or as the Python function was called.

        Raises
        ------
        TypeError
            If a tensor is missing or does not fit.
        """
        return self.run(self._tensors(args, kwargs))

    def run(self, given: Sequence[Any]) -> Any:
        """Call it with its tensors, in order."""
        each = zip(self._keywords, given, self._specs, strict=True)
        tensors = [like(self.name, name, x, spec, "dtype_hint") for name, x, spec in each]
        return self.program()(tensors)

    def _tensors(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        if fits((args, kwargs), self.structured_input_signature, False):
            return tensors_of((args, kwargs), self.structured_input_signature)
        if len(args) > self._positional:
            raise TypeError(
                f"{self.name}: takes {self._positional} tensors by place, got {len(args)}; by name it takes "
                f"{', '.join(self._keywords)}"
            )
        given = {**dict(zip(self._keywords, args, strict=False)), **kwargs}
        missing, more = [k for k in self._keywords if k not in given], [k for k in given if k not in self._keywords]
        if missing or more:
            problem = f"missing {', '.join(missing)}" if missing else f"unexpected {', '.join(more)}"
            raise TypeError(f"{self.name}: takes the tensors {', '.join(self._keywords)}; {problem}")
        return [given[k] for k in self._keywords]


class RestoredFunction:
    """A ``tf.function`` of a SavedModel: a call runs what was saved for such arguments.

    Attributes
    ----------
    parameters : inspect.Signature
    concrete_functions : list of RestoredConcreteFunction
    """

    def __init__(self, name: str, parameters: inspect.Signature, concrete: Sequence[RestoredConcreteFunction]) -> None:
        self.__name__, self.parameters, self.concrete_functions = name, parameters, list(concrete)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it.

        Raises
        ------
        ValueError
            If nothing was saved for such arguments.
        TypeError
            If the function does not take such arguments.
        """
        found, canonical = self._found(args, kwargs)
        return found.run(tensors_of(canonical, found.structured_input_signature))

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> RestoredConcreteFunction:
        """The function that was saved for some arguments; a `TensorSpec` stands for a tensor."""
        if not args and not kwargs and len(self.concrete_functions) == 1:
            return self.concrete_functions[0]
        return self._found(args, kwargs)[0]

    def _found(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[RestoredConcreteFunction, Any]:
        if not self.concrete_functions:
            raise ValueError(f"{self.__name__}: the file has no program of it: it was never called before it was saved")
        bound = self.parameters.bind(*args, **kwargs)
        bound.apply_defaults()
        canonical = bound.args, bound.kwargs
        for converting in (False, True):
            for concrete in self.concrete_functions:
                if fits(canonical, concrete.structured_input_signature, converting):
                    return concrete, canonical
        saved = "".join(f"\n  {c.structured_input_signature}" for c in self.concrete_functions)
        given = nest.map_structure(lambda x: TensorSpec(x.shape, x.dtype) if isinstance(x, Value) else x, canonical)
        raise ValueError(
            f"Could not find matching concrete function to call loaded from the SavedModel. {self.__name__} got "
            f"{given}, and was saved for:{saved}"
        )

    def __repr__(self) -> str:
        return f"<RestoredFunction {self.__name__}{self.parameters}>"


# ---- arguments -------------------------------------------------------------------------------------------------------


def _pairs(given: Any, expected: Any) -> list[tuple[Any, Any]] | None:
    """The values given for each part of a signature; None if it has another structure."""
    if not nest.is_nested(expected):
        return [(given, expected)]
    if isinstance(expected, Mapping):
        if not isinstance(given, Mapping) or set(given) != set(expected):
            return None
        parts = [(given[k], expected[k]) for k in sorted(expected)]
    else:
        if not isinstance(given, (list, tuple)) or len(given) != len(expected):
            return None
        parts = list(zip(given, expected, strict=True))
    found = [_pairs(*part) for part in parts]
    return None if any(f is None for f in found) else [pair for f in found for pair in f or ()]


def fits(given: Any, expected: Any, converting: bool) -> bool:
    """Whether arguments are those that a function was saved for; with `converting` numbers may stand for tensors."""
    pairs = _pairs(given, expected)
    return pairs is not None and all(_fits_one(x, wanted, converting) for x, wanted in pairs)


def _fits_one(x: Any, wanted: Any, converting: bool) -> bool:
    if not isinstance(wanted, TensorSpec):
        return not isinstance(x, Value) and type(x) is type(wanted) and bool(x == wanted)
    if not isinstance(x, (Value, TensorSpec)):
        if not converting or x is None or isinstance(x, (str, bytes)) is not (wanted.dtype.name == "string"):
            return False
        try:
            x = convert_to_tensor(x, dtype_hint=wanted.dtype)
        except (ValueError, TypeError):
            return False
    return x.dtype is wanted.dtype and wanted.shape.is_compatible_with(x.shape)


def tensors_of(given: Any, expected: Any) -> list[Any]:
    """The tensors among arguments that fit a signature, in order."""
    return [x for x, wanted in _pairs(given, expected) or () if isinstance(wanted, TensorSpec)]
