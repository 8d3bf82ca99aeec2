"""Inputs that a layer takes: `InputSpec`, which a layer keeps as ``input_spec`` and `__call__` checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.core import nest
from engine.core.dtypes import as_dtype
from engine.core.value import dtype_of, shape_of


class InputSpec:
    """The dtype, rank and shape of an input of a layer.

    Parameters
    ----------
    dtype : DType or str, optional
    shape : shape, optional
        With None for dimensions of any size.
    ndim, max_ndim, min_ndim : int, optional
        The rank, or its limits.
    axes : dict of int to int, optional
        Sizes of some axes.
    allow_last_axis_squeeze : bool
        Whether a last dimension of 1 may be missing, or be there besides.
    name : str, optional
        The key of the input, where a layer takes a dict.
    optional : bool
        Whether None may be given for it.

    Raises
    ------
    ValueError
        If an axis is beyond the rank.

    Examples
    --------
    >>> InputSpec(ndim=3, axes={-1: 4})
    InputSpec(ndim=3, axes={-1: 4})
    """

    def __init__(
        self, dtype: Any = None, shape: Any = None, ndim: int | None = None, max_ndim: int | None = None,
        min_ndim: int | None = None, axes: Mapping[Any, Any] | None = None, allow_last_axis_squeeze: bool = False,
        name: str | None = None, optional: bool = False,
    ) -> None:  # fmt: skip
        self.dtype = None if dtype is None else as_dtype(dtype).name
        self.shape = None if shape is None else tuple([None if d is None else int(d) for d in shape])
        self.ndim = ndim if self.shape is None else len(self.shape)
        self.max_ndim, self.min_ndim, self.name, self.optional = max_ndim, min_ndim, name, optional
        self.allow_last_axis_squeeze = allow_last_axis_squeeze
        self.axes = {int(k): v for k, v in (axes or {}).items()}
        limits = [d for d in (self.ndim, self.max_ndim) if d is not None]
        if self.axes and limits and max(self.axes) > limits[0] - 1:
            raise ValueError(f"Axis {max(self.axes)} is greater than the maximum allowed value: {limits[0] - 1}")

    def __repr__(self) -> str:
        said: dict[str, Any] = {"dtype": self.dtype, "shape": self.shape, "ndim": self.ndim, "max_ndim": self.max_ndim}
        said |= {"min_ndim": self.min_ndim, "axes": self.axes}
        return f"InputSpec({', '.join(f'{name}={value}' for name, value in said.items() if value)})"

    def get_config(self) -> dict[str, Any]:
        """The arguments that make an equal one."""
        names = ("dtype", "shape", "ndim", "max_ndim", "min_ndim", "axes", "optional")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> InputSpec:
        """The one that `get_config` describes."""
        return cls(**config)

    def _misfit(self, x: Any) -> str | None:
        """The reason why an input does not fit; None if it does."""
        shape = shape_of(x)
        if shape is not None:
            rank = len(shape)
            if self.ndim is not None and rank != self.ndim and not self.allow_last_axis_squeeze:
                return f"expected ndim={self.ndim}, found ndim={rank}. Full shape received: {shape}"
            if self.max_ndim is not None and rank > self.max_ndim:
                return f"expected max_ndim={self.max_ndim}, found ndim={rank}"
            if self.min_ndim is not None and rank < self.min_ndim:
                return f"expected min_ndim={self.min_ndim}, found ndim={rank}. Full shape received: {shape}"
        if self.dtype is not None and dtype_of(x).name != self.dtype:
            return f"expected dtype={self.dtype}, found dtype={dtype_of(x).name}"
        if shape is None:
            return None
        for axis, value in self.axes.items():
            if value is not None and -len(shape) <= axis < len(shape) and shape[axis] not in (value, None):
                return (
                    f"expected axis {axis} of input shape to have value {value}, but received input with shape {shape}"
                )
        if self.shape is not None:
            wanted, found = self.shape, shape
            if self.allow_last_axis_squeeze:
                wanted, found = (s[:-1] if s and s[-1] == 1 else s for s in (wanted, found))
            if any(None not in pair and pair[0] != pair[1] for pair in zip(wanted, found, strict=False)):
                return f"expected shape={self.shape}, found shape={shape}"
        return None


def check_inputs(specs: Any, inputs: Any, layer: str) -> None:
    """See that the inputs of a layer are what its ``input_spec`` says.

    Raises
    ------
    ValueError
        If they are not: the layer, the input, what was expected and what came.
    """
    wanted = list(nest.flatten(specs))
    if isinstance(inputs, dict) and all(spec.name is not None for spec in wanted):
        missing = [spec.name for spec in wanted if spec.name not in inputs and not spec.optional]
        if missing:
            raise ValueError(
                f'Missing data for input "{missing[0]}". You passed a data dictionary with keys {list(inputs)}. '
                f"Expected the following keys: {[spec.name for spec in wanted]}"
            )
        given = [inputs.get(spec.name) for spec in wanted]
    else:
        given = list(nest.flatten(inputs))
    if len(given) != len(wanted):
        raise ValueError(
            f'Layer "{layer}" expects {len(wanted)} input(s), but it received {len(given)} input tensors. Inputs '
            f"received: {given}"
        )
    for i, (x, spec) in enumerate(zip(given, wanted, strict=True)):
        if spec is None or (x is None and spec.optional):
            continue
        why = f"expected a tensor, found {x!r}" if not hasattr(x, "dtype") else spec._misfit(x)
        if why is not None:
            raise ValueError(
                f"Input {i} with name '{spec.name}' of layer '{layer}' is incompatible with the layer: {why}"
            )


__all__ = ["InputSpec"]
