"""A custom gradient is the same however the function is called: by position, by keyword, as a method; in both modes."""

import contextlib
import pickle
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import graph_api
import tape_api
from tests.tapes import watching


def product(x: Any, y: Any = 2.0) -> Any:
    return x * y * y, lambda ct: (ct * 100.0, ct * 1000.0)


def scaled(x: Any, by: Any = 2.0) -> Any:
    return x * by, lambda ct: ct * 100.0


def total(x: Any, *rest: Any, **named: Any) -> Any:
    found = x * 1.0
    for r in (*rest, *named.values()):
        found = found + r

    def rule(ct: Any) -> Any:
        return [ct * (10.0 + k) for k in range(1 + len(rest) + len(named))]

    return found, rule


def nested(pair: Any) -> Any:
    return pair["a"] * pair["b"][0], lambda ct: {"a": ct * 7.0, "b": [ct * 9.0]}


def only_keyword(x: Any, *, y: Any) -> Any:
    return x * y, lambda ct: (ct * 3.0, ct * 4.0)


def chosen(x: Any, mode: Any, times: int = 1) -> Any:
    assert mode in ("double", None) and type(times) is int
    return x * 2.0, lambda ct: (ct * 5.0, None)


def ignoring(x: Any, mode: Any) -> Any:
    return x * 2.0, lambda ct: ct * 5.0


class Layer:
    """A rule on a method, a class method, a static method; bound beforehand."""

    def __init__(self, api: Any) -> None:
        self.factor = 3.0
        self.wrapped = api.custom_gradient(self.plain)

    def plain(self, x: Any) -> Any:
        return x * self.factor, lambda ct: ct * 51.0


def layer_of(api: Any) -> type[Layer]:
    class Decorated(Layer):
        @api.custom_gradient
        def method(self, x: Any, y: Any = 1.0) -> Any:
            return x * self.factor * y, lambda ct: (ct * 50.0, ct * 60.0)

        @classmethod
        @api.custom_gradient
        def of_class(cls, x: Any) -> Any:
            return x * 2.0, lambda ct: ct * 52.0

        @staticmethod
        @api.custom_gradient
        def static(x: Any) -> Any:
            return x * 2.0, lambda ct: ct * 53.0

    return Decorated


def custom(f: Callable[..., Any]) -> Callable[[Any], Any]:
    return lambda api: api.custom_gradient(f)


Case = tuple[Callable[[Any], Any], Callable[[Any, Any, Any], Any], tuple[float, float]]

CASES: dict[str, Case] = {
    "by position": (custom(product), lambda f, x, y: f(x, y), (100, 1000)),
    "by keyword": (custom(product), lambda f, x, y: f(x=x, y=y), (100, 1000)),
    "by keyword in another order": (custom(product), lambda f, x, y: f(y=y, x=x), (100, 1000)),
    "both ways": (custom(product), lambda f, x, y: f(x, y=y), (100, 1000)),
    "by default": (custom(product), lambda f, x, y: f(x), (100, 0)),
    "the first by default": (custom(lambda x=1.0, y=2.0: product(x, y)), lambda f, x, y: f(y=y), (0, 1000)),
    "a number by position": (custom(product), lambda f, x, y: f(x, 3.0), (100, 0)),
    "a rule for what is given by position": (custom(scaled), lambda f, x, y: f(x, by=y), (100, 0)),
    "a number by keyword": (custom(scaled), lambda f, x, y: f(x, by=3.0), (100, 0)),
    "one by keyword": (custom(scaled), lambda f, x, y: f(x=x), (100, 0)),
    "many": (custom(total), lambda f, x, y: f(x, y, y), (10, 23)),
    "many and named": (custom(total), lambda f, x, y: f(x, y, other=y), (10, 23)),
    "a structure": (custom(nested), lambda f, x, y: f({"b": [y], "a": x}), (7, 9)),
    "a structure by keyword": (custom(nested), lambda f, x, y: f(pair={"b": [y], "a": x}), (7, 9)),
    "only by keyword": (custom(only_keyword), lambda f, x, y: f(x, y=y), (3, 4)),
    "a name": (custom(chosen), lambda f, x, y: f(x, "double"), (5, 0)),
    "nothing": (custom(chosen), lambda f, x, y: f(x, None, times=2), (5, 0)),
    "a name that the rule leaves out": (custom(ignoring), lambda f, x, y: f(x, "double"), (5, 0)),
    "a method": (layer_of, lambda f, x, y: f(None).method(x, y), (50, 60)),
    "a method by keyword": (layer_of, lambda f, x, y: f(None).method(y=y, x=x), (50, 60)),
    "a class method": (layer_of, lambda f, x, y: f.of_class(x), (52, 0)),
    "a static method": (layer_of, lambda f, x, y: f.static(x), (53, 0)),
}


def gradients(mode: str, call: Callable[[Any, Any, Any], Any]) -> tuple[float, ...]:
    if mode == "graph":
        with graph_api.Graph().as_default(), graph_api.Session() as session:
            x, y = graph_api.constant(2.0), graph_api.constant(5.0)
            found = graph_api.gradients(call(graph_api, x, y), [x, y], unconnected_gradients="zero")
            return tuple(session.run(found))
    x, y = tape_api.constant(2.0), tape_api.constant(5.0)
    tape, z = watching([x, y], lambda: call(tape_api, x, y))
    return tuple([g.numpy() for g in tape.gradient(z, [x, y], unconnected_gradients="zero")])


@pytest.mark.parametrize("mode", ["graph", "tape"])
@pytest.mark.parametrize("case", CASES)
def test_the_rule_is_used_however_the_function_is_called(case: str, mode: str) -> None:
    make, call, expected = CASES[case]

    def program(api: Any, x: Any, y: Any) -> Any:
        f = make(api)
        return call((lambda _: f(api)) if case.startswith("a method") else f, x, y)

    assert gradients(mode, program) == expected


