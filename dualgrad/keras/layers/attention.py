"""Attention: `MultiHeadAttention`, `Attention`, `AdditiveAttention`, and the product of which heads are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dualgrad.frontend.initializers import VarianceScaling
from dualgrad.keras import activations, initializers
from dualgrad.keras import functions as tf
from dualgrad.keras.layers.base import Layer
from dualgrad.keras.masks import mask_of, set_mask
from engine.core.dtypes import float16
from engine.core.operands import Operand, Results
from engine.core.tensor_shape import TensorShape
from engine.core.value import dtype_of, shape_of
from engine.core.variable import Variable


def _far_below(scores: Any) -> Operand:
    """The score that stands for steps that must not be attended to, so that their weights are 0."""
    dtype = dtype_of(scores)
    return tf.cast(-3e4 if dtype is float16 else -1e9, dtype)


def _dropped(layer: Any, weights: Any, training: Any) -> Any:
    """The weights of attention, some of them dropped while training."""
    if not layer.dropout:
        return weights
    return layer.host.choose(
        training, lambda: layer.host.dropout(weights, layer.dropout, None, layer._seeds), lambda: weights
    )


class EinsumDense(Layer):
    """``activation(einsum(equation, inputs, kernel) + bias)``.

    Parameters
    ----------
    equation : str
        ``"ab,bc->ac"``: of the inputs and the kernel; ``...`` may stand for leading dimensions of the inputs.
    output_shape : int or sequence of int
        Of the result, without the batch.
    activation : str or callable, optional
    bias_axes : str, optional
        Letters of the dimensions of the result that the bias has; by default there is none.
    kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, kernel_constraint, bias_constraint
        Of the weights.

    Examples
    --------
    >>> import tape_api as tf
    >>> layer = tf.keras.layers.EinsumDense("abc,cd->abd", output_shape=(None, 4), bias_axes="d")
    >>> layer(tf.ones([2, 5, 3])).shape
    TensorShape([2, 5, 4])
    """

    kernel: Variable
    bias: Variable | None

    def __init__(
        self,
        equation: str,
        output_shape: Any,
        activation: Any = None,
        bias_axes: str | None = None,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.equation, self.bias_axes = equation.replace(" ", ""), bias_axes
        self.partial_output_shape = (output_shape,) if isinstance(output_shape, int) else tuple(output_shape)
        self.activation = activations.get(self.host, activation)
        self.kernel_initializer = initializers.get(self.host, kernel_initializer)
        self.bias_initializer = initializers.get(self.host, bias_initializer)
        self._kernel_options = {"regularizer": kernel_regularizer, "constraint": kernel_constraint}
        self._bias_options = {"regularizer": bias_regularizer, "constraint": bias_constraint}

    def build(self, input_shape: Any) -> None:
        """Make kernel and bias, whose dimensions are those that the equation and the shapes say."""
        operands, _, result = self.equation.partition("->")
        inputs, _, kernel = operands.partition(",")
        dims = TensorShape(input_shape).as_list()
        sizes = self._sizes(inputs, dims) | {
            letter: size for letter, size in self._sizes(result, [None, *self.partial_output_shape]).items() if size
        }
        missing = [letter for letter in kernel + (self.bias_axes or "") if sizes.get(letter) is None]
        if missing:
            raise ValueError(
                f"layer {self.name!r}: the sizes of {missing} in {self.equation!r} are not known: inputs have shape "
                f"{tuple(dims)}, `output_shape` is {self.partial_output_shape}"
            )
        start = self.kernel_initializer
        if isinstance(start, VarianceScaling):
            outputs = [i for i, letter in enumerate(kernel) if letter in result]
            start = start.along([i for i in range(len(kernel)) if i not in outputs], outputs)
        self.kernel = self.add_weight(
            name="kernel", shape=[sizes[letter] for letter in kernel], initializer=start, **self._kernel_options
        )
        self.bias = None
        if self.bias_axes:
            letters = result.replace("...", "")
            first = min(letters.index(letter) for letter in self.bias_axes)
            shape = [sizes[letter] if letter in self.bias_axes else 1 for letter in letters[first:]]
            self.bias = self.add_weight(
                name="bias", shape=shape, initializer=self.bias_initializer, **self._bias_options
            )

    @staticmethod
    def _sizes(letters: str, dims: Sequence[int | None]) -> dict[str, int | None]:
        """The sizes of the dimensions, which are counted from the end where the equation has ``...``."""
        if letters.startswith("..."):
            letters = letters[3:]
            dims = dims[len(dims) - len(letters) :]
        return dict(zip(letters, dims, strict=False))

    def call(self, inputs: Any) -> Operand:
        """The product."""
        out = tf.einsum(self.equation, inputs, self.kernel)
        out = out if self.bias is None else out + self.bias
        return out if self.activation is None else self.activation(out)


class _HeadedAttention(Layer):
    """Attention of several heads: the base."""

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        value_dim: int | None = None,
        dropout: float = 0.0,
        use_bias: bool = True,
        output_shape: Any = None,
        attention_axes: Any = None,
        flash_attention: Any = None,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        seed: int | None = None,
        use_gate: bool = False,
        sliding_window: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        options = {"use_gate": use_gate, "sliding_window": sliding_window, "flash_attention": flash_attention}
        if attention_axes not in (None, 1, (1,), [1]):
            options["attention_axes"] = attention_axes
        for argument, value in options.items():
            if value:
                raise NotImplementedError(f"{type(self).__name__}: argument `{argument}`={value!r} is not supported")
        for argument, size in (("num_heads", num_heads), ("key_dim", key_dim), ("value_dim", value_dim or key_dim)):
            if not isinstance(size, int) or size <= 0:
                raise ValueError(f"{type(self).__name__}: `{argument}` must be a positive integer, got {size!r}")
        self.num_heads, self.key_dim, self.value_dim = num_heads, key_dim, value_dim or key_dim
        self.dropout, self.use_bias, self.seed = dropout, use_bias, seed
        # Keras makes one that it does not use: the seeds of those made later depend on it
        initializers.get(self.host, kernel_initializer)
        self._size = (output_shape,) if isinstance(output_shape, int) else output_shape
        self._options = {
            "kernel_initializer": kernel_initializer,
            "bias_initializer": bias_initializer,
            "kernel_regularizer": kernel_regularizer,
            "bias_regularizer": bias_regularizer,
            "kernel_constraint": kernel_constraint,
            "bias_constraint": bias_constraint,
        }

    def build(self, query_shape: Any, value_shape: Any = None, key_shape: Any = None) -> None:
        """Make the four products."""
        value_shape = query_shape if value_shape is None else value_shape
        shapes = [TensorShape(s) for s in (query_shape, key_shape or value_shape, value_shape)]
        if any(shape.rank != 3 for shape in shapes):
            raise NotImplementedError(f"{type(self).__name__}: inputs must have rank 3, got {[str(s) for s in shapes]}")
        each = {"dtype": self._policy, **self._options}
        dense = self.host.bound(EinsumDense)
        made = []
        sizes = self.key_dim, self.key_dim, self.value_dim
        for name, shape, size in zip(("query", "key", "value"), shapes, sizes, strict=True):
            layer = dense(
                "abc,cde->abde",
                output_shape=(None, self.num_heads, size),
                bias_axes="de" if self.use_bias else None,
                name=name,
                activity_regularizer=self._activity_regularizer,
                **each,
            )
            layer.build(shape)
            made.append(layer)
        self._query_dense, self._key_dense, self._value_dense = made
        # here: seeds that are not given are drawn in this order
        self._seeds = self.host.seeds(self.seed) if self.dropout > 0 else None
        last = tuple(self._size or (shapes[0][-1],))
        letters = "efgh"[: len(last)]
        self._output_dense = dense(
            f"abcd,cd{letters}->ab{letters}",
            output_shape=(None, *last),
            bias_axes=letters if self.use_bias else None,
            name="attention_output",
            **each,
        )
        self._output_dense.build([None, None, self.num_heads, self.value_dim])

    def call(
        self,
        query: Any,
        value: Any = None,
        key: Any = None,
        query_mask: Any = None,
        value_mask: Any = None,
        key_mask: Any = None,
        attention_mask: Any = None,
        return_attention_scores: bool = False,
        training: Any = None,
        use_causal_mask: bool = False,
    ) -> Results:
        """The values, weighted for each query; with the weights if they are asked for.

        Parameters
        ----------
        query, value, key : tensor
            Of shape (batch, steps, features); keys are the values by default.
        query_mask, value_mask, key_mask : bool tensor, optional
            Of shape (batch, steps): which steps count. By default the masks that the tensors have.
        attention_mask : bool tensor, optional
            Of shape (batch, steps of queries, steps of values): what may be attended to.
        return_attention_scores : bool
        training : bool
        use_causal_mask : bool
            Whether a query sees only values of its own step and before.
        """
        if value is None:
            raise ValueError(f"layer {self.name!r} must be called with `query` and `value`")
        key = value if key is None else key
        own = mask_of(query)
        for x in (query, value, key):
            set_mask(x, None)
        allowed = self._allowed(query, value, query_mask, value_mask, key_mask, attention_mask, use_causal_mask)
        query, key, value = self._query_dense(query), self._key_dense(key), self._value_dense(value)
        scores = tf.einsum("aecd,abcd->acbe", key, query * self.key_dim**-0.5)
        if allowed is not None:
            allowed = tf.expand_dims(allowed, 1) if len(shape_of(allowed) or ()) == 3 else allowed
            scores = tf.where(allowed, scores, _far_below(scores))
        weights = tf.softmax(scores, axis=-1)
        if allowed is not None and (return_attention_scores or self.dropout):
            # as in Keras, which has two ways to compute this: queries that may attend to nothing get nothing in this
            # one, the mean of all values in the other
            weights = tf.where(allowed, weights, tf.zeros_like(weights))
        shown, weights = weights, _dropped(self, weights, training)
        result = self._output_dense(tf.einsum("acbe,aecd->abcd", weights, value))
        set_mask(result, own)
        return (result, shown) if return_attention_scores else result

    @staticmethod
    def _allowed(
        query: Any, value: Any, query_mask: Any, value_mask: Any, key_mask: Any, given: Any, causal: bool
    ) -> Operand | None:
        """The mask of what may be attended to: where all masks are true."""
        masks = [] if given is None else [tf.cast(given, "bool")]
        if query_mask is not None:
            masks.append(tf.expand_dims(tf.cast(query_mask, "bool"), -1))
        masks += [tf.expand_dims(tf.cast(m, "bool"), -2) for m in (value_mask, key_mask) if m is not None]
        if causal:
            masks.append(_causal(tf.shape(query)[1], tf.shape(value)[1]))
        allowed = None
        for mask in masks:
            allowed = mask if allowed is None else tf.logical_and(allowed, mask)
        return allowed


class MultiHeadAttention(_HeadedAttention):
    """Scaled products of queries and keys, turned into weights of the values, for several heads side by side.

    Parameters
    ----------
    num_heads : int
    key_dim : int
        The size of queries and keys in each head.
    value_dim : int, optional
        The size of values in each head, by default `key_dim`.
    dropout : float
        Which part of the weights is dropped while training.
    use_bias : bool
    output_shape : int or sequence of int, optional
        The size of the result, by default that of the queries.
    kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, kernel_constraint, bias_constraint
        Of all weights.
    seed : int, optional
        Of the dropout.

    Raises
    ------
    NotImplementedError
        For `attention_axes`, `use_gate`, `sliding_window` and flash attention.

    Examples
    --------
    >>> import tape_api as tf
    >>> layer = tf.keras.layers.MultiHeadAttention(num_heads=2, key_dim=4)
    >>> layer(tf.ones([3, 5, 8]), tf.ones([3, 6, 8])).shape
    TensorShape([3, 5, 8])
    """

    # as Keras has them in its files
    query_dense = property(lambda self: self._query_dense)
    key_dense = property(lambda self: self._key_dense)
    value_dense = property(lambda self: self._value_dense)
    output_dense = property(lambda self: self._output_dense)


def _causal(queries: Any, values: Any) -> Operand:
    """A mask of shape (1, queries, values): a query sees values of its own step and before."""
    rows, columns = tf.range(queries), tf.range(values)
    return tf.expand_dims(tf.expand_dims(rows, 1) >= tf.expand_dims(columns, 0), 0)


class Attention(Layer):
    """Products of queries and keys, turned into weights of the values: called with ``[query, value]`` or three.

    Parameters
    ----------
    use_scale : bool
        Whether a learned number scales the scores.
    score_mode : {"dot", "concat"}
        Products, or sums of ``tanh(query + key)``, times a learned number.
    dropout : float
        Which part of the weights is dropped while training.
    seed : int, optional
    """

    def __init__(
        self,
        use_scale: bool = False,
        score_mode: str = "dot",
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if score_mode not in ("dot", "concat"):
            raise ValueError(f"Attention: `score_mode` must be 'dot' or 'concat', got {score_mode!r}")
        self.use_scale, self.score_mode, self.dropout, self.seed = use_scale, score_mode, dropout, seed
        self._seeds = self.host.seeds(seed) if dropout > 0 else None
        self.scale: Any = None
        self.concat_score_weight: Any = None

    def build(self, input_shape: Any) -> None:
        """Make the learned numbers."""
        if self.use_scale:
            self.scale = self.add_weight(name="scale", shape=(), initializer="ones")
        if self.score_mode == "concat":
            self.concat_score_weight = self.add_weight(name="concat_score_weight", shape=(), initializer="ones")

    def call(
        self,
        inputs: Any,
        mask: Any = None,
        training: Any = False,
        return_attention_scores: bool = False,
        use_causal_mask: bool = False,
    ) -> Results:
        """The values, weighted for each query; with the weights if they are asked for."""
        if not isinstance(inputs, (list, tuple)) or len(inputs) not in (2, 3):
            raise ValueError(f"layer {self.name!r} must be called on [query, value] or [query, value, key]")
        query, value, key = (*inputs, inputs[1])[:3]
        query_mask, value_mask = (None, None) if mask is None else mask[:2]
        scores = self._scores(query, key)
        allowed = None if value_mask is None else tf.expand_dims(tf.cast(value_mask, "bool"), -2)
        if use_causal_mask:
            causal = _causal(tf.shape(query)[1], tf.shape(key)[1])
            allowed = causal if allowed is None else tf.logical_and(allowed, causal)
        if allowed is not None:
            scores = tf.where(allowed, scores, scores + _far_below(scores))
        shown = tf.softmax(scores, axis=-1)
        result = tf.matmul(_dropped(self, shown, training), value)
        if query_mask is not None:
            on = tf.expand_dims(tf.cast(query_mask, "bool"), -1)
            result = tf.where(on, result, tf.zeros_like(result))
        return (result, shown) if return_attention_scores else result

    def _scores(self, query: Any, key: Any) -> Operand:
        if self.score_mode == "dot":
            scores = tf.matmul(query, key, transpose_b=True)
            return scores if self.scale is None else scores * self.scale
        sums = tf.expand_dims(query, -2) + tf.expand_dims(key, -3)
        return self.concat_score_weight * tf.reduce_sum(
            tf.tanh(sums if self.scale is None else self.scale * sums), axis=-1
        )

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Operand | None:
        """That of the queries."""
        return None if previous_mask is None else previous_mask[0]


class AdditiveAttention(Attention):
    """`Attention` whose scores are sums of ``scale * tanh(query + key)`` (Bahdanau's).

    Parameters
    ----------
    use_scale : bool
        Whether there are learned factors, one for each feature.
    dropout : float
    """

    def __init__(self, use_scale: bool = True, dropout: float = 0.0, **kwargs: Any) -> None:
        super().__init__(use_scale=use_scale, dropout=dropout, **kwargs)

    def build(self, input_shape: Any) -> None:
        """Make the factors."""
        if self.use_scale:
            size = TensorShape(input_shape[0])[-1]
            self.scale = self.add_weight(name="scale", shape=(size,), initializer="glorot_uniform")

    def _scores(self, query: Any, key: Any) -> Operand:
        sums = tf.tanh(tf.expand_dims(query, -2) + tf.expand_dims(key, -3))
        return tf.reduce_sum(sums if self.scale is None else self.scale * sums, axis=-1)
