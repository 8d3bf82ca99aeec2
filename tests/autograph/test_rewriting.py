# ruff: noqa: RET503, SIM108
# How functions of users look is the point here.
"""Errors, lines, closures and switches of rewritten functions."""

import ast
import functools
import inspect
import linecache
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api as tf
from dualgrad.autograph.conversion import code_of, why_not

ONE, HALF = tf.constant(1.0), tf.constant(0.5)
COUNTS: list[int] = []
GLOBAL = 0.0


def is_a_program(f: Any) -> bool:
    return "as a program" in f.explain() and "as Python" not in f.explain()


def line_of(f: Callable[..., Any], text: str) -> int:
    """The line of a function's source that holds some text."""
    lines, first = inspect.getsourcelines(f)
    return first + next(i for i, line in enumerate(lines) if text in line)


# ---- errors ----------------------------------------------------------------------------------------------------------


def one_branch(x: Any) -> Any:
    if x > 0:
        y = x * 2.0
    return y


def no_return(x: Any) -> Any:
    if x > 0:
        return x * 2.0


def dtypes(x: Any) -> Any:
    if x > 0:
        y = 1
    else:
        y = 1.5
    return y


def structures(x: Any) -> Any:
    if x > 0:
        y = (x, x)
    else:
        y = [x]
    return y


def strings(x: Any) -> Any:
    if x > 0:
        y = "a"
    else:
        y = "b"
    return x, y


def shapes_of_a_loop(x: Any) -> Any:
    y = tf.stack([x])
    while tf.reduce_sum(y) < 10.0:
        y = tf.concat([y, y], 0)
    return y


def dtype_of_a_loop(x: Any) -> Any:
    y = 0
    while tf.cast(y, tf.float32) < x:
        y = x * tf.cast(y, tf.float32)
    return y


def structure_of_a_loop(x: Any) -> Any:
    y = None
    while x < 3.0:
        y = x
        x = x + 1.0
    return y


@pytest.mark.parametrize(
    ("f", "error", "at", "words"),
    [
        (one_branch, NameError, "if x", "`y` has no value in the else branch of the `if`"),
        (one_branch, ValueError, "if x", "given one in both branches, or before"),
        (
            no_return,
            ValueError,
            "if x",
            "the returned value has dtype float32 in the body, but None in the else branch",
        ),
        (dtypes, TypeError, "if x", "`y` has dtype int32 in the body, but dtype float32 in the else branch"),
        (structures, ValueError, "if x", "`y` has the structure"),
        (strings, ValueError, "if x", "`y` has a str in the body, but a str in the else branch"),
        (shapes_of_a_loop, ValueError, "while", "`y` has shape (1,) before the loop, but shape (2,) after one"),
        (dtype_of_a_loop, TypeError, "while", "`y` has dtype int32 before the loop, but dtype float32 after one"),
        (structure_of_a_loop, ValueError, "while", "`y` has None before the loop, but dtype float32 after one"),
    ],
)
@pytest.mark.parametrize("mode", ["function", "graph"])
def test_errors_name_the_variable_and_the_line(f: Any, error: Any, at: str, words: str, mode: str) -> None:
    with pytest.raises(error) as caught:  # noqa: PT012
        if mode == "function":
            tf.function(f)(ONE)
        else:
            with graph_api.Graph().as_default():
                graph_api.autograph.to_graph(f)(graph_api.placeholder(graph_api.float32, []))
    assert words in str(caught.value) and f"line {line_of(f, at)}" in str(caught.value)


def raises(x: Any) -> Any:
    if tf.reduce_sum(x) > 100.0:
        x = x * 2.0
    for i in tf.range(2):
        if i < 5:
            x = tf.reshape(x, [7])
    return x


def test_a_traceback_shows_the_lines_of_the_user() -> None:
    with pytest.raises(ValueError, match="reshape") as caught:
        tf.function(raises)(ONE)
    frames = [f for f in traceback.extract_tb(caught.value.__traceback__) if f.filename == __file__][1:]
    assert [(f.name, f.lineno) for f in frames] == [
        ("raises", line_of(raises, text)) for text in ("for i", "if i", "tf.reshape")
    ]


def test_an_error_of_python_is_that_of_python() -> None:
    @tf.function
    def f(x: Any) -> Any:
        if x > 0:
            x = x + undefined_name  # type: ignore[name-defined] # noqa: F821
        return x

    with pytest.raises(NameError, match="undefined_name"):
        f(ONE)


