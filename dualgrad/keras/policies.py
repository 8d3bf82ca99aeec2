"""In which dtypes layers compute, and keep their weights: ``tf.keras.mixed_precision.Policy``."""

from __future__ import annotations

from typing import Any

from dualgrad.keras.settings import floatx
from engine.core.dtypes import DType, as_dtype


class Policy:
    """A dtype for all, or ``"mixed_float16"``: products in float16, weights in float32.

    Parameters
    ----------
    name : str
        The name of a dtype, or "mixed_float16".

    Examples
    --------
    >>> policy = Policy("mixed_float16")
    >>> policy.compute_dtype, policy.variable_dtype
    ('float16', 'float32')
    """

    def __init__(self, name: Any) -> None:
        self._name = name if isinstance(name, str) else as_dtype(name).name
        if self._name == "mixed_bfloat16":
            raise NotImplementedError("mixed_precision: bfloat16 is not there; use 'mixed_float16' or 'float32'")
        is_mixed = self._name == "mixed_float16"
        self._compute = as_dtype("float16" if is_mixed else self._name)
        self._variable = as_dtype("float32" if is_mixed else self._name)

    @property
    def name(self) -> str:
        """The name given."""
        return self._name

    @property
    def compute_dtype(self) -> str:
        """In which layers compute."""
        return self._compute.name

    @property
    def variable_dtype(self) -> str:
        """Of weights."""
        return self._variable.name

    @property
    def dtypes(self) -> tuple[DType, DType]:
        """Both, as dtypes."""
        return self._compute, self._variable

    def get_config(self) -> dict[str, Any]:
        """The argument that makes an equal one."""
        return {"name": self._name}

    def __repr__(self) -> str:
        return f'<DTypePolicy "{self._name}">'

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Policy) and other.name == self._name

    def __hash__(self) -> int:
        return hash(self._name)


DTypePolicy = Policy
_global: list[Policy | None] = [None]


def dtype_policy() -> Policy:
    """The policy of layers made from now on: that of `set_dtype_policy`, else the default dtype."""
    return _global[0] or Policy(floatx())


def set_dtype_policy(policy: Any) -> None:
    """Set what layers made from now on take; None: the default dtype."""
    _global[0] = None if policy is None else policy if isinstance(policy, Policy) else Policy(policy)


global_policy, set_global_policy = dtype_policy, set_dtype_policy


def policy_of(dtype: Any) -> Policy:
    """The policy for a layer that is given a dtype, the name of a policy, a policy or None."""
    return dtype_policy() if dtype is None else dtype if isinstance(dtype, Policy) else Policy(dtype)


__all__ = ["DTypePolicy", "Policy", "dtype_policy", "global_policy", "set_dtype_policy", "set_global_policy"]
