"""How public functions of `tape_api` are spelled in JAX, and the helpers for those that it has not.

What stands in none of these tables is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dualgrad.frontend.rows import pairs

_SAME = (
    "abs add subtract multiply divide exp sin cos tan sinh cosh tanh sqrt square sign floor round maximum minimum "
    "equal not_equal greater greater_equal less less_equal logical_and logical_or logical_not where reshape stack "
    "expand_dims squeeze tile zeros_like ones_like cumsum einsum tensordot broadcast_to argmax argmin shape size rank"
)
_OTHERS = """
math.log=jnp.log math.log1p=jnp.log1p math.expm1=jnp.expm1 expm1=jnp.expm1 math.ceil=jnp.ceil
math.divide_no_nan=divide_no_nan math.multiply_no_nan=multiply_no_nan math.squared_difference=squared_difference
math.erf=jax.scipy.special.erf math.lgamma=jax.scipy.special.gammaln math.digamma=jax.scipy.special.digamma
math.rsqrt=jax.lax.rsqrt math.reciprocal=jnp.reciprocal math.softplus=jax.nn.softplus math.is_nan=jnp.isnan
math.atan2=jnp.arctan2 atan2=jnp.arctan2 asin=jnp.arcsin acos=jnp.arccos atan=jnp.arctan pow=jnp.power
negative=jnp.negative truediv=jnp.divide reduce_sum=jnp.sum reduce_mean=jnp.mean reduce_max=jnp.max reduce_min=jnp.min
reduce_prod=jnp.prod reduce_any=jnp.any reduce_all=jnp.all reduce_logsumexp=jax.scipy.special.logsumexp
math.reduce_variance=jnp.var math.reduce_std=jnp.std matmul=matmul concat=jnp.concatenate unstack=unstack split=split
gather=gather fill=jnp.full range=jnp.arange eye=jnp.eye clip_by_value=jnp.clip clip_by_global_norm=clip_by_global_norm
stop_gradient=jax.lax.stop_gradient cast=cast convert_to_tensor=jnp.asarray constant=constant zeros=zeros ones=ones
one_hot=one_hot sigmoid=jax.nn.sigmoid nn.relu=jax.nn.relu nn.relu6=jax.nn.relu6 nn.elu=jax.nn.elu nn.selu=jax.nn.selu
nn.softplus=jax.nn.softplus nn.softmax=jax.nn.softmax nn.log_softmax=jax.nn.log_softmax nn.l2_loss=l2_loss
nn.moments=moments nn.batch_normalization=batch_normalization
nn.bias_add=bias_add compat.v1.nn.xw_plus_b=xw_plus_b nn.conv2d=conv2d nn.max_pool2d=max_pool2d
nn.avg_pool2d=avg_pool2d nn.sigmoid_cross_entropy_with_logits=sigmoid_cross_entropy_with_logits
nn.softmax_cross_entropy_with_logits=softmax_cross_entropy_with_logits
nn.sparse_softmax_cross_entropy_with_logits=sparse_softmax_cross_entropy_with_logits
linalg.cholesky=jnp.linalg.cholesky linalg.inv=jnp.linalg.inv linalg.det=jnp.linalg.det linalg.solve=jnp.linalg.solve
linalg.trace=jnp.trace
"""

_NUMBERS = "float16 float32 float64 bfloat16 int8 int16 int32 uint8 complex64 complex128"
DTYPES = {**{name: f"jnp.{name}" for name in _NUMBERS.split()}, "bool": "jnp.bool_", "int64": "int"}

HELPERS = {
    "divide_no_nan": """
def divide_no_nan(x, y):
    return jnp.where(y == 0, 0, x / jnp.where(y == 0, 1, y))
""",
    "multiply_no_nan": """
def multiply_no_nan(x, y):
    return jnp.where(y == 0, 0, x * y)
""",
    "squared_difference": """
def squared_difference(x, y):
    return jnp.square(x - y)
""",
    "moments": """
def moments(x, axes, keepdims=False):
    return jnp.mean(x, tuple(axes), keepdims=keepdims), jnp.var(x, tuple(axes), keepdims=keepdims)
""",
    "batch_normalization": """
def batch_normalization(x, mean, variance, offset=None, scale=None, variance_epsilon=0.001):
    factor = jax.lax.rsqrt(variance + variance_epsilon) * (1 if scale is None else scale)
    return x * factor + ((0 if offset is None else offset) - mean * factor)
""",
    "matmul": """
