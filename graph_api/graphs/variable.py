"""Variables of a graph, their initializers, and the stores that share them by name."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from engine.core.aval import Aval, Shape, compatible, format_shape, merge_shapes, normalize_shape
from engine.core.dtypes import DType, as_dtype
from engine.core.operands import Arithmetic, Array, Operand
from engine.core.tape import record_read
from engine.core.value import Value, as_array, not_an_array, scalar, shape_of
from engine.core.variable import Variable as EngineVariable
from engine.core.variable import (
    assign_variable,
    checked_constraint,
    read_variable,
    variable_handle,
    variable_is_initialized,
)
from engine.ops.checked import checked_op
from engine.ops.compare import logical_not
from engine.ops.indexed_slices import IndexedSlices
from engine.ops.joining import stack
from engine.ops.lift import cast_data
from engine.ops.row_assignment import AssignsRows, replaced
from engine.ops.shape import identity
from engine.ops.shape import shape as shape_of_value
from engine.ops.slicing import boolean_mask
from engine.runtime.errors import DTypeError, ShapeError, SymbolicArrayError
from graph_api.graphs.graph import Graph, get_default_graph
from graph_api.graphs.graph_keys import VARIABLE_SCOPES, GraphKeys
from graph_api.graphs.tensor import GraphShape, Operation, Tensor

if TYPE_CHECKING:
    from dualgrad.files.graph_protos import VariableDef


def _done(changed: Tensor, read_value: bool) -> Any:
    """The result of an assignment: the new value, or if that is not wanted, an operation."""
    return changed if read_value else changed.graph.group([changed])


def _initial_tensor(initial_value: Any, dtype: DType | None, graph: Graph, name: str) -> Tensor:
    """The initial value as a tensor of the graph."""
    if callable(initial_value) and not isinstance(initial_value, Value):
        with graph.building():
            initial_value = initial_value()
    if isinstance(initial_value, Variable):
        initial_value = initial_value.initialized_value()
    if not isinstance(initial_value, Value):
        array = cast_data(initial_value, dtype)
        if array is None:
            array = np.array(as_array(initial_value, dtype, f"Variable {name!r}"))
        initial_value = scalar(array)
    tensor = graph.operand(initial_value)
    if dtype is not None and tensor.dtype is not dtype:
        raise DTypeError(f"Variable {name!r}: argument `initial_value` has dtype {tensor.dtype.name}, not {dtype.name}")
    return tensor


if TYPE_CHECKING:

    class _Base(Arithmetic[Tensor], AssignsRows):  # type: ignore[misc]  # of variables it is another one
        __slots__ = ()

else:
    _Base = AssignsRows


class Variable(_Base):
    """A value that persists between runs of a session.

    Parameters
    ----------
    initial_value : tensor, array, Python data, or callable returning one
        What its initializer sets it to.
    trainable : bool
        Whether optimizers train it by default.
    collections : sequence of str, optional
        By default GLOBAL_VARIABLES (and TRAINABLE_VARIABLES if trainable).
    validate_shape : bool
        If False, the shape may change with assignments.
    name : str, optional
    dtype : DType, optional
        By default that of the initial value.
    shape : shape, optional
        By default that of the initial value.
    caching_device, variable_def, expected_shape, import_scope, constraint, use_resource, synchronization, aggregation
        Accepted for compatibility when None or default.

    Examples
    --------
    >>> import graph_api as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     w = tf.Variable(2.0, name="w")
    ...     sess.run(w.initializer)
    ...     print(sess.run(w.assign_add(1.0)), w.name)
    3.0 w:0
    """

    __slots__ = (
        "__dict__", "__weakref__", "_assignments", "_element", "_handle", "_initial", "_initializer", "_snapshot",
        "_snapshot_at", "constraint", "name", "trainable",
    )  # fmt: skip

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = True,
        collections: Sequence[str] | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        expected_shape: Any = None,
        import_scope: Any = None,
        constraint: Any = None,
        use_resource: bool | None = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: Any = None,
    ) -> None:
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            self._from_proto(variable_def, import_scope)
            return
        if initial_value is None:
            raise ValueError("Variable: argument `initial_value` must be given")
        graph = get_default_graph()
        self.trainable = True if trainable is None else bool(trainable)
        self.constraint = checked_constraint(constraint)
        with graph.lifted(), graph.name_scope(name or "Variable") as scope:
            full = scope[:-1]
            with graph.name_scope("Initializer"):
                initial = _initial_tensor(initial_value, as_dtype(dtype) if dtype is not None else None, graph, full)
            give = "Make it outside, or give a function (a lambda) that makes it as the initial value"
            graph.require_in_reach(f"Variable: the initial value of {full!r}", [initial], give)
            known = initial.aval.shape if validate_shape else None
            if shape is not None:
                declared = normalize_shape(shape)
                merge_shapes(known, declared)  # raises if they do not fit
                known = declared
            params = {"aval": Aval(known, initial.dtype), "default": None}
            self._handle = graph.apply(variable_handle, (), params, name=scope)
            self.name = self._handle.name
            self._initial = initial
            self._initializer = graph.apply(assign_variable, (self._handle, initial), {}, name="Assign").op
            self._assignments = 0
            self._element = self._snapshot = graph.apply(read_variable, (self._handle,), {}, name="read")
            self._snapshot_at = graph.flow_assignments
        if collections is None:
            collections = [GraphKeys.GLOBAL_VARIABLES]
        if not isinstance(collections, (list, tuple, set)):
            raise ValueError(f"Variable: argument `collections` must be a list, tuple, or set, got {collections!r}")
        wanted = list(collections)
        if self.trainable and GraphKeys.TRAINABLE_VARIABLES not in wanted:
            wanted.append(GraphKeys.TRAINABLE_VARIABLES)
        graph.add_to_collections(wanted, self)

    # ---- files of graphs ---------------------------------------------------------------------------------------------

    def _from_proto(self, variable_def: Any, import_scope: str | None) -> None:
        """Take over a variable whose operations are in the default graph, as those of a file are."""
        graph = get_default_graph()
        prefix = f"{import_scope}/" if import_scope else ""
        handle = graph.get_tensor_by_name(_output(prefix + variable_def.variable_name))
        if handle.op.op is not variable_handle:
            raise ValueError(f"Variable: {handle.name!r} is no variable")
        self._handle, self.name = handle, handle.name
        self.trainable, self.constraint = bool(variable_def.trainable), None
        self._initializer = graph.get_operation_by_name(prefix + variable_def.initializer_name)
        initial = variable_def.initial_value_name
        self._initial = graph.get_tensor_by_name(_output(prefix + initial)) if initial else self._initializer.inputs[1]
        self._element = self._snapshot = graph.get_tensor_by_name(_output(prefix + variable_def.snapshot_name))
        self._assignments, self._snapshot_at = 0, graph.flow_assignments

    @staticmethod
    def from_proto(variable_def: Any, import_scope: str | None = None) -> Variable:
        """The variable that a message describes; its operations must be in the default graph."""
        return Variable(variable_def=variable_def, import_scope=import_scope)

    def to_proto(self, export_scope: str | None = None) -> VariableDef | None:
        """The variable as a message: the names of its operations, below `export_scope`; None if it is elsewhere."""
        from dualgrad.files.graph_protos import VariableDef

        prefix = f"{export_scope}/" if export_scope else ""
        if not self.name.startswith(prefix):
            return None
        names = [x.name.removeprefix(prefix) for x in (self._handle, self._initializer, self._element, self._initial)]
        return VariableDef(
            variable_name=names[0], initializer_name=names[1], snapshot_name=names[2], initial_value_name=names[3],
            is_resource=True, trainable=self.trainable,
        )  # fmt: skip

    # ---- what the engine asks ----------------------------------------------------------------------------------------

    @property
    def aval(self) -> Aval:
        """Shape and dtype."""
        return self._handle.aval

    @property
    def handle(self) -> Tensor:
        """The tensor by which tapes and gradients identify the variable."""
        return self._handle

    def _ref(self) -> Tensor:
        return self._handle

    def read_value(self) -> Tensor:
        """The value at this point: after assignments made before it was asked for, and after control dependencies."""
        graph = self.graph
        now = self._assignments + graph.flow_assignments
        # (a read that a branch has made has a value only there)
        made_in = self._snapshot.node.context
        if self._snapshot_at != now or made_in not in (None, graph.context) or graph.current_control_inputs():
            out = self._fresh()
            if not graph.current_control_inputs():
                self._snapshot, self._snapshot_at = out, now
        else:
            out = self._snapshot
        record_read(self, read_variable, (self._handle,), out)
        return out

    def new_slot(self, name: str, initial_value: Any, below: bool = True) -> Variable:
        """A non-trainable variable beside this one, for an optimizer's state.

        Its name stands below this one's, and that below the open variable scope, by which checkpoints know it.
        """
        opened = self.graph.get_collection(VARIABLE_SCOPES)[-1:]
        prefix = "".join(f"{each.name}/" for each in opened if each.name)
        scope = self.graph.name_scope(f"{prefix}{self.op.name}/") if below else nullcontext()
        with self.graph.as_default(), scope:
            return Variable(initial_value, trainable=False, name=name)

    # ---- what users ask ----------------------------------------------------------------------------------------------

    @property
    def graph(self) -> Graph:
        """The graph it belongs to."""
        return self._handle.graph

    @property
    def op(self) -> Operation:
        """The operation that stands for it."""
        return self._handle.op

    @property
    def device(self) -> str:
        """As requested; everything runs on this machine's CPU."""
        return self.op.device

    @property
    def initializer(self) -> Operation:
        """The operation that sets it to its initial value."""
        return self._initializer

    @property
    def initial_value(self) -> Tensor:
        """The tensor it is initialized with."""
        return self._initial

    @property
    def shape(self) -> GraphShape:
        """The shape."""
        return GraphShape(self.aval.shape)

    def get_shape(self) -> GraphShape:
        """The shape."""
        return self.shape

    def value(self) -> Tensor:
        """The value as a tensor."""
        return self.read_value()

    def initialized_value(self) -> Tensor:
        """The initial value, for use in other variables' initializers."""
        return self._initial

    def _as_graph_element(self) -> Tensor:
        return self._element

    def _data(self, value: Any, what: str) -> Array:
        """A value that is no tensor, as an array of the variable's dtype."""
        array = cast_data(value, self.dtype)
        return as_array(value, self.dtype, f"{what}: variable {self.name!r}") if array is None else array

    def _change(self, delta: Any, what: str) -> Operand:
        """A summand to add or subtract, which must have the variable's shape."""
        change: Operand = delta if isinstance(delta, Value) else self._data(delta, what)
        have, own = shape_of(change), self._handle.aval.shape

        def require(have: Shape) -> None:
            if not compatible(have, own):
                raise ShapeError(
                    f"{what}: the variable {self.name!r} has shape {format_shape(own)}, the value to apply "
                    f"{format_shape(have)}"
                )

        require(have)
        if own is None or (have is not None and None not in have):
            return change
        return checked_op(change, shape_of_value(change), check=lambda dims: require(tuple(dims.tolist())))

    def _assigned(self, value: Any, name: str) -> Tensor:
        """Add an assignment of `value`, among the variable's operations, and a read that follows it, named `name`."""
        graph = self.graph
        if not isinstance(value, Value):
            value = self._data(value, "assign")
        elif isinstance(value, EngineVariable):
            value = value.read_value()
        with graph.name_scope(f"{self.op.name}/"):
            written = graph.apply(assign_variable, (self._handle, graph.operand(value)), {}, name="Assign")
        self._assignments += 1
        with graph.control_dependencies([written.op]):
            return graph.apply(read_variable, (self._handle,), {}, name=name)

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Tensor:
        """An operation that sets the value; as a tensor, the new value.

        Raises
        ------
        ValueError, TypeError
            If shape or dtype does not fit.
        """
        return _done(self._assigned(value, name or "Assign"), read_value)

    def assign_add(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Tensor:
        """An operation that adds to the value; as a tensor, the new value.

        Raises
        ------
        ValueError, TypeError
            If `delta` has not the variable's shape or dtype.
        """
        changed = self._assigned(self._fresh() + self._change(delta, "assign_add"), name or "AssignAdd")
        return _done(changed, read_value)

    def assign_sub(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Tensor:
        """An operation that subtracts from the value; as a tensor, the new value."""
        changed = self._assigned(self._fresh() - self._change(delta, "assign_sub"), name or "AssignSub")
        return _done(changed, read_value)

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Whether it has a value when the run begins, as a bool scalar."""
        return is_variable_initialized(self)

    def count_up_to(self, limit: int) -> Tensor:
        """The value, which is 1 more afterwards; OutOfRangeError when it is `limit`."""
        counted: Tensor = self.graph.count_up_to(self, limit)
        return counted

    def assign_rows(self, rows: IndexedSlices, name: str | None = None) -> Tensor:
        """An operation that replaces rows; as a tensor, the new value.

        The session writes the rows where they belong, if nothing in the same run needs the new value as a whole.
        """
        return self._assigned(replaced(self._fresh(), rows), name or "AssignRows")

    def _fresh(self) -> Tensor:
        """The value at this point, whatever happened before."""
        with self.graph.name_scope(f"{self.op.name}/"):
            return self.graph.apply(read_variable, (self._handle,), {}, name="read")

    def eval(self, session: Any = None) -> Operand:
        """The value in `session` or in the default session."""
        return self._handle.eval(session=session)

    def load(self, value: Any, session: Any = None) -> None:
        """Set the value in `session` or in the default session at once."""
        self.initializer.run({self.initializer.inputs[1]: value}, session)

    def ref(self) -> Variable:
        """Itself: variables of a graph are hashable."""
        return self

    def __iter__(self) -> NoReturn:
        raise TypeError(f"variable {self.name!r} is not iterable; use tf.unstack")

    def __bool__(self) -> bool:
        return bool(self.read_value())

    def __float__(self) -> float:
        return float(self.read_value())

    def __int__(self) -> int:
        return int(self.read_value())

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        declined = not_an_array(sys._getframe(1))
        if declined is not None:
            return declined
        raise SymbolicArrayError(f"variable {self.name!r} has no array outside a session; fetch it with Session.run")

    def __hash__(self) -> int:
        return id(self)

    def __deepcopy__(self, memo: Any) -> NoReturn:
        raise NotImplementedError(
            f"variable {self.name!r} of a graph cannot be copied; make another one of its `initialized_value()`"
        )

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}_ref>"


def _output(name: str) -> str:
    """The name of a tensor; without an index, of the first output."""
    return name if ":" in name else f"{name}:0"


# ---- sets of variables -----------------------------------------------------------------------------------------------


def global_variables(scope: str | None = None) -> list[Variable]:
    """All variables of the default graph."""
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def local_variables(scope: str | None = None) -> list[Variable]:
    """The variables in the LOCAL_VARIABLES collection."""
    return get_default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Variable]:
    """The variables in the MODEL_VARIABLES collection."""
    return get_default_graph().get_collection(GraphKeys.MODEL_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Variable]:
    """The variables of which a moving average is kept."""
    return get_default_graph().get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Variable]:
    """The variables that optimizers train by default, in the order of creation."""
    return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def variables_initializer(var_list: Sequence[Variable], name: str = "init") -> Operation:
    """An operation that initializes the given variables."""
    graph = var_list[0].graph if var_list else get_default_graph()
    return graph.group([v.initializer for v in var_list], name)


def global_variables_initializer() -> Operation:
    """An operation that initializes all variables made so far."""
    return variables_initializer(global_variables())


def local_variables_initializer() -> Operation:
    """An operation that initializes all local variables made so far."""
    return variables_initializer(local_variables())


def tables_initializer(name: str = "init_all_tables") -> Operation:
    """An operation that initializes all hash tables: there are none here, so it does nothing."""
    return get_default_graph().group([], name)


def is_variable_initialized(variable: Variable) -> Tensor:
    """Whether a variable has a value when a run begins, as a boolean tensor."""
    return variable.graph.apply(variable_is_initialized, (variable.handle,), {}, name="IsVariableInitialized")


def report_uninitialized_variables(
    var_list: Sequence[Variable] | None = None, name: str = "report_uninitialized_variables"
) -> Tensor:
    """The names of the variables that have no value when a run begins: a vector of strings.

    Parameters
    ----------
    var_list : sequence of Variable, optional
        By default all global and local variables.
    name : str
        Scope of the new operations.
    """
    variables = [*global_variables(), *local_variables()] if var_list is None else list(var_list)
    graph = get_default_graph()
    with graph.name_scope(name):
        names = graph.operand(np.array([v.op.name.encode() for v in variables], object))
        if not variables:
            return graph.operand(identity(names))
        without = logical_not(stack([is_variable_initialized(v) for v in variables]))
        return graph.operand(boolean_mask(names, without))


def _variable(name: str, ref: Any) -> Variable:
    if not hasattr(ref, name):
        raise TypeError(f"{name}: argument `ref` must be a variable, got {ref!r}")
    return ref


def assign(
    ref: Variable, value: Any, validate_shape: Any = None, use_locking: Any = None, name: str | None = None
) -> Tensor:
    """Set a variable; see `Variable.assign`."""
    return _variable("assign", ref).assign(value, name=name)


def assign_add(ref: Variable, value: Any, use_locking: Any = None, name: str | None = None) -> Tensor:
    """Add to a variable; see `Variable.assign_add`."""
    return _variable("assign_add", ref).assign_add(value, name=name)


def assign_sub(ref: Variable, value: Any, use_locking: Any = None, name: str | None = None) -> Tensor:
    """Subtract from a variable; see `Variable.assign_sub`."""
    return _variable("assign_sub", ref).assign_sub(value, name=name)
