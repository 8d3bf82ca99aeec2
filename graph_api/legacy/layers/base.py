"""TensorFlow 1's layers: Keras's definitions, whose variables belong to variable scopes and collections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

from dualgrad.keras.layers.base import Layer as SharedLayer
from dualgrad.keras.policies import policy_of
from dualgrad.keras.settings import layer_name
from engine.core import nest
from engine.core.value import Value
from graph_api.graphs.graph import Graph, get_default_graph
from graph_api.graphs.graph_keys import GraphKeys
from graph_api.graphs.scopes import get_variable, variable_scope
from graph_api.graphs.variable import Variable
from graph_api.keras.host import GraphHost


class _FromOne(Counter[str]):
    """Counts that begin with 1: the first layer is called ``dense_1``."""

    def __missing__(self, key: str) -> int:
        return 1


class LayersHost(GraphHost):
    """Weights are shared by name, in the variable scope that a layer opens when it is first called."""

    def names(self) -> Counter[str]:
        """One for each graph."""
        return self._names.setdefault(get_default_graph(), _FromOne())

    def _module_of(self, shared: Any) -> str:
        return "graph_api.layers"

    def initializer(self, given: Any, dtype: Any) -> Callable[..., Any] | None:
        """None stands for the variable scope's."""
        return given

    def variable(
        self, owner: Any, name: str, shape: tuple[int, ...], make: Callable[..., Any], dtype: Any, **options: Any
    ) -> Variable:
        """The variable of that name in the layer's scope."""
        trainable = options.pop("trainable", True) and owner.trainable
        name = owner._renames.get(name, name)
        with owner.opened():
            return get_variable(
                name, shape, dtype, make, trainable=trainable, collections=owner._collections.get(name), **options
            )

    def update(self, layer: Any, variables: Sequence[Any], values: Callable[[], Sequence[Any]]) -> list[Any]:
        """Also in the collection UPDATE_OPS."""
        made = super().update(layer, variables, values)
        get_default_graph().get_collection_ref(GraphKeys.UPDATE_OPS).extend(made)
        return made

    def lost(self, layer: Any, losses: Sequence[Any]) -> None:
        """Also in the collection REGULARIZATION_LOSSES."""
        get_default_graph().get_collection_ref(GraphKeys.REGULARIZATION_LOSSES).extend(losses)

    def penalty(self, weight: Any, regularizer: Callable[[Any], Any]) -> Callable[[], Any]:
        """`get_variable` has added it to the collection."""
        noted = weight.graph.get_collection(GraphKeys.REGULARIZATION_LOSSES)
        (loss,) = [x for x in noted if x.name.startswith(f"{weight.op.name}/Regularizer/")][:1]
        return lambda: loss

    @contextmanager
    def scope(self, layer: Any) -> Iterator[None]:
        """The layer's variable scope, and the name scope that was opened with it."""
        with layer.opened():
            yield


host = LayersHost()


class Layer(host.bound(SharedLayer)):  # type: ignore[misc]
    """Base of the layers of ``tf.layers``: what a `Variable` scope is opened for.

    A subclass defines `build`, which makes variables with `add_variable` (or `tf.get_variable`), and `call`.

    Parameters
    ----------
    trainable : bool
    name : str, optional
        Of the variable scope; by default the name of the class, numbered.
    dtype : DType, optional
        Of the variables, by default that of the first input.
    **kwargs
        `activity_regularizer`, `input_shape`, and TensorFlow's own `_reuse` and `_scope`.

    Examples
    --------
    >>> import graph_api as tf
    >>> class Scale(tf.layers.Layer):
    ...     def build(self, input_shape):
    ...         self.factor = self.add_variable("factor", shape=[input_shape[-1]])
    ...         self.built = True
    ...     def call(self, inputs):
    ...         return inputs * self.factor
    >>> with tf.Graph().as_default():
    ...     y = Scale()(tf.zeros([2, 3]))
    ...     print(y.shape, tf.trainable_variables())
    (2, 3) [<tf.Variable 'scale/factor:0' shape=(3,) dtype=float32_ref>]
    """

    _renames: Mapping[str, str] = MappingProxyType({})
    """The names that variables have instead (``tf.contrib.layers`` says ``weights`` for ``kernel``)."""
    _collections: Mapping[str, Sequence[str]] = MappingProxyType({})
    """Collections of variables, by name, where they are not the usual ones."""

    def __init__(self, trainable: bool = True, name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        self._reuse = kwargs.pop("_reuse", None)
        given_scope = kwargs.pop("_scope", None)
        super().__init__(trainable=trainable, name=name, dtype=dtype, autocast=False, **kwargs)
        self._dtype_given = dtype is not None
        self._base_name = name or layer_name(type(self).__name__)
        self._scope: Any = None
        if given_scope is not None:
            self._open(given_scope)

    def _open(self, scope: Any = None) -> None:
        """Open the layer's variable scope, unless it has one."""
        if self._scope is not None:
            return
        if self._reuse is True:
            opened = variable_scope(self._base_name if scope is None else scope, reuse=True)
        else:
            opened = variable_scope(scope, default_name=self._base_name)
        with opened as opened_scope:
            self._scope = opened_scope

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """The layer's scope, for variables and names."""
        self._open()
        reuse = True if self.built else self._reuse
        names = get_default_graph().name_scope(self._scope.original_name_scope or None)
        with variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False) as scope, names:
            yield scope

    @property
    def scope_name(self) -> str:
        """The name of the layer's variable scope.

        Raises
        ------
        ValueError
            If the layer has not been called yet.
        """
        if self._scope is None:
            raise ValueError(f"No name available for layer scope because the layer {self.name!r} has not been used yet")
        return str(self._scope.name)

    @property
    def graph(self) -> Graph:
        """The graph that the layer's weights belong to."""
        return self.weights[0].graph if self.weights else get_default_graph()

    def __call__(self, inputs: Any, *args: Any, scope: Any = None, **kwargs: Any) -> Any:
        """The layer's outputs; its variables are made in the first call.

        Parameters
        ----------
        inputs : tensor or structure of tensors
        scope : str or VariableScope, optional
            In the first call: the variable scope to use.
        """
        self._check_initialized()
        self._open(scope)
        return super().__call__(inputs, *args, **kwargs)

    apply = __call__

    def _build_for(self, first: Any, by_name: Mapping[str, Any]) -> None:
        if not self._dtype_given:
            dtypes = [
                x.dtype for x in nest.flatten(dict(by_name)) if isinstance(x, Value) and x.dtype.is_differentiable
            ]
            wanted = dtypes[0].name if dtypes else "float32"
            self._policy = policy_of("mixed_float16" if wanted == "float16" and self._computes_wide else wanted)
            self._dtype, self._variable_dtype = self._policy.dtypes
        super()._build_for(first, by_name)

    def add_weight(
        self,
        name: str | None = None,
        shape: Any = None,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool = True,
        constraint: Any = None,
        **ignored: Any,
    ) -> Variable:
        """A variable in the layer's scope; see `tf.get_variable`."""
        if ignored.pop("partitioner", None) is not None:
            raise ValueError(f"layer {self.name!r}: argument `partitioner` is not supported; it must be None")
        return super().add_weight(
            name=name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer,
            trainable=trainable, constraint=constraint,
        )  # fmt: skip

    add_variable = add_weight
