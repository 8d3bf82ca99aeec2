"""How the contributions to one gradient are added up, where a value is used several times."""

from __future__ import annotations

from typing import Any

from engine.core.operands import Operand
from engine.ops.arithmetic import add
from engine.ops.indexed_slices import IndexedSlices
from engine.runtime.errors import InvalidArgumentError


class AggregationMethod:
    """The order of a sum of n contributions, which decides its rounding error and what is held meanwhile.

    Contributions come from the last use of a value to the first. They are added up as they come, whatever the method,
    so none of them is held until the others are there.

    Attributes
    ----------
    ADD_N, DEFAULT
        One after the other: one partial sum is held, and the rounding error grows as n.
    EXPERIMENTAL_ACCUMULATE_N
        The same sum. (TensorFlow holds all contributions for ADD_N and only the sum for this one.)
    EXPERIMENTAL_TREE
        In pairs, then pairs of pairs: about log₂ n partial sums are held, and the rounding error grows as log n.

    References
    ----------
    Higham (1993), *The accuracy of floating point summation*, SIAM J. Sci. Comput. 14, section 3: the bounds.
    """

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def is_pairwise(method: Any, name: str) -> bool:
    """Whether a method adds in pairs; for none an InvalidArgumentError names the function that it was given to."""
    if method is not None and (isinstance(method, bool) or method not in (0, 1, 2)):
        raise InvalidArgumentError(
            f"{name}: argument `aggregation_method` must be an AggregationMethod, got {method!r}"
        )
    return method == AggregationMethod.EXPERIMENTAL_TREE


def total(previous: Any, contribution: Any) -> Operand | IndexedSlices:
    """The sum of two cotangents; of rows it stays rows."""
    if type(previous) is IndexedSlices and type(contribution) is IndexedSlices:
        return previous.plus(contribution)
    return add(dense(previous), dense(contribution))


def dense(cotangent: Any) -> Operand | None:
    """A cotangent whose rows, if it consists of rows, stand in a whole."""
    return cotangent.dense() if type(cotangent) is IndexedSlices else cotangent


class PairwiseSum:
    """A sum that is added up in pairs while its contributions come, the first of which is given.

    It holds a partial sum for each binary digit 1 of how many there are; a contribution is added as 1 is added to a
    binary number.
    """

    __slots__ = ("_parts",)

    def __init__(self, first: Any) -> None:
        self._parts = [(1, first)]

    def plus(self, contribution: Any) -> PairwiseSum:
        """This sum, with one more contribution."""
        count = 1
        while self._parts and self._parts[-1][0] == count:
            contribution = total(self._parts.pop()[1], contribution)
            count *= 2
        self._parts.append((count, contribution))
        return self

    def value(self) -> Operand:
        """The sum, the smallest partial sums first."""
        *others, (_, result) = self._parts
        for _, part in reversed(others):
            result = total(part, result)
        return result


def value_of(cotangent: Any) -> Operand | None:
    """A cotangent, of a sum in pairs its value."""
    return cotangent.value() if type(cotangent) is PairwiseSum else cotangent
