"""Programs whose gradient is None, zero, NaN or partial, with the reason that `explain` must name.

`BOTH` are bodies: they compute `y` from `x` (float64, shape [3], values 1, 2, 3), `w` (a variable of that shape, values
0.5, 1, 2) and `tf`, in a graph and on a tape. The line with ``# here`` is the one that must be named. `TAPES` and
`GRAPHS` are whole programs that leave `y` and `x`, and `tape`, `session`, `feed` or `stop` where there is one.
"""

from typing import NamedTuple


class Breakage(NamedTuple):
    """A program and the code that must come out."""

    code: str
    program: str
    name: str = ""


def _rows(text: str) -> list[Breakage]:
    """Rows from a text: ``== code: what it does``, and the program on the lines below."""
    rows = []
    for part in text.strip().split("\n== ")[0:]:
        head, _, program = part.removeprefix("== ").partition("\n")
        code, _, name = head.partition(": ")
        rows.append(Breakage(code, program.strip("\n") + "\n", name))
    return rows


BOTH = _rows(
    """
== connected: a product
y = tf.reduce_sum(x * w)  # here
== stopped: stop_gradient
y = tf.reduce_sum(tf.stop_gradient(x) * 2.0)  # here
== stopped: far from the source
a = tf.sin(x)
b = a * a
c = tf.stop_gradient(b)  # here
y = tf.reduce_sum(c + w)
== no-derivative: floor
y = tf.reduce_sum(tf.floor(x) * w)  # here
== no-derivative: round and a product
a = x * 1.5
b = tf.round(a)  # here
y = tf.reduce_sum(b * b)
== no-derivative: sign of argmax
y = tf.cast(tf.argmax(x), tf.float64) * 2.0  # here
== no-derivative: a comparison as a mask
mask = tf.cast(x > 1.5, tf.float64)  # here
y = tf.reduce_sum(mask * w)
== no-derivative: accuracy
hits = tf.equal(x, w)  # here
y = tf.reduce_mean(tf.cast(hits, tf.float64))
== no-derivative: integer division
y = tf.reduce_sum(x // 2.0)  # here
== no-derivative: indices of top_k
_, i = tf.nn.top_k(x, 2)  # here
y = tf.reduce_sum(tf.gather(w, i))
== not-implemented: the order of polygamma
y = tf.reduce_sum(tf.math.polygamma(x, w))  # here
== not-implemented: the start of a range
y = tf.reduce_sum(tf.range(x[0], 9.0))  # here
== no-derivative: a condition of where
y = tf.reduce_sum(tf.where(x > 2.0, w, -w))  # here
== integer: a cast to int and back
a = tf.cast(x * 10.0, tf.int32)  # here
y = tf.reduce_sum(tf.cast(a, tf.float64))
== integer: a cast to bool
a = tf.cast(x, tf.bool)  # here
y = tf.reduce_sum(tf.cast(a, tf.float64))
== shape-only: the number of elements
n = tf.cast(tf.size(x), tf.float64)  # here
y = tf.reduce_sum(w) / n
== shape-only: zeros_like
y = tf.reduce_sum(tf.zeros_like(x) + w)  # here
== shape-only: ones_like
y = tf.reduce_sum(tf.ones_like(x) * w)  # here
== reversed: arguments swapped
a = tf.reduce_sum(x * x)  # here
x, y = a, x
== reversed: a later layer
h = tf.sin(x)
y = tf.reduce_sum(h)
x = y * 2.0  # here
== side-branch: another slice
head = x[:1]  # here
y = tf.reduce_sum(x * x)
x = head
== side-branch: a copy
copy = tf.identity(x)  # here
y = tf.reduce_sum(x * w)
x = copy
== side-branch: another layer
a = tf.sin(x)
b = tf.cos(x)  # here
y = tf.reduce_sum(a)
x = b
== no-path: another variable
y = tf.reduce_sum(w * w)
== no-path: a regularizer
penalty = tf.reduce_sum(tf.square(w))
y = 0.5 * penalty
== partial: one of two ways is stopped
y = tf.reduce_sum(x * tf.stop_gradient(x))  # here
== connected: moments, which stop a gradient that is zero
mean, variance = tf.nn.moments(x, [0])
y = mean + variance
== connected: a mask that the source decides
y = tf.reduce_sum(tf.where(x > 1.5, x * w, w))
== connected: a remainder
y = tf.reduce_sum(tf.math.floormod(x * 1.3, 2.0))
== partial: straight through
y = tf.reduce_sum(x + tf.stop_gradient(tf.round(x) - x))  # here
== partial: a rounded part
y = tf.reduce_sum(x + tf.round(x))  # here
== zero-branch: where takes the other side
y = tf.reduce_sum(tf.where(w > 100.0, x * x, w))  # here
== zero-branch: a clipped minimum
y = tf.reduce_sum(tf.minimum(x, -5.0))  # here
== zero-mask: a mask of zeros
mask = tf.zeros_like(w)
y = tf.reduce_sum(mask * tf.exp(x))  # here
== zero-mask: a weight matrix of zeros
m = tf.zeros([3, 2], tf.float64)
y = tf.reduce_sum(tf.matmul(tf.reshape(x, [1, 3]), m))  # here
== zero-slice: an empty slice
part = x[3:]  # here
y = tf.reduce_sum(part * 2.0)
== zero-flat: relu of negative numbers
y = tf.reduce_sum(tf.nn.relu(-x))  # here
== zero-flat: a saturated sigmoid
y = tf.reduce_sum(tf.sigmoid(x * 1e4))  # here
== zero-flat: clipped
y = tf.reduce_sum(tf.clip_by_value(x, 5.0, 6.0))  # here
== zero-flat: a square at its minimum
y = tf.reduce_sum(tf.square(x - x))  # here
== zero-cancelled: a difference
y = tf.reduce_sum(x * w - w * x)
== zero-cancelled: the sum of a softmax
a = x * 2.0
y = tf.reduce_sum(a - 2.0 * x)
== nan-forward: log of a negative number
y = tf.reduce_sum(tf.math.log(x - 2.0))  # here
== nan-forward: zero by zero
a = x - x
y = tf.reduce_sum(a / a)  # here
== nan-forward: exp overflows
y = tf.reduce_sum(tf.exp(x * 1000.0) - tf.exp(w * 1000.0))  # here
== nan-backward: sqrt at 0
y = tf.reduce_sum(tf.sqrt(x - 1.0))  # here
== nan-backward: a norm at 0
y = tf.sqrt(tf.reduce_sum(tf.square(x - x)))  # here
== nan-backward: a power below 1
y = tf.reduce_sum((x - 1.0) ** 0.5)  # here
== nan-backward: acos at 1
y = tf.reduce_sum(tf.acos(x / 3.0))  # here
== nan-input: a constant
c = tf.constant([1.0, float("nan"), 2.0], tf.float64)
y = tf.reduce_sum(x * c)  # here
"""
)

