"""The errors the project raises. Few classes, named as TensorFlow names them.

Every message names the op, the argument, what was expected and what came. Classes that two front ends report
differently in TensorFlow (a ``ValueError`` while a graph is built, an ``InvalidArgumentError`` when it runs) are one
class here that is both, so that ``except`` clauses written for either keep working.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

OK, CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED = range(8)
RESOURCE_EXHAUSTED, FAILED_PRECONDITION, ABORTED, OUT_OF_RANGE, UNIMPLEMENTED, INTERNAL, UNAVAILABLE = range(8, 15)
DATA_LOSS, UNAUTHENTICATED = 15, 16
"""Numbers of the kinds of errors, as gRPC has them."""


class OpError(Exception):
    """Base of the errors that concern one op.

    Raised only through its subclasses. ``op`` is the graph operation at fault where there is one, else None.
    """

    code = UNKNOWN

    def __init__(self, message: Any, op: Any = None, *further: Any) -> None:
        if further:
            # programs that raise one write ``(node_def, op, message)``
            message, op = further[0], op if op is not None else message
        super().__init__(message)
        self.message = message
        self.op = op

    @property
    def error_code(self) -> int:
        """The number of this kind of error (`INVALID_ARGUMENT` and its like)."""
        return self.code

    @property
    def node_def(self) -> Any:
        """The operation at fault (TensorFlow's older name for it)."""
        return self.op


class InvalidArgumentError(OpError, ValueError):
    """An op got an argument it cannot work with (value, axis, index, unfed placeholder). Fix the argument named."""

    code = 3


class ShapeError(InvalidArgumentError):
    """Shapes do not fit together. The message shows the shapes; reshape or broadcast the argument named."""


class NotKnownYet(ShapeError):
    """A graph is built with something that only a run can know: a shape, or the contents of an argument.

    ``needs`` is the value whose contents are asked for; None if it is a shape. ``shape`` is what is known all the same
    of the shape of the result.
    """

    def __init__(self, message: str, needs: Any = None, shape: Any = None) -> None:
        super().__init__(message)
        self.needs, self.shape = needs, shape


class IndexOutOfRangeError(InvalidArgumentError, IndexError):
    """An index lies outside a tensor. Also an IndexError, so that Python's loops over a tensor come to an end."""


class DTypeError(InvalidArgumentError, TypeError):
    """Dtypes do not fit together; nothing is promoted silently. Cast the argument named with ``tf.cast``."""


class FailedPreconditionError(OpError):
    """Something must happen first, most often: a variable is read before its initializer has run."""

    code = 9


class ConvergenceError(OpError, ArithmeticError):
    """A solver has not found what it was asked for, so there is nothing to differentiate. It says what it tried."""


class DataLossError(OpError, ValueError):
    """A file is damaged: a checksum is wrong, it ends too early, or it is not what it should be. It is named."""

    code = 15


class ResourceExhaustedError(OpError, MemoryError):
    """Memory does not suffice for what was asked. The message says how large it is, and what is smaller."""

    code = 8

    @classmethod
    def of(cls, error: MemoryError, what: str) -> MemoryError:
        """The error that there is no memory for something, in place of NumPy's; one that says so already is itself."""
        return error if isinstance(error, OpError) else cls(f"{what}: {error or 'out of memory'}")


class UnimplementedError(OpError):
    """The op exists but not for these arguments. The message names the way out."""

    code = 12


def _kind(name: str, code: int, doc: str) -> type[OpError]:
    return type(name, (OpError,), {"code": code, "__doc__": doc, "__module__": __name__})


AlreadyExistsError = _kind("AlreadyExistsError", ALREADY_EXISTS, "Something to be made exists already.")
AbortedError = _kind("AbortedError", ABORTED, "An operation was given up. Named for ``except`` clauses alone.")
DeadlineExceededError = _kind("DeadlineExceededError", DEADLINE_EXCEEDED, "An operation took too long.")
InternalError = _kind("InternalError", INTERNAL, "Something is wrong inside.")
PermissionDeniedError = _kind("PermissionDeniedError", PERMISSION_DENIED, "Something is not allowed.")
UnavailableError = _kind("UnavailableError", UNAVAILABLE, "Something cannot be reached.")
UnknownError = _kind("UnknownError", UNKNOWN, "Something else.")
CancelledError = _kind("CancelledError", CANCELLED, "The operation was cancelled before it finished.")
NotFoundError = _kind("NotFoundError", NOT_FOUND, "Something asked for by name does not exist.")
OutOfRangeError = _kind("OutOfRangeError", OUT_OF_RANGE, "An iteration ran past its end.")


@contextmanager
def of_users_function(op: str, ended: type[OpError] | None = None) -> Iterator[None]:
    """Raise what a user's function raises inside as the error of the op that calls it, of the kind TensorFlow raises.

    Parameters
    ----------
    op : str
        Its public name.
    ended : type, optional
        What errors become that callers would take for the end of their own iteration. By default StopIteration becomes
        an OutOfRangeError, and an OutOfRangeError an UnknownError.
    """
    try:
        yield
    except (Exception, GeneratorExit) as error:
        if isinstance(error, OpError) and not isinstance(error, OutOfRangeError):
            raise
        kind = next((made for raised, made in _OF_PYTHON if isinstance(error, raised)), UnknownError)
        if ended is not None and isinstance(error, (StopIteration, OutOfRangeError)):
            kind = ended
        raise kind(f"{op}: {type(error).__name__}: {error}") from error


_OF_PYTHON: tuple[tuple[type[Exception], type[OpError]], ...] = (
    (TypeError, DTypeError), (ValueError, InvalidArgumentError), (StopIteration, OutOfRangeError),
    (MemoryError, ResourceExhaustedError), (NotImplementedError, UnimplementedError),
)  # fmt: skip


class OperatorNotAllowedInGraphError(TypeError):
    """A symbolic tensor was used where Python needs its value (``if``, ``for``, ``bool``, ``len``)."""


class SymbolicArrayError(TypeError, NotImplementedError):
    """NumPy needs the array of a value that has none yet. The message names the function to use in its place."""


class DetachError(TypeError):
    """A tensor became a plain array where its derivative is needed. The message names the line and what to use."""


class DetachWarning(UserWarning):
    """A tensor that a gradient tape follows became a plain array by NumPy's or SciPy's hand: its gradient ends there.

    Said once a line. ``warnings.simplefilter("error", DetachWarning)`` makes errors of it.
    """


class UnconnectedWarning(UserWarning):
    """A gradient is None that a tape with ``explain=True`` was asked for. The message says why."""


class RuleError(AssertionError):
    """A gradient rule returned something of the wrong shape or dtype. A defect in the op (or custom gradient) named."""