def matmul(a, b, transpose_a=False, transpose_b=False):
    return jnp.matmul(jnp.swapaxes(a, -1, -2) if transpose_a else a, jnp.swapaxes(b, -1, -2) if transpose_b else b)
""",
    "unstack": """
def unstack(x, num=None, axis=0):
    return list(jnp.moveaxis(x, axis, 0))
""",
    "split": """
def split(x, sizes, axis=0):
    return jnp.split(x, sizes if isinstance(sizes, int) else np.cumsum(sizes)[:-1].tolist(), axis)
""",
    "gather": """
def gather(x, indices, axis=0):
    return jnp.take(x, indices, axis)
""",
    "clip_by_global_norm": """
def clip_by_global_norm(gradients, most):
    norm = jnp.sqrt(sum(jnp.sum(jnp.square(g)) for g in gradients))
    return [g * most * jnp.minimum(1.0 / norm, 1.0 / most) for g in gradients], norm
""",
    "cast": """
def cast(x, dtype):
    return jnp.asarray(x).astype(dtype)
""",
    "constant": """
def constant(value, dtype=None, shape=None):
    dtype = dtype or (jnp.float32 if np.asarray(value).dtype == np.float64 else None)
    return jnp.asarray(value, dtype) if shape is None else jnp.broadcast_to(jnp.asarray(value, dtype), shape)
""",
    "zeros": """
def zeros(shape, dtype=jnp.float32):
    return jnp.zeros(shape, dtype)
""",
    "ones": """
def ones(shape, dtype=jnp.float32):
    return jnp.ones(shape, dtype)
""",
    "one_hot": """
def one_hot(indices, depth, on_value=1.0, off_value=0.0, axis=-1):
    return jnp.where(jax.nn.one_hot(indices, depth, dtype=bool, axis=axis), on_value, off_value)
""",
    "bias_add": """
def bias_add(value, bias, data_format=None):
    first = data_format is not None and data_format.startswith("NC")
    return value + (bias.reshape(-1, *[1] * (value.ndim - 2)) if first else bias)
""",
    "xw_plus_b": """
def xw_plus_b(x, weights, biases):
    return x @ weights + biases
""",
    "l2_loss": """
def l2_loss(x):
    return jnp.sum(jnp.square(x)) / 2
""",
    "conv2d": """
def conv2d(x, kernel, strides, padding):
    strides = [strides, strides] if isinstance(strides, int) else strides[-3:-1] if len(strides) == 4 else strides
    return jax.lax.conv_general_dilated(x, kernel, strides, padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))
""",
    "max_pool2d": """
def max_pool2d(x, ksize, strides, padding):
    size, step = [(1, n, n, 1) if isinstance(n, int) else (1, *n, 1) for n in (ksize, strides)]
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, size, step, padding)
""",
    "avg_pool2d": """
def avg_pool2d(x, ksize, strides, padding):
    size, step = [(1, n, n, 1) if isinstance(n, int) else (1, *n, 1) for n in (ksize, strides)]
    sums, counts = [jax.lax.reduce_window(a, 0.0, jax.lax.add, size, step, padding) for a in (x, jnp.ones_like(x))]
    return sums / counts
""",
    "sigmoid_cross_entropy_with_logits": """
def sigmoid_cross_entropy_with_logits(labels, logits):
    return jax.nn.relu(logits) - logits * labels + jnp.log1p(jnp.exp(-jnp.abs(logits)))
""",
    "softmax_cross_entropy_with_logits": """
def softmax_cross_entropy_with_logits(labels, logits, axis=-1):
    return -jnp.sum(labels * jax.nn.log_softmax(logits, axis), axis)
""",
    "sparse_softmax_cross_entropy_with_logits": """
def sparse_softmax_cross_entropy_with_logits(labels, logits):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1)[..., 0]
""",
}
"""The text of functions that JAX has not, or with other arguments."""


@dataclass(frozen=True)
class Spelled:
    """The name of a function, and its keywords that are called otherwise."""

    name: str
    keywords: dict[str, str] = field(default_factory=dict)


NAMES = {
    **{name: Spelled(f"jnp.{name}") for name in _SAME.split()},
    **{name: Spelled(spelled) for name, spelled in pairs(_OTHERS).items()},
    "transpose": Spelled("jnp.transpose", {"perm": "axes"}),
    "nn.leaky_relu": Spelled("jax.nn.leaky_relu", {"alpha": "negative_slope"}),
    "rank": Spelled("jnp.ndim"),
}