TAPES = _rows(
    """
== not-watched: a constant
x = tf.constant(3.0)
with tf.GradientTape(explain=True) as tape:
    y = x * x  # here
== not-watched: without lines
x = tf.constant(3.0)
v = tf.Variable(2.0)
with tf.GradientTape(persistent=True) as tape:
    y = x * v
== not-watched: a variable that is not trainable
x = tf.Variable(3.0, trainable=False)
with tf.GradientTape(explain=True) as tape:
    y = x * x  # here
== not-watched: watch_accessed_variables=False
x = tf.Variable(3.0)
with tf.GradientTape(watch_accessed_variables=False, explain=True) as tape:
    y = x * x  # here
== watched-late: watched after its use
x = tf.constant(3.0)
with tf.GradientTape(explain=True) as tape:
    y = x * x  # here
    tape.watch(x)
== not-recording: inside stop_recording
x = tf.constant(3.0)
with tf.GradientTape(explain=True) as tape:
    tape.watch(x)
    with tape.stop_recording():
        a = x * x  # here
    y = a * 2.0
== not-recording: after the block
x = tf.Variable(3.0)
with tf.GradientTape(explain=True) as tape:
    a = x * x
y = a * 2.0
== not-recording: before the block
x = tf.Variable(3.0)
y = x * x
with tf.GradientTape(explain=True) as tape:
    z = x + 1.0
== read-early: a value read before
x = tf.Variable([1.0, 2.0])
value = x.read_value()
with tf.GradientTape(explain=True) as tape:
    y = tf.reduce_sum(value * value)  # here
    tf.print("at", x)
== left-for-numpy: numpy()
x = tf.Variable([1.0, 2.0])
with tf.GradientTape(explain=True) as tape:
    a = np.sin(x.numpy())  # here
    y = tf.reduce_sum(a)
== left-for-numpy: float()
x = tf.Variable(2.0)
with tf.GradientTape(explain=True) as tape:
    y = tf.constant(float(x) ** 2)  # here
== left-for-numpy: np.array of elements
x = tf.Variable([1.0, 2.0])
with tf.GradientTape(explain=True) as tape:
    with warnings.catch_warnings(action="ignore"):
        a = np.array([x[0], x[1]])  # here
    y = tf.reduce_sum(tf.constant(a))
== left-for-numpy: a target that is a number
x = tf.Variable(2.0)
with tf.GradientTape(explain=True) as tape:
    y = (x * x).numpy()
== python-function: numpy_function
x = tf.Variable([1.0, 2.0])
with tf.GradientTape(explain=True) as tape:
    a = tf.numpy_function(np.sin, [x], tf.float32)  # here
    y = tf.reduce_sum(a)
== partial: an element as a float
x = tf.Variable([2.0, 3.0])
with tf.GradientTape(explain=True) as tape:
    y = tf.reduce_sum(x * float(x[0]))  # here
== assigned: through a variable
x = tf.Variable(2.0)
v = tf.Variable(0.0)
with warnings.catch_warnings(action="ignore"), tf.GradientTape(explain=True) as tape:
    v.assign(x * 3.0)  # here
    y = v * v
== assigned: a variable that is not trainable
x = tf.Variable(2.0)
v = tf.Variable(0.0, trainable=False)
with tf.GradientTape(explain=True) as tape:
    v.assign(x * 3.0)  # here
    y = v * v
== constant: numbers only
x = tf.Variable(2.0)
with tf.GradientTape(explain=True) as tape:
    z = x * 2.0
    y = tf.constant(3.0) * 4.0
== constant: a constant that was used
x = tf.Variable(2.0)
y = tf.constant(3.0)
with tf.GradientTape(explain=True) as tape:
    z = x * y
== integer: an integer source
x = tf.constant(3)
with tf.GradientTape(explain=True) as tape:
    y = tf.cast(x, tf.float32) * 2.0
== integer: an integer target
x = tf.constant(3.0)
with tf.GradientTape(explain=True) as tape:
    tape.watch(x)
    y = tf.cast(x, tf.int32)  # here
== custom-rule: a rule that returns None
x = tf.Variable(3.0)
@tf.custom_gradient
def f(a, b):
    return a * b, lambda ct: (None, ct * a)
with tf.GradientTape(explain=True) as tape:
    y = f(x, 2.0)  # here
== custom-rule: a captured variable's value
x = tf.constant(3.0)
with tf.GradientTape(explain=True) as tape:
    tape.watch(x)
    @tf.custom_gradient
    def f(a):
        return a * x, lambda ct: ct
    y = f(tf.constant(2.0))  # here
== custom-rule: a primitive
half = tf.primitive(lambda a: a / 2, lambda ct, out, a: None)
x = tf.Variable(3.0)
with tf.GradientTape(explain=True) as tape:
    y = half(x)  # here
== no-path: the branch of an if that was not taken
x = tf.Variable(3.0)
v = tf.Variable(1.0)
with tf.GradientTape(explain=True) as tape:
    y = x * 2.0 if v < 0 else v * 2.0
== no-path: a layer that is not used
first, second = tf.keras.layers.Dense(2), tf.keras.layers.Dense(2)
data = tf.ones([1, 3])
second(data)
with tf.GradientTape(explain=True) as tape:
    y = tf.reduce_sum(first(data))
x = second.kernel
== stopped: inside a tf.function
x = tf.Variable(3.0)
@tf.function
def f(a):
    return tf.stop_gradient(a) * 2.0  # here
with tf.GradientTape(explain=True) as tape:
    y = f(x)
== stopped: no lines without explain=True
x = tf.Variable(3.0)
with tf.GradientTape() as tape:
    y = tf.stop_gradient(x) * 2.0
== other-graph: a graph's tensor
import graph_api
with graph_api.Graph().as_default():
    y = graph_api.constant(1.0) * 2.0
x = tf.Variable(3.0)
== nan-input: the variable itself
x = tf.Variable([1.0, float("inf")])
with tf.GradientTape(explain=True) as tape:
    y = tf.reduce_sum(x * 0.0)  # here
== zero-slice: an index that leaves it out
x = tf.Variable([1.0, 2.0])
with tf.GradientTape(explain=True) as tape:
    both = tf.concat([x, [5.0]], 0)  # here
    y = both[2] * 3.0
== connected: after the gradient was taken
x = tf.Variable(3.0)
with tf.GradientTape(explain=True) as tape:
    y = x * x
tape.gradient(y, x)
"""
)

