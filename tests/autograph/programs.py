# ruff: noqa: B007, B905, PERF401, RET504, SIM108
# How functions of users look is the point here.
"""Small functions with branches and loops over tensors, of `tf`, a vector `x`, a number `s` and an integer `n`.

Each runs as Python on a tape, as a recorded function, and in a graph, and gives the same numbers.
"""

from collections.abc import Callable
from typing import Any

PROGRAMS: list[Callable[..., Any]] = []


def program(f: Callable[..., Any]) -> Callable[..., Any]:
    PROGRAMS.append(f)
    return f


# ---- branches --------------------------------------------------------------------------------------------------------


@program
def if_elif(tf, x, s, n):
    if s > 2.0:
        y = x * s
    elif s > 0.0:
        y = x / s
    elif n > 1:
        y = x
    else:
        y = x - s
    return y


@program
def both_sides_of_a_tuple(tf, x, s, n):
    if s > 0:
        a, b = x * s, x + 1.0
    else:
        b, a = x, x * x
    return a * 2.0 + b


@program
def early_returns(tf, x, s, n):
    if s > 2.0:
        return x
    if s > 0.0:
        if n > 1:
            return x * s
        y = x + s
    else:
        y = x * x
    return y * 3.0


@program
def return_in_one_of_two(tf, x, s, n):
    y = x
    if s > 0:
        if n > 1:
            return y * 2.0
        y = y * s
    else:
        y = y - s
    y = y + 1.0
    if n > 2:
        return y * s
    return y


@program
def nested_conditional_expressions(tf, x, s, n):
    y = x * (s if s > 1.0 else 1.0 if n > 1 else s * s)
    return y + (x if n > 2 and s > 0 else s)


@program
def and_is_lazy(tf, x, s, n):
    i = tf.minimum(n, 2)
    if n < 3 and x[i] > 0.0:
        return x[i] * x
    return x * 2.0


@program
def chained_comparison_of_calls(tf, x, s, n):
    if tf.reduce_min(x) < s * 1.0 <= tf.reduce_max(x):
        x = x * s
    return x


@program
def python_condition(tf, x, s, n):
    k = 3
    if k > 2:
        x = x * s
    else:
        x = None
    return x


@program
def python_and_tensor_conditions(tf, x, s, n):
    for scale in [1.0, 2.0]:
        if scale > 1.5:
            x = x * scale
        elif s > 0:
            x = x * s
    return x


@program
def variable_of_one_branch_only(tf, x, s, n):
    if s > 0:
        t = s * 2.0
        y = x * t
    else:
        u = s - 1.0
        y = x * u
    return y


@program
def overwritten_afterwards(tf, x, s, n):
    if s > 0:
        t = x
    else:
        t = 1
    t = x * s
    return t


@program
def same_python_value(tf, x, s, n):
    k = 1
    if s > 0:
        k = 2
        y = x * s
    else:
        k = 2
        y = x
    for _ in range(k):
        y = y * 2.0
    return y


@program
def dictionaries_and_lists(tf, x, s, n):
    d = {"a": x, "b": [x * 2.0, s]}
    if s > 0:
        d = {"a": x * s, "b": [x, s * s]}
    return d["a"] + d["b"][0] * d["b"][1]


@program
def element_of_a_dictionary(tf, x, s, n):
    d = {"a": x}
    if s > 0:
        d["a"] = d["a"] * s
        d["b"] = s
    else:
        d["b"] = s * 3.0
    return d["a"] + d["b"]


class Holder:
    def __init__(self) -> None:
        self.value = None


@program
def attribute(tf, x, s, n):
    h = Holder()
    h.value = x
    if s > 0:
        h.value = h.value * s
    return h.value


@program
def attribute_in_a_loop(tf, x, s, n):
    h = Holder()
    h.value = x
    for _ in tf.range(n):
        h.value = h.value * s
    return h.value


@program
def walrus(tf, x, s, n):
    if (t := s * 2.0) > 1.0:
        return x * t
    return x - t


@program
def deleted(tf, x, s, n):
    if s > 0:
        t = s
        y = x * t
        del t
    else:
        y = x
    return y


# ---- while -----------------------------------------------------------------------------------------------------------


