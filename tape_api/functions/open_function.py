"""Functions that are called once with symbols, and run as programs from then on, for arguments of several shapes.

A `tf.function` is recorded while it runs (`engine.closed.traced_function`), on values that are there. That is not
enough where shapes are left open: by an ``input_signature`` with dimensions of None, or by a loop whose results are as
long as its number of steps. Then the function is called with symbols (`tape_api.functions.tracing`), which know of
shapes only what is the same for all values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from engine.closed.call_record import Untraceable
from engine.closed.function import ClosedFunction
from engine.compiler.eager_state import EagerState
from engine.core import nest
from engine.core.aval import Aval, aval_of_array
from engine.core.eager import EagerTensor
from engine.core.tape import active
from engine.core.trace import Symbol
from engine.core.value import Value
from engine.core.variable import Variable
from engine.derivatives.custom import custom_call
from tape_api.functions.tracing import FlowTrace
from tape_api.tensor import TensorSpec

_OWN = 4
"""So many combinations of shapes have a program of their own before there is one for all."""
_SHARED_RUNS = 8
"""Runs of one combination by the program for all before it gets one of its own, too."""
_MOST = 64
"""So many have one at most."""


class OpenFunction:
    """A function that has been called with symbols.

    Parameters
    ----------
    call : callable
        ``call(symbols)``: what the function returns.
    avals : sequence of Aval
        Of the arguments, as far as they are the same in all calls.
    has_variables : bool
        Whether the function has made all the variables that it may make.

    Attributes
    ----------
    avals
    outputs : structure
        What it returned: symbols, and what is the same each time.
    closed : ClosedFunction
        The function of symbols.
    made_variables, draws : bool
        Whether it has made any, and whether it draws random numbers.
    streams : Streams
        What it draws from where it runs as Python, too, if it is a concrete function.

    Raises
    ------
    Untraceable
        If it does something that is no op.
    """

    streams: Any = None

    def __init__(
        self, call: Callable[[Sequence[Any]], Any], avals: Sequence[Aval], has_variables: bool = False
    ) -> None:
        trace = FlowTrace(has_variables=has_variables)
        self.avals = list(avals)
        with trace.capturing():
            inputs = [trace.placeholder(a) for a in avals]
            self.outputs = call(inputs)
        self.made_variables, self.draws = trace.made_variables, trace.draws
        for x in nest.flatten(self.outputs):
            if not isinstance(x, (EagerTensor, Symbol, Variable, type(None), str, bytes)):
                raise Untraceable(f"it returns a {type(x).__name__}")
        self._trace = trace
        self._inputs = inputs
        self._leaves = nest.flatten(self.outputs)
        self._places = [i for i, x in enumerate(self._leaves) if isinstance(x, Symbol)]
        results = [self._leaves[i] for i in self._places]
        trace.require_in_reach("the function returns", results)
        nodes = trace.needed_for(results)
        self.closed = ClosedFunction(trace, self._inputs, results, nodes, store=EagerState(trace.variables()))
        self._own: dict[Any, ClosedFunction] = {}
        self._runs: Counter[Any] = Counter()

    def takes(self, arguments: Sequence[EagerTensor]) -> bool:
        """Whether arguments have the shapes that it is for."""
        return all(_fits(x._array.shape, a.shape) for x, a in zip(arguments, self.avals, strict=True))

    def variables(self) -> dict[int, Any]:
        """The variables that it reads or assigns to, by the identities of what stands for them."""
        return self._trace.variables()

    def leaves(self) -> list[Any]:
        """Its results, in order: symbols, and what is the same each time."""
        return self._leaves

    def specs(self) -> Any:
        """The structure of its results, as `TensorSpec`."""
        return nest.map_structure(lambda x: TensorSpec(x.shape, x.dtype) if isinstance(x, Value) else x, self.outputs)

    def __call__(self, arguments: Sequence[EagerTensor]) -> Any:
        """Run it for some arguments; an error changes nothing."""
        leaves = list(self._leaves)
        for i, x in zip(self._places, self._values(arguments), strict=True):
            leaves[i] = x
        return nest.pack_sequence_as(self.outputs, leaves)

    def _values(self, arguments: Sequence[EagerTensor]) -> list[Any]:
        closed = self.closed
        if active.tapes:
            if any(node.op is custom_call for node in closed.nodes):
                raise Untraceable("the rule of a custom_gradient knows the tensors of the call that made it")
            return self._op_by_op(arguments)
        arrays = [x._array for x in arguments]
        return list(map(EagerTensor, self._program_for(arrays).execute(arrays)))

    def _op_by_op(self, arguments: Sequence[Any]) -> list[Any]:
        """Its results, each op applied for itself, as tapes see them."""
        given = {id(symbol): x for symbol, x in zip(self._inputs, arguments, strict=True)}
        of = self._trace.instantiated(self.closed.nodes, given)
        return [of[id(r)] for r in self.closed.results]

    def _program_for(self, arrays: Sequence[Any]) -> ClosedFunction:
        """A program for these shapes, or the one for all, as a session has them (`graph_api.sessions.executables`)."""
        shapes = tuple([a.shape for a in arrays])
        found = self._own.get(shapes)
        if found is None:
            runs = self._runs[shapes]
            if len(self._own) < _OWN or (runs >= _SHARED_RUNS and len(self._own) < _MOST):
                found = self._own[shapes] = self.closed.at(arrays)
                return found
            if not runs:
                # the program for all takes for granted that shapes fit where it needs a result's shape only
                self.closed.result_avals(list(map(aval_of_array, arrays)))
                if self.closed._program is None:
                    self.closed.program.keep_in_python()
            self._runs[shapes] = runs + 1
            return self.closed
        return found


def _fits(shape: Sequence[int], wanted: Any) -> bool:
    return wanted is None or (
        len(shape) == len(wanted) and all(b is None or a == b for a, b in zip(shape, wanted, strict=True))
    )