@pytest.mark.parametrize("mode", ["graph", "tape"])
def test_a_bound_method(mode: str) -> None:
    assert gradients(mode, lambda api, x, y: Layer(api).wrapped(x)) == (51, 0)


@pytest.mark.parametrize("mode", ["graph", "tape"])
@pytest.mark.parametrize(
    ("rule", "error", "message"),
    [
        (lambda ct: (ct, ct, ct), ValueError, "but returned 3"),
        (lambda ct: (), ValueError, "but returned 0"),
        (
            lambda ct: (np.ones(3, np.float32), ct),
            ValueError,
            r"returned shape \(3,\) for input 0, which has shape \(\)",
        ),
        (lambda ct: (np.float32(1.0), "nonsense"), TypeError, "custom_gradient of <lambda>"),
    ],
)
def test_what_a_rule_returns_is_checked(mode: str, rule: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        gradients(mode, lambda api, x, y: api.custom_gradient(lambda x, y: (x * y, rule))(x, y=y))


@pytest.mark.parametrize("api", [graph_api, tape_api])
def test_variables_that_a_method_reads_have_gradients(api: Any) -> None:
    def program(v: Any, x: Any) -> Any:
        @api.custom_gradient
        def f(x: Any, shift: Any = 0.0) -> Any:
            def rule(ct: Any, variables: Any) -> Any:
                assert [w is v for w in variables] == [True]
                return ct * 5.0, [ct * 6.0]

            return x * v + shift, rule

        return f(x=x)

    if api is graph_api:
        with graph_api.Graph().as_default(), graph_api.Session() as session:
            v, x = graph_api.Variable(4.0), graph_api.constant(2.0)
            found = graph_api.gradients(program(v, x), [x, v])
            session.run(v.initializer)
            assert session.run(found) == [5.0, 6.0]
        return
    v, x = tape_api.Variable(4.0), tape_api.constant(2.0)
    tape, y = watching(x, lambda: program(v, x))
    assert [g.numpy() for g in tape.gradient(y, [x, v])] == [5.0, 6.0]


@pytest.mark.parametrize("mode", ["graph", "tape"])
def test_nested_rules_called_by_keyword_define_the_second_derivative(mode: str) -> None:
    def cube(api: Any) -> Any:
        slope = api.custom_gradient(lambda x: (3.0 * x * x, lambda ct: ct * 7.0))
        return api.custom_gradient(lambda x: (x * x * x, lambda ct: ct * slope(x=x)))

    if mode == "graph":
        with graph_api.Graph().as_default(), graph_api.Session() as session:
            x = graph_api.constant(2.0)
            for y in (cube(graph_api)(x=x), graph_api.cond(x > 0.0, lambda: cube(graph_api)(x=x), lambda: x)):
                first = graph_api.gradients(y, x)
                assert session.run([*first, *graph_api.gradients(first, x)]) == [12.0, 7.0]
        return
    x = tape_api.constant(2.0)
    with tape_api.GradientTape() as outer:
        outer.watch(x)
        inner, y = watching(x, lambda: cube(tape_api)(x=x))
        first = inner.gradient(y, x)
    assert (first.numpy(), outer.gradient(first, x).numpy()) == (12.0, 7.0)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_rules_that_use_each_other_inside_a_body(order: int) -> None:
    """The sine's rule is the cosine, whose rule is the sine: there is no end to closing them."""
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        made = SimpleNamespace()
        made.sin = graph_api.custom_gradient(lambda x: (graph_api.sin(x), lambda ct: ct * made.cos(x)))
        made.cos = graph_api.custom_gradient(lambda x: (graph_api.cos(x), lambda ct: -ct * made.sin(x)))
        x = graph_api.constant(0.5, graph_api.float64)
        y = graph_api.map_fn(made.sin, graph_api.stack([x, x]))[1]
        for _ in range(order):
            (y,) = graph_api.gradients(y, x)
        expected = [np.sin, np.cos, lambda v: -np.sin(v), lambda v: -np.cos(v)][order](0.5)
        np.testing.assert_allclose(session.run(y), expected, rtol=1e-14)


@graph_api.custom_gradient
def of_a_module(x: Any) -> Any:
    """Its docstring."""
    return x * 2.0, lambda ct: ct


def test_a_decorated_function_is_like_the_function() -> None:
    assert of_a_module.__name__ == "of_a_module" and of_a_module.__doc__ == "Its docstring."
    assert pickle.loads(pickle.dumps(of_a_module)) is of_a_module


@pytest.mark.parametrize("uses_its_result", [False, True])
def test_a_rule_in_a_body_may_use_what_is_computed_behind_its_call(uses_its_result: bool) -> None:
    late: list[Any] = []

    def body(i: Any, a: Any) -> Any:
        doubled = graph_api.custom_gradient(lambda x: (x * 2.0, lambda ct: ct * late[-1]))(a)
        late.append(graph_api.sin(doubled if uses_its_result else a))
        return [i + 1, doubled]

    refused = pytest.raises(graph_api.errors.UnimplementedError, match="result of its own")
    with graph_api.Graph().as_default(), graph_api.Session() as session:
        x = graph_api.constant([1.0, 2.0])
        with refused if uses_its_result else contextlib.nullcontext():
            _, y = graph_api.while_loop(lambda i, a: i < 2, body, [0, x])
            (found,) = session.run(graph_api.gradients(y, x))
            np.testing.assert_allclose(found, np.sin([1.0, 2.0]) * np.sin([2.0, 4.0]), rtol=1e-6)