@program
def while_true(tf, x, s, n):
    i = n
    while True:
        x = x + s
        i = i - 1
        if i < 1:
            break
    return x


@program
def while_break_and_continue(tf, x, s, n):
    i = 0
    while i < 10:
        i += 1
        if i == n:
            continue
        if tf.reduce_max(x) > 4.0:
            break
        x = x * 1.5 + s * 0.0
    return x


@program
def while_return(tf, x, s, n):
    i = 0
    while i < n:
        if tf.reduce_sum(x) > s:
            return x * 2.0
        x = x * 1.5
        i += 1
    return x


@program
def while_else(tf, x, s, n):
    i = 0
    while i < n:
        if x[0] * 1.5 > s:
            break
        x = x * 1.5
        i += 1
    else:
        x = x + s
    return x


@program
def nested_whiles(tf, x, s, n):
    i = 0
    while i < n:
        j = 0
        while j < i:
            x = x * s
            j += 1
        x = x + 1.0
        i += 1
    return x


@program
def while_with_structure(tf, x, s, n):
    state = (0, {"x": x, "s": s})
    while state[0] < n:
        i, d = state
        state = (i + 1, {"x": d["x"] * d["s"], "s": d["s"] * 0.5})
    return state[1]["x"]


@program
def python_while(tf, x, s, n):
    i = 0
    while i < 3:
        x = x * s
        i += 1
    return x


@program
def newton(tf, x, s, n):
    a = tf.abs(s) + 1.0
    r = a
    while tf.abs(r * r - a) > 1e-3:
        r = 0.5 * (r + a / r)
    return r * x


# ---- for -------------------------------------------------------------------------------------------------------------


@program
def for_rows(tf, x, s, n):
    y = s
    for row in x:
        y = y * row + 1.0
    return y


@program
def for_rows_of_matrix(tf, x, s, n):
    m = tf.stack([x, x * s, x + 1.0])
    y = x
    for row in m:
        y = y * row
    return y


@program
def for_break_of_value(tf, x, s, n):
    y = s
    for row in x:
        if y > 1.0:
            break
        y = y + row * row
    return y


@program
def for_return(tf, x, s, n):
    for i in tf.range(n):
        if tf.reduce_sum(x) > s:
            return x - 1.0
        x = x * 1.5
    return x


@program
def for_else(tf, x, s, n):
    for _ in tf.range(n):
        if tf.reduce_sum(x) > s:
            break
        x = x * 1.5
    else:
        x = -x
    return x


@program
def for_if(tf, x, s, n):
    y = x
    for i in tf.range(n):
        if i % 2 == 0:
            y = y * s
        else:
            y = y + x
    return y


@program
def nested_fors(tf, x, s, n):
    y = s
    for i in tf.range(n):
        for row in x:
            y = y + row * tf.cast(i, tf.float32)
    return y


@program
def for_first_defined_in_loop(tf, x, s, n):
    for i in tf.range(n + 1):
        y = x * tf.cast(i, tf.float32)
    return y * s


@program
def for_python_range(tf, x, s, n):
    for i in range(3):
        if s > float(i):
            x = x * s
    return x


@program
def for_python_range_return(tf, x, s, n):
    for i in range(3):
        if tf.reduce_sum(x) > s:
            return x * 10.0
        x = x + 0.5
    return x


@program
def for_zip(tf, x, s, n):
    for a, b in zip([1.0, 2.0], [s, s * s]):
        if s > 0:
            x = x * a + b
    return x


@program
def comprehension(tf, x, s, n):
    parts = [x * k if s > 0 else x + k for k in [1.0, 2.0, 3.0]]
    return parts[0] + parts[1] * parts[2]


@program
def append_in_python_loop(tf, x, s, n):
    parts = []
    for i in range(3):
        parts.append(x * float(i) + s)
    return tf.stack(parts)


@program
def tensor_array(tf, x, s, n):
    a = tf.TensorArray(tf.float32, size=3, element_shape=[])
    for i in tf.range(3):
        a = a.write(i, s * x[i])
    return a.stack() * x


@program
def loop_options(tf, x, s, n):
    i = 0
    while i < 10:
        tf.autograph.experimental.set_loop_options(maximum_iterations=4)
        x = x * s
        i = i + 1
        if i == 4:
            break
    return x