def test_a_loop_without_iterations_gives_no_value() -> None:
    @tf.function
    def f(n: Any) -> Any:
        for i in tf.range(n):
            y = i * 2
        return y

    assert [int(f(tf.constant(n))) for n in (3, 5, 3)] == [4, 8, 4]
    for _ in range(2):
        with pytest.raises((ValueError, UnboundLocalError), match="y"):
            f(tf.constant(0))
    assert int(f(tf.constant(2))) == 2


# ---- what Python does ------------------------------------------------------------------------------------------------


def python_only(body: Callable[[Any], Any], words: str) -> None:
    f = tf.function(body)
    for k in (1.0, -1.0, 2.0, -2.0):
        expected, got = body(tf.constant(k)), f(tf.constant(k))
        np.testing.assert_array_equal(expected, got)
    assert words in f.explain() and "as Python" in f.explain(), f.explain()


def test_containers_are_changed_by_python() -> None:
    def appended(x: Any) -> Any:
        found = [x]
        if x > 0:
            found.append(x * 2.0)
        return tf.add_n(found)

    def element(x: Any) -> Any:
        found, i = [x, x], 1
        if x > 0:
            found[i] = x * 2.0
        return tf.add_n(found)

    python_only(appended, "`append` is called in a branch that depends on a tensor")
    python_only(element, "an element is assigned to in a branch that depends on a tensor")


def test_raise_is_pythons() -> None:
    def checked(x: Any) -> Any:
        if x > 5.0:
            raise OverflowError("too large")
        return x * 2.0

    python_only(checked, "`raise` is there in a branch that depends on a tensor")
    with pytest.raises(OverflowError):
        tf.function(checked)(tf.constant(6.0))


def test_what_jumps_out_of_try_is_pythons() -> None:
    def tried(x: Any) -> Any:
        if x > 0:
            try:
                return x * 2.0
            finally:
                x = x + 1.0
        return x

    python_only(tried, "jump out of `try`")


def test_generators_and_exec_are_pythons() -> None:
    def executed(x: Any) -> Any:
        y = eval("x + 1.0")
        return y if y > 0 else x

    def generated(x: Any) -> Any:
        def numbers() -> Any:
            if x > 0:
                yield x
            yield x * 2.0

        return tf.add_n(list(numbers()))

    python_only(
        executed, "executed is not rewritten, so that branches and loops over tensors are Python's: it calls eval"
    )
    python_only(generated, "looked at the contents")


def test_without_source_it_is_pythons() -> None:
    space: dict[str, Any] = {}
    exec("def f(x):\n    return x if x > 0 else -x", space)
    # from 3.13 on Python keeps the text that it was itself started with, under the same name
    python_only(space["f"], "its source is not ")


def test_another_source_than_was_compiled_is_not_used(tmp_path: Path) -> None:
    file = tmp_path / "changing.py"
    text = "def f(x):\n    if x > 0:\n        return x * 2.0\n    return x\n"
    file.write_text(text.replace("2.0", "3.0"))
    space: dict[str, Any] = {"__name__": "changing"}
    exec(compile(text.replace("x > 0", "x > 0 and x < 9"), str(file), "exec"), space)
    linecache.checkcache(str(file))
    assert "has changed" in why_not(space["f"])
    assert float(tf.function(space["f"])(ONE)) == 2.0


def test_lists_in_loops_over_rows_of_known_number() -> None:
    @tf.function
    def f(x: Any) -> Any:
        rows = []
        for row in x:
            rows.append(row * row)  # noqa: PERF401
        return tf.stack(rows)

    for _ in range(3):
        np.testing.assert_array_equal(f(tf.constant([1.0, 2.0])), [1.0, 4.0])
    assert is_a_program(f)


def test_printing_in_a_branch_is_pythons() -> None:
    told: list[str] = []

    @tf.function
    def f(x: Any) -> Any:
        if x > 0:
            tf.print("positive", output_stream=told.append)
            x = x * 2.0
        return x

    assert [float(f(tf.constant(k))) for k in (1.0, -1.0, 2.0)] == [2.0, -1.0, 4.0]
    assert told == ["positive\n"] * 2 and "it prints" in f.explain()


def test_deep_recursion_is_pythons() -> None:
    def power(x: Any, k: int) -> Any:
        if k == 0:
            return x
        return power(x * 1.001, k - 1)

    f = tf.function(lambda x: power(x, 500))
    assert [float(f(ONE)) for _ in range(3)] == [float(power(ONE, 500))] * 3
    assert "calls itself too often" in f.explain()
    g = tf.function(lambda x: power(x, 50))
    assert float(g(ONE)) == float(power(ONE, 50)) and is_a_program(g)


