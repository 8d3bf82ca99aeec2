# ruff: noqa: F842, PLC3002, SIM108
# How functions of users look is the point here.
"""Small functions that call others, for `tests.autograph.test_programs`."""

from tests.autograph.programs import program

SCALE = 2.0


def _positive(x, s):
    if s > 0:
        return x * s
    return x


def decorated(f):
    def call(*args, **kwargs):
        return f(*args, **kwargs) * 2.0

    return call


@decorated
def _decorated(x, s, *, shift=1.0):
    if s > 0:
        x = x * s
    return x + shift


class Model:
    """With a private attribute, and a class below it."""

    def __init__(self, s):
        self.__s = s

    def __call__(self, x):
        return self.scaled(x)

    def scaled(self, x):
        if self.__s > 0:
            return x * self.__s
        return x + 1.0

    @staticmethod
    def shifted(x, s):
        return x + s if s > 0 else x - 1.0


class Deeper(Model):
    def scaled(self, x):
        y = x * 0.5
        if x[0] > 0:
            y = super().scaled(y)
        return y


@program
def calls_a_function(tf, x, s, n):
    return _positive(_positive(x, s), -s)


@program
def calls_a_decorated_function(tf, x, s, n):
    return _decorated(x, s, shift=0.5)


@program
def calls_a_method(tf, x, s, n):
    return Model(s)(x) * Model.shifted(x, s)


@program
def calls_super(tf, x, s, n):
    return Deeper(s)(x)


@program
def nested_function(tf, x, s, n):
    def inner(y, k=2.0):
        if s > 0:
            return y * k
        return y * s

    return inner(x) + inner(x, k=3.0)


@program
def recursive_function(tf, x, s, n):
    def power(y, k):
        if k == 0:
            return y
        if s > 0:
            y = y * s
        return power(y, k - 1)

    return power(x, 3)


@program
def nonlocal_variable(tf, x, s, n):
    total = x

    def add(y):
        nonlocal total
        if s > 0:
            total = total + y
        return total

    add(x * s)
    add(s * s)
    return total


@program
def nonlocal_in_a_loop(tf, x, s, n):
    total = x

    def add(y):
        nonlocal total
        total = total + y

    for _ in tf.range(n):
        add(total * s)
    return total


@program
def lambdas(tf, x, s, n):
    f = lambda y: y * s if s > 0 else y  # noqa: E731
    return f(x) + (lambda y, k=2.0: y * k if n > 1 else y)(x)


@program
def lambda_sees_later_values(tf, x, s, n):
    k = 1.0
    f = lambda y: y * k  # noqa: E731
    k = s
    if s > 0:
        k = s * s
    return f(x)


@program
def map_fn(tf, x, s, n):
    return tf.map_fn(lambda r: r * s if s > 0 else r, x)


@program
def global_value(tf, x, s, n):
    if s > 0:
        x = x * SCALE
    return x


@program
def star_arguments(tf, x, s, n):
    def inner(*args, **kwargs):
        return args[0] * kwargs["k"] if s > 0 else args[1]

    return inner(*[x, x * 2.0], k=s)


@program
def with_statement(tf, x, s, n):
    with tf.name_scope("inner"):
        if s > 0:
            return x * s
        x = x + 1.0
    return x - s


@program
def try_statement(tf, x, s, n):
    try:
        if s > 0:
            y = x * s
        else:
            y = x
    finally:
        z = x * 2.0
    return y + z


@program
def range_of_tensor(tf, x, s, n):
    for _ in range(n):
        x = x * s
    return x


@program
def collatz(tf, x, s, n):
    k, steps = n + 5, 0
    while k > 1:
        if k % 2 == 0:
            k = k // 2
        else:
            k = 3 * k + 1
        steps += 1
    return x * tf.cast(steps, tf.float32) * s


@program
def power_iteration(tf, x, s, n):
    m = tf.tensordot(x, x, 0) + s * s
    v = x * 0.0 + 1.0
    for _ in tf.range(n + 2):
        v = tf.linalg.matvec(m, v)
        v = v / tf.norm(v)
    return v


@program
def bisection(tf, x, s, n):
    low, high = s * 0.0, tf.abs(s) + 1.0
    while high - low > 1e-3:
        middle = 0.5 * (low + high)
        if middle * middle > tf.abs(s):
            high = middle
        else:
            low = middle
    return low * x


@program
def annotated(tf, x, s, n):
    y: object = x
    if s > 0:
        y: object = x * s
        z: object
    return y
