"""Variables of the tape API: a value that is assigned to, at once."""

from __future__ import annotations

import itertools
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from operator import attrgetter, setitem
from typing import TYPE_CHECKING, Any

import numpy as np

from dualgrad.frontend.eager_scopes import name_scope, scoped
from dualgrad.platform.replicas import first_of
from engine.core.aval import Aval, Shape, compatible, format_shape, normalize_shape
from engine.core.detach import assigned, looked_at, shown
from engine.core.dtypes import DType
from engine.core.eager import EagerTensor, InMemory, array_text, in_c
from engine.core.lazy_tensor import LazyTensor
from engine.core.nest import LEAVES
from engine.core.op import Op
from engine.core.operands import Arithmetic, Array, Operand, Results
from engine.core.structural import contiguous
from engine.core.tape import active, record_read, unrecorded
from engine.core.variable import checked_constraint, read_variable
from engine.numpy_api.manners import missing
from engine.ops.arithmetic import add, subtract
from engine.ops.indexed_slices import IndexedSlices
from engine.ops.row_assignment import AssignsRows, replaced
from engine.ops.scatter import check_entries, entries_at
from engine.runtime.buffer_pool import empty, is_whole
from engine.runtime.commit import Lock, commit, exclusively
from engine.runtime.errors import DTypeError, ShapeError
from tape_api.tensor import convert_to_tensor

_serials = itertools.count()
"""The order in which variables are made; of two that threads make at once either may be first."""


def _in_order(array: Any) -> Operand:
    """The array in C order: what a variable holds is, in every mode, so that sums of it are rounded alike."""
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def _own(tensor: EagerTensor) -> EagerTensor:
    """A tensor of a variable's own, with the contents of another one."""
    if type(tensor) is LazyTensor and type(own := unrecorded(contiguous, tensor)) is LazyTensor:
        return own
    array = _in_order(tensor._array)
    own = EagerTensor(array)
    if active.function is not None:
        active.function.copied(read_variable if array is tensor._array else contiguous, tensor, own)
    return own


if TYPE_CHECKING:

    class _Base(Arithmetic[EagerTensor], AssignsRows):  # type: ignore[misc]  # of variables it is another one
        __slots__ = ()

else:
    _Base = AssignsRows