GRAPHS = _rows(
    """
== other-graph: two graphs
with tf.Graph().as_default():
    x = tf.placeholder(tf.float32, [])
with tf.Graph().as_default():
    y = tf.constant(2.0) * 3.0
== python-function: py_func
x = tf.Variable([1.0, 2.0])
a = tf.py_func(np.sin, [x], tf.float32)  # here
y = tf.reduce_sum(a)
== stopped: the argument stop_gradients
x = tf.Variable(2.0)
a = x * x  # here
y = a * 3.0
stop = [a]
== assigned: read after an assignment
x = tf.Variable(2.0)
v = tf.Variable(0.0)
new = tf.assign(v, x * 3.0)  # here
with tf.control_dependencies([new]):
    y = v.read_value() * 2.0
== constant: constants only
x = tf.Variable(2.0)
y = tf.constant(3.0) * 4.0
== no-path: another placeholder
x = tf.placeholder(tf.float32, [])
z = tf.placeholder(tf.float32, [])
y = z * 2.0
== no-derivative: inside a branch of cond
x = tf.placeholder(tf.float32, [])
p = tf.placeholder(tf.bool, [])
y = tf.cond(p, lambda: tf.floor(x), lambda: tf.floor(x * 2.0))  # here
== zero-branch: a loop whose body rounds
x = tf.placeholder(tf.float32, [])
_, y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.floor(a)), [0, x])  # here
feed = {x: 2.5}
session = tf.Session()
== stopped: inside a branch of cond
x = tf.placeholder(tf.float32, [])
p = tf.placeholder(tf.bool, [])
def one():
    return tf.stop_gradient(x) * 2.0  # here
y = tf.cond(p, one, lambda: tf.constant(1.0))
== zero-branch: the branch of cond that does not run
x = tf.placeholder(tf.float32, [])
p = tf.placeholder(tf.bool, [])
y = tf.cond(p, lambda: x * x, lambda: tf.constant(1.0))  # here
feed = {x: 2.0, p: False}
session = tf.Session()
== nan-forward: what was fed makes a NaN
x = tf.placeholder(tf.float32, [2])
y = tf.reduce_sum(tf.log(x))  # here
feed = {x: [1.0, -1.0]}
session = tf.Session()
== nan-input: a NaN was fed
x = tf.placeholder(tf.float32, [2])
y = tf.reduce_sum(tf.sin(x))  # here
feed = {x: [1.0, float("nan")]}
session = tf.Session()
== integer: labels
x = tf.placeholder(tf.int32, [2])
y = tf.reduce_sum(tf.cast(x, tf.float32))
== custom-rule: an overridden gradient
@tf.RegisterGradient("NothingForExplain")
def nothing(op, grad):
    return None
x = tf.Variable(2.0)
with tf.get_default_graph().gradient_override_map({"Identity": "NothingForExplain"}):
    y = tf.identity(x)  # here
session = tf.Session()
session.run(tf.global_variables_initializer())
== zero-mask: weights initialized with zeros
x = tf.get_variable("w", [2, 2])
u = tf.get_variable("u", [2, 1], initializer=tf.zeros_initializer())
y = tf.reduce_sum(tf.matmul(tf.matmul(tf.ones([1, 2]), x), u))  # here
session = tf.Session()
session.run(tf.global_variables_initializer())
"""
)