def test_rows_and_length_of_an_open_shape() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def f(x: Any) -> Any:
        total = 0.0
        for value in x:
            if value < 0:
                continue
            total += value
        if len(x) > 3:
            total = -total
        return total

    rows = ([1.0, -2.0, 3.0], [1.0, 2.0, 3.0, 4.0], [5.0], [])
    assert [float(f(tf.constant(v, tf.float32))) for v in rows] == [4.0, -10.0, 5.0, 0.0]
    assert is_a_program(f) and f.experimental_get_tracing_count() == 1


def test_an_array_of_a_size_that_is_a_shape() -> None:
    @tf.function
    def running(x: Any) -> Any:
        sums = tf.TensorArray(tf.float32, size=tf.shape(x)[0])
        total = tf.zeros([2])
        for i in tf.range(tf.shape(x)[0]):
            total = 0.5 * total + x[i]
            sums = sums.write(i, total)
        return sums.stack()

    for _ in range(2):
        np.testing.assert_array_equal(running(tf.ones([3, 2]))[:, 0], [1.0, 1.5, 1.75])
    assert is_a_program(running)


def test_rows_of_known_number_may_change_what_variables_are() -> None:
    @tf.function
    def largest(x: Any) -> Any:
        best, seen = None, x[:1]
        for value in x:
            if best is None or value > best:
                best = value
            seen = tf.concat([seen, [value]], 0)
        return best, seen

    for v in ([1.0, 3.0, 2.0], [5.0, 3.0, 7.0]):
        best, seen = largest(tf.constant(v))
        assert float(best) == max(v) and seen.numpy().tolist() == [v[0], *v]
    assert is_a_program(largest)


# ---- closures, defaults, attributes ----------------------------------------------------------------------------------


def test_variables_from_around_are_shared() -> None:
    scale = tf.constant(2.0)
    calls = 0

    def f(x: Any, *, shift: Any = HALF) -> Any:
        nonlocal calls
        calls += 1
        if x > 0:
            x = x * scale
        return x + shift

    g = tf.autograph.to_graph(f)
    assert float(g(ONE)) == 2.5 and calls == 1
    scale = tf.constant(3.0)
    assert float(g(ONE)) == 3.5 and float(f(ONE)) == 3.5 and calls == 3
    assert inspect.signature(g) == inspect.signature(f) and (g.__name__, g.__module__) == ("f", __name__)


def test_globals_are_shared() -> None:
    @tf.function
    def f(x: Any) -> Any:
        global GLOBAL
        if x > 0:
            y = x * 2.0
        else:
            y = x
        GLOBAL = 1.0
        return y

    f(ONE)
    assert GLOBAL == 1.0


def test_python_runs_once_for_each_recording() -> None:
    COUNTS.clear()

    @tf.function
    def f(x: Any) -> Any:
        COUNTS.append(1)
        if x > 0:
            x = x * 2.0
        return x

    assert [float(f(tf.constant(k))) for k in (1.0, -1.0, 3.0, -3.0)] == [2.0, -1.0, 6.0, -3.0]
    assert len(COUNTS) == 1 and is_a_program(f)


def test_bodies_run_a_few_times_whatever_the_number_of_steps() -> None:
    COUNTS.clear()

    @tf.function
    def f(x: Any) -> Any:
        for _ in tf.range(1000):
            count()
            x = x * 1.001
        i = 0
        while i < tf.constant(1000):
            count()
            x = x * 1.001
            i += 1
        return x

    def count() -> None:
        COUNTS.insert(0, 1)

    f(ONE)
    assert len(COUNTS) < 50 and is_a_program(f)


def test_variables_are_assigned_in_branches_and_loops() -> None:
    v = tf.Variable(1.0)

    def step(x: Any) -> Any:
        if x > 0:
            v.assign_add(x)
        for _ in tf.range(2):
            v.assign(v * 2.0)
        return v * 1.0

    found = []
    for f in (step, tf.function(step)):
        v.assign(1.0)
        found.append([float(f(tf.constant(k))) for k in (1.0, -1.0, 2.0, -2.0)] + [float(v)])
    assert found[0] == found[1]


class Counter(tf.Module):
    """Its method sets attributes in branches."""

    def __init__(self) -> None:
        super().__init__()
        self.__hidden = 2.0
        self.last = None

    @tf.function
    def __call__(self, x: Any) -> Any:
        """Scale."""
        if x > 0:
            self.__hidden_too = x
            y = x * self.__hidden
        else:
            self.__hidden_too = -x
            y = x
        return y + self.__hidden_too

    @tf.function
    def times(self, x: Any) -> Any:
        """Scale."""
        return self._inner(x) if x > 0 else super().__repr__() and x

    def _inner(self, x: Any) -> Any:
        while x < 10.0:
            x = x * self.__hidden
        return x