class Variable(InMemory, _Base):  # type: ignore[misc]
    """A value that changes by assignment.

    Parameters
    ----------
    initial_value : tensor, array, Python data, or callable returning one
    trainable : bool
        Whether tapes watch the variable when it is read.
    validate_shape : bool
        If False, the shape may change with assignments.
    caching_device, variable_def, import_scope, synchronization, aggregation, experimental_enable_variable_lifting
        Accepted for compatibility and ignored.
    name : str, optional
    dtype : DType, optional
        By default that of the initial value.
    constraint : callable, optional
        Kept as an attribute; optimizers apply it to the value after an update.
    shape : shape, optional
        The shape that assigned values must fit, by default the initial value's. Dimensions of None may vary.

    Raises
    ------
    ValueError
        If there is no initial value, or it does not fit `shape` or `dtype`.

    Examples
    --------
    >>> v = Variable([1.0, 2.0], name="v")
    >>> v.assign_add([1.0, 1.0])
    <tf.Variable 'v:0' shape=(2,) dtype=float32, numpy=array([2., 3.], dtype=float32)>
    """

    __slots__ = (
        "__dict__", "__weakref__", "_aside", "_dtype", "_fits", "_name", "_tensor", "constraint", "locks", "serial",
        "trainable",
    )  # fmt: skip

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        import_scope: Any = None,
        constraint: Any = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: Any = None,
        experimental_enable_variable_lifting: bool = True,
    ) -> None:
        if initial_value is None:
            raise ValueError("Variable: argument `initial_value` must be given")
        if callable(initial_value):
            initial_value = initial_value()
        self._name = scoped(name or "Variable")
        self.serial = next(_serials)
        self.trainable = True if trainable is None else bool(trainable)
        self.constraint = checked_constraint(constraint)
        initial = unrecorded(convert_to_tensor, initial_value, dtype)
        if active.region is not None:
            initial = active.region.computed_at_once(initial)
        self._dtype: DType = initial.dtype
        self._fits: Shape = normalize_shape(shape) if shape is not None else initial._shape if validate_shape else None
        if not compatible(self._fits, initial._shape):
            raise ShapeError(
                f"Variable {self.name!r}: the initial value has shape {format_shape(initial._shape)}, which does not "
                f"fit argument `shape` {format_shape(self._fits)}"
            )
        if active.function is not None:
            active.function.make_variable()
        self.locks = (Lock(),)
        self._aside: Any = None
        self._tensor = EagerTensor(_in_order(first_of(initial._array)))

    # ---- what the engine asks ----------------------------------------------------------------------------------------

    @property
    def aval(self) -> Aval:
        """Shape (as declared) and dtype."""
        return Aval(self._fits, self._dtype)

    @property
    def handle(self) -> Variable:
        """The variable itself: tapes and gradients identify it by that."""
        return self

    def _snapshot(self) -> EagerTensor:
        """The current value as the tensor that ops work on. Users never hold it, so they cannot watch it by mistake."""
        tensor = self._tensor
        if active.tapes:
            if active.region is not None:
                return active.region.read(self)
            record_read(self, read_variable, (self,), tensor)
        return tensor

    def _enter(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Results:
        for x in inputs:
            if type(x) is not EagerTensor and type(x) is not Variable:
                return super()._enter(op, inputs, params)
        read = tuple([x if type(x) is EagerTensor else x._snapshot() for x in inputs])
        return op(*read, **params) if active.region is not None else read[0]._enter(op, read, params)

    def _bind(self, op: Op, inputs: tuple[Any, ...], params: dict[str, Any]) -> Operand:
        return op(*[_operand(x) for x in inputs], **params)

    def read_value(self) -> EagerTensor:
        """The current value; assignments do not change it afterwards."""
        tensor = EagerTensor(self._tensor._array)
        if active.tapes:
            if active.region is not None:
                return active.region.read(self)
            record_read(self, read_variable, (self,), tensor)
        return tensor

    def new_slot(self, name: str, initial_value: Any, below: bool = True) -> Variable:
        """A non-trainable variable beside this one, for an optimizer's state; its name stands below this one's.

        A saver numbers slots of one name, as a graph does: ``w/Adam``, ``w/Adam_1``.
        """
        with name_scope(""):
            made = Variable(initial_value, trainable=False, name=f"{self._name}/{name}" if below else name)
        if below:
            numbers = vars(self).setdefault("_slot_numbers", {})
            number = numbers[name] = numbers.get(name, -1) + 1
            vars(made)["saved_as"] = f"{self._name}/{name}" + f"_{number}" * bool(number)
        return made

    # ---- reading -----------------------------------------------------------------------------------------------------

    value = read_value
    initialized_value = read_value

    @property
    def name(self) -> str:  # type: ignore[override]
        """The name given, followed by ``:0``. Names need not differ."""
        return f"{self._name}:0"

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self._dtype

    @property
    def _shape(self) -> Shape:
        return self._fits

    @property
    def _array(self) -> Any:
        return self._tensor._array

    def eval(self, session: Any = None) -> Array:
        """The current value, as `numpy` gives it."""
        looked_at(self)
        return self._tensor.numpy()

    def set_shape(self, shape: Any) -> None:
        """Raise unless `shape` fits; narrows a declared shape with unknown dimensions."""
        self._fits = self.shape.merge_with(shape).as_tuple()

    # ---- assigning ---------------------------------------------------------------------------------------------------

    def assign(
        self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Variable | None:
        """Set the value.

        Parameters
        ----------
        value : tensor, array or Python data
            Of the variable's dtype and shape.
        use_locking, name
            Accepted for compatibility.
        read_value : bool
            Whether to return the variable (else None).

        Raises
        ------
        ValueError
            If shape or dtype do not fit; the message names the variable, which keeps its value.
        """
        if active.region is not None:
            active.region.assign(self, unrecorded(convert_to_tensor, value, self._dtype))
            return self if read_value else None
        tensor = self._fitting(value)
        exclusively(self.locks, setattr, self, "_tensor", tensor)
        if active.tapes:
            assigned(self, value, tensor)
        return self if read_value else None

    def assign_add(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Variable:
        """Add `delta`, of the variable's shape and dtype."""
        return self._update(add, delta, "assign_add", read_value)

    def assign_sub(
        self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Variable:
        """Subtract `delta`, of the variable's shape and dtype."""
        return self._update(subtract, delta, "assign_sub", read_value)

    def _update(self, op: Op, delta: Any, what: str, read_value: bool) -> Any:
        if active.region is not None:
            active.region.assign(self, unrecorded(lambda: op(self.read_value(), self._converted(delta, what))))
            return self if read_value else None
        tensor = exclusively(self.locks, self._updated, op, self._converted(delta, what), what)
        if active.tapes:
            assigned(self, delta, tensor)
        return self if read_value else None

    def _updated(self, op: Op, change: EagerTensor, what: str) -> EagerTensor:
        if change._shape != self._tensor._shape:
            raise ShapeError(
                f"{what}: the variable {self.name!r} has shape {format_shape(self._tensor._shape)}, the value to apply "
                f"{format_shape(change._shape)}"
            )
        self._note_old()
        self._tensor = tensor = unrecorded(lambda: op(self._snapshot(), change))
        return tensor

    def _note_old(self) -> None:
        if active.function is not None:
            active.function.before.setdefault(id(self), (self, self._tensor))

    def assign_rows(self, rows: IndexedSlices, name: str | None = None) -> Variable:
        """Replace rows: where they are, if nobody else holds the value, so that the cost is that of the rows.

        Raises
        ------
        ValueError
            If the rows do not fit; the variable keeps its value.
        """
        if active.region is not None:
            return self.assign(unrecorded(replaced, self, rows))  # type: ignore[return-value]
        if active.function is not None:
            return exclusively(self.locks, lambda: self.assign(unrecorded(replaced, self, rows)))  # type: ignore[return-value]
        exclusively(self.locks, lambda: commit(self.writes(rows)))
        if active.tapes:
            assigned(self, rows.values, rows)
        return self

    def writes(self, value: Any) -> list[tuple[Any, ...]]:
        """The write that sets the variable to a tensor, or its rows to an `IndexedSlices`. It holds the lock."""
        if not isinstance(value, IndexedSlices):
            return [(setattr, self, "_tensor", self._fitting(value))]
        values = self._converted(value.values, f"assigning to rows of variable {self.name!r}")._array
        return self.entry_writes(convert_to_tensor(value.indices)._array[..., None], values)

    def entry_writes(self, indices: Array, entries: Array) -> list[tuple[Any, ...]]:
        """The write that sets the entries at index vectors. It holds the lock."""
        check_entries(f"assigning to rows of variable {self.name!r}", self._tensor._array, indices, entries)
        # nobody finds the value from here on; who looks for it waits for the lock
        self._aside = self._tensor
        del self._tensor
        if _is_only_holder(self):
            rows = [
                (setitem, self._aside._array, entries_at(indices), entries),
                (setattr, self, "_tensor", self._aside),
            ]
        else:
            whole = self._aside._array.copy()
            whole[entries_at(indices)] = entries
            rows = [(setattr, self, "_tensor", EagerTensor(whole))]
        return [*rows, (setattr, self, "_aside", None)]

    def renewal(self) -> tuple[np.ndarray, np.ndarray, list[tuple[Any, ...]]]:
        """The value; memory for a new one; and the writes that make it the value, with the lock held until then.

        The memory is that of the old value if nobody else holds it. Meanwhile nobody finds the value.
        """
        self._aside = self._tensor
        del self._tensor
        if _is_only_holder(self):
            old, tensor = self._aside._array, self._aside
        else:
            old = self._aside._array
            tensor = EagerTensor(empty(old.shape, old.dtype))
        return old, tensor._array, [(setattr, self, "_tensor", tensor), (setattr, self, "_aside", None)]

    @staticmethod
    def arrays(variables: Sequence[Any]) -> list[Any]:
        """The arrays that variables hold."""
        return list(map(_ARRAY, variables))

    @staticmethod
    def tensors(variables: Sequence[Any]) -> list[Any]:
        """The tensors that variables hold."""
        return [v._tensor for v in variables]

    @staticmethod
    def replacement(variables: Sequence[Any], arrays: Sequence[Any]) -> tuple[Any, ...]:
        """The write that sets variables to arrays of their shapes and dtypes, which nobody else holds."""
        tensors = list(map(EagerTensor, arrays))
        return deque, map(setattr, variables, itertools.repeat("_tensor"), tensors), 0

    if not TYPE_CHECKING:  # for a type checker there would be any attribute

        def __getattr__(self, name: str) -> Any:
            if name == "_tensor":
                return exclusively(self.locks, self._put_back)
            said = missing(self, name)
            if said is not None:
                raise said
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _put_back(self) -> EagerTensor:
        """The value, put back if whoever put it aside was interrupted."""
        try:
            return _TENSOR.__get__(self)
        except AttributeError:
            self._tensor = self._aside
            return self._tensor

    def _fitting(self, value: Any) -> EagerTensor:
        """A tensor of the variable's own, if the value is of a dtype and shape that it may have."""
        self._note_old()
        if type(value) is EagerTensor and value._array.dtype is self._dtype.numpy and value._shape == self._fits:
            return _own(value)
        tensor = self._converted(value, "assign")
        if not compatible(self._fits, tensor._shape):
            raise ShapeError(
                f"assign: the variable {self.name!r} has shape {format_shape(self._fits)}, the value "
                f"{format_shape(tensor._shape)}"
            )
        return _own(tensor)

    def _converted(self, value: Any, what: str) -> EagerTensor:
        try:
            tensor: EagerTensor = unrecorded(convert_to_tensor, value, self._dtype)
        except DTypeError as error:
            raise DTypeError(f"{what}: the variable {self.name!r} has dtype {self._dtype.name}: {error}") from None
        return tensor

    # ---- Python's protocols ------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Any]:
        return iter(self.read_value())

    def __format__(self, spec: str) -> str:
        shown(self)
        return format(self._tensor, spec) if spec else repr(self)

    def __eq__(self, other: object) -> Any:
        return self.read_value() == other

    def __ne__(self, other: object) -> Any:
        return self.read_value() != other

    def __hash__(self) -> int:
        raise TypeError("Variable is unhashable, because == compares its elements; use variable.ref() as the key")

    def __copy__(self) -> Variable:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: Any) -> Variable:
        copied: Variable = _rebuilt(*self._parts())
        memo[id(self)] = copied
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, self._parts()

    def _parts(self) -> tuple[Any, ...]:
        looked_at(self)
        return self._tensor, self.trainable, self._name, self._fits

    def __repr__(self) -> str:
        shown(self)
        return (
            f"<tf.Variable {self.name!r} shape={format_shape(self._fits)} dtype={self._dtype.name}, "
            f"numpy={array_text(self._tensor._array)}>"
        )


_ARRAY = attrgetter("_tensor._array")
_TENSOR: Any = Variable.__dict__["_tensor"]


class _Holder:
    """Holds a tensor and its array as a variable does that has put its value aside, which nobody else holds."""

    __slots__ = ("_aside",)

    def __init__(self) -> None:
        self._aside = EagerTensor(np.zeros(1))


def _holders(variable: Any) -> tuple[int, int]:
    """How many references there are to the tensor put aside, and to its array."""
    return sys.getrefcount(variable._aside), sys.getrefcount(variable._aside._array)


_ALONE = _holders(_Holder())


def _is_only_holder(variable: Variable) -> bool:
    """Whether neither tensors nor tapes nor views share the memory of the value that a variable has put aside."""
    array = variable._aside._array
    owned = is_whole(array) and array.flags.writeable
    del array
    return owned and _holders(variable) == _ALONE


LEAVES.add(Variable)
if in_c:
    in_c.setup_variable(Variable)


def _operand(x: Any) -> Operand:
    if isinstance(x, Variable):
        return x._snapshot()
    return EagerTensor(x) if isinstance(x, (np.ndarray, np.generic)) else x


def _rebuilt(tensor: EagerTensor, trainable: bool, name: str, shape: Shape) -> Variable:
    return Variable(tensor, trainable=trainable, name=name, shape=shape, validate_shape=shape is not None)
