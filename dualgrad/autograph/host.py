"""The interface of a front end that the operators of rewritten functions need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from engine.core.value import Value
from engine.ops import compare, filling, shape
from engine.ops.checked import checked_op

Thunk = Callable[[], Any]


class Host:
    """A front end, as the operators see it, with its public functions in `tf`."""

    tf: Any

    # ---- what a front end defines ------------------------------------------------------------------------------------

    def is_symbolic(self, x: Any) -> bool:
        """Whether `x` is a tensor whose contents may not be looked at."""
        raise NotImplementedError

    def is_recorded(self, x: Any) -> bool:
        """Whether `x` is a tensor of a function that is recorded, perhaps a constant."""
        return self.is_symbolic(x)

    def is_array(self, x: Any) -> bool:
        """Whether `x` is a TensorArray."""
        return isinstance(x, self.tf.TensorArray)

    def loops_over(self, x: Any) -> bool:
        """Whether a loop over the rows of `x` is one of the program."""
        return self.is_recorded(x) and x.aval.shape != ()

    def is_range(self, f: Any) -> bool:
        """Whether `f` is ``tf.range``."""
        return f is self.tf.range

    def tensor(self, x: Any, dtype: Any = None) -> Any:
        """The tensor that stands for a number, a tensor or a variable."""
        return self.tf.convert_to_tensor(x, dtype)

    def cond(self, pred: Any, true_fn: Thunk, false_fn: Thunk) -> Any:
        """The leaves that one of two functions returns."""
        return self.tf.cond(pred, true_fn, false_fn)

    def while_loop(self, cond: Any, body: Any, loop_vars: Any, shape_invariants: Any, maximum_iterations: Any) -> Any:
        """The leaves after a loop."""
        raise NotImplementedError

    def scanned(self, step: Callable[[Any, Any], Any], state: Any, rows: Any) -> Any:
        """The state after ``state = step(state, row)`` for each row."""
        raise NotImplementedError

    def recorded(self) -> int:
        """How many operations the function has recorded that Python runs now."""
        return 0

    def rolled(self, step: Callable[..., Any], numbers: range, state: Any, body: Any) -> Any:
        """The state after ``state = step(number, *state)``, which calls a `body`, for each of some numbers of Python's.

        None: Python has to go through them.
        """

    def tried(self, function: Thunk) -> bool:
        """Call a function to see how its results look, and run nothing of it; False if that cannot be."""
        raise NotImplementedError

    def holds(self, condition: Any, message: str) -> None:
        """Raise an error, when the program runs, unless a condition holds."""
        raise NotImplementedError

    def refuse(self, why: str) -> None:
        """Note that the function runs as Python."""

    def apart(
        self, decides: Any, *functions: Callable[..., Any]
    ) -> AbstractContextManager[Sequence[Callable[..., Any]]]:
        """The functions of a branch or a loop that `decides`; if a tensor does, TensorFlow has a graph for each.

        That matters to random numbers: whether Python or the program runs them, operations around count alike.
        """
        return nullcontext(functions)

    def truth(self, x: Any, loop: bool = False) -> bool:
        """Whether Python takes `x` for true, as the condition of a branch or of a `loop`."""
        return bool(x)

    # ---- what is the same in both ------------------------------------------------------------------------------------

    def is_leaf(self, x: Any) -> bool:
        """Whether `x` can be the result of a branch: a tensor, a number, a TensorArray."""
        return isinstance(x, (Value, bool, int, float, complex)) or self.is_array(x)

    def leaf(self, x: Any) -> Any:
        """The value that goes through the program for a leaf."""
        return x if self.is_array(x) else self.tensor(x)

    def zeros(self, dims: Sequence[int], dtype: Any) -> Any:
        """A tensor of zeros."""
        return self.tensor(filling.zeros(list(dims), dtype))

    def length(self, x: Any) -> int | None:
        """The number of rows of a tensor, if it is known."""
        dims = x.aval.shape
        return None if dims is None else dims[0]

    def size(self, x: Any) -> Any:
        """The number of rows of a tensor, as a tensor."""
        return shape.shape(x)[0]

    def unstack(self, x: Any) -> Iterable[Any]:
        """The rows of a tensor of known length."""
        length = self.length(x)
        return x if length is None else [x[i] for i in range(length)]

    def logical_not(self, x: Any) -> Any:
        """``not x``."""
        return compare.logical_not(x)

    def equal(self, a: Any, b: Any) -> Any:
        """Whether elements are equal."""
        return compare.equal(a, b)

    def range_of(self, start: Any, limit: Any, step: Any) -> Any:
        """The numbers of a range, as a tensor."""
        return filling.range(start, limit, step)

    def checked(self, x: Any, condition: Any, check: Callable[[Any], None]) -> Any:
        """`x`; when the program runs, `check` is given the contents of a condition."""
        return checked_op(x, condition, check=check)

    def builtin(self, function: Any) -> Any:
        """The function that stands for a builtin one, for tensors too."""
        if function is range:
            return lambda *args: filling.range(*args) if any(map(self.is_symbolic, args)) else range(*args)
        if function is len:
            return self._length_of
        return function

    def _length_of(self, x: Any) -> Any:
        is_open = isinstance(x, Value) and self.is_symbolic(x) and x.aval.shape != () and self.length(x) is None
        return self.size(x) if is_open else len(x)