def test_methods_and_private_names() -> None:
    counter = Counter()
    assert [float(counter(tf.constant(k))) for k in (1.0, -1.0, 2.0)] == [3.0, 0.0, 6.0]
    assert [float(counter.times(tf.constant(k))) for k in (1.0, -1.0, 3.0)] == [16.0, -1.0, 12.0]
    assert is_a_program(Counter.times) and "keeps a tensor" in Counter.__call__.explain()


def test_partial_functions() -> None:
    def f(k: Any, x: Any) -> Any:
        return x * k if x > 0 else x

    g = tf.function(functools.partial(f, 3.0))
    assert [float(g(tf.constant(k))) for k in (1.0, -1.0, 2.0)] == [3.0, -1.0, 6.0]


def test_lambdas_of_one_line() -> None:
    f, g = tf.function(lambda x: x * 2.0 if x > 0 else x), tf.function(lambda x: x * 3.0 if x > 0 else x)
    assert [float(h(tf.constant(k))) for h in (f, g) for k in (1.0, -1.0, 2.0)] == [2.0, -1.0, 4.0, 3.0, -1.0, 6.0]
    assert is_a_program(f) and is_a_program(g)


# ---- switches --------------------------------------------------------------------------------------------------------


def positive(x: Any) -> Any:
    return x if x > 0 else -x


@pytest.mark.parametrize(
    "f",
    [
        tf.function(positive, autograph=False),
        tf.function(autograph=False)(positive),
        tf.function(tf.autograph.experimental.do_not_convert(positive)),
        tf.function(lambda x: tf.autograph.experimental.do_not_convert(positive)(x)),
    ],
)
def test_what_is_not_rewritten_is_pythons(f: Any) -> None:
    assert [float(f(tf.constant(k))) for k in (1.0, -2.0)] == [1.0, 2.0]
    assert "looked at the contents" in f.explain()


def test_shape_invariants() -> None:
    @tf.function
    def f(x: Any) -> Any:
        y = tf.reshape(x, [1])
        i = 0
        while tf.reduce_sum(y) < 10.0:
            tf.autograph.experimental.set_loop_options(shape_invariants=[(y, tf.TensorShape([None]))])
            y = tf.concat([y, y], 0)
            i += 1
        return y

    assert [f(tf.constant(k)).shape[0] for k in (1.0, 3.0, 11.0, 1.0)] == [16, 4, 1, 16]


def test_code_is_python_again() -> None:
    text = tf.autograph.to_code(positive)
    assert "ag__.if_exp" in text and ast.parse(text) and tf.autograph.to_code(tf.function(positive)) == text
    assert code_of(positive) == graph_api.autograph.to_code(positive)
    with pytest.raises(ValueError, match="must be a function"):
        tf.autograph.to_code(abs)


def test_other_names() -> None:
    tf.autograph.set_verbosity(3)
    assert tf.autograph.experimental.Feature.ALL
    tf.autograph.trace("traced")


# ---- layers and losses -----------------------------------------------------------------------------------------------


class Signed(tf.keras.layers.Layer):
    """A layer with a branch."""

    def call(self, x: Any) -> Any:
        """Scale."""
        if tf.reduce_mean(x) > 0:
            x = x * 2.0
        return x


def capped(a: Any, b: Any) -> Any:
    error = tf.reduce_mean((a - b) ** 2)
    return error if error < 1.0 else tf.sqrt(error)


@pytest.mark.parametrize("functional", [False, True])
def test_keras_layers_and_losses_are_rewritten(functional: bool) -> None:
    x, y = np.array([[1.0], [-3.0], [2.0], [1.0]], np.float32), np.ones((4, 1), np.float32)
    histories = []
    for eagerly in (True, False):
        dense = tf.keras.layers.Dense(1, kernel_initializer="ones")
        if functional:
            given = tf.keras.Input((1,))
            model = tf.keras.Model(given, dense(Signed()(given)))
        else:
            model = tf.keras.Sequential([Signed(), dense])
        model.compile("sgd", loss=capped, run_eagerly=eagerly)
        histories.append(model.fit(x, y, batch_size=2, epochs=3, verbose=0, shuffle=False).history)
    assert histories[0] == histories[1]
    assert is_a_program(model._steps["train_step"])
