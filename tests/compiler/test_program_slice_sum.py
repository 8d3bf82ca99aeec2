"""The pass that adds slices where they belong: it changes no bit, signs of zero included."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.compiler.passes import slice_sum
from engine.derivatives.reverse import reverse
from engine.ops import explog, reduce, shape
from engine.ops.creation import ones_like
from tests.compiler.test_program import lowered, names
from tests.compiler.test_program_passes import ALWAYS
from tests.support import assert_same_bits


@pytest.fixture(autouse=True)
def of_all_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """As sums of all sizes are made, whatever theirs is."""
    monkeypatch.setattr(slice_sum, "_LEAST", 1)


def with_gradient(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The gradient of the sum of squares of what a function gives, weighted that it has zeros of both signs."""

    def derived(x: Any) -> Any:
        out = f(x)
        return reverse(list(x.trace.nodes), [(out, ones_like(out))], [x])

    return derived


def laplace(x: Any) -> Any:
    middle = x[1:-1, 1:-1]
    return reduce.reduce_sum((x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2] - 4.0 * middle) * middle)


def differences(x: Any) -> Any:
    across, down = x[:, 1:] - x[:, :-1], x[1:] - x[:-1]
    return reduce.reduce_sum(explog.sqrt(1.0 + across[1:] * across[1:] + down[:, 1:] * down[:, 1:]))


def beside_the_whole(x: Any) -> Any:
    return reduce.reduce_sum(x * x) + reduce.reduce_sum(x[2:] * x[:-2]) + reduce.reduce_sum(x[..., 3] * x[..., 4])


def rows(x: Any) -> Any:
    return reduce.reduce_sum(x[0] * x[-1] + x[3] * x[1])


def apart(x: Any) -> Any:
    return reduce.reduce_sum(x[:2] * x[2:4]) + reduce.reduce_sum(x[-1:, :3] * x[-2:-1, 3:6])


def weighted(x: Any) -> Any:
    """Nine slices with signs and factors."""
    parts = [x[i : 7 + i, j : 6 + j] * (0.5 * i - j) for i in range(3) for j in range(3)]
    total = -parts[0]
    for k, part in enumerate(parts[1:]):
        total = total + part if k % 3 else total - part
    return reduce.reduce_sum(total * total) - reduce.reduce_sum(3.0 * x[2:])


def in_three_axes(x: Any) -> Any:
    y = shape.reshape(x, (3, 3, 8))
    return reduce.reduce_sum((y[1:] - y[:-1]) * y[1:] + y[:-1]) - reduce.reduce_sum(y[:, 0, 1:] * y[:, 2, :-1])


SUMS = [laplace, differences, beside_the_whole, rows, apart, weighted, in_three_axes]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("f", SUMS, ids=lambda f: f.__name__)
def test_sums_of_slices(f: Callable[[Any], Any], dtype: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.choice([-1.0, -0.0, 0.0, 0.5], (9, 8)).astype(dtype)
    program, plain = lowered(with_gradient(f), [x]), lowered(with_gradient(f), [x], ALWAYS)
    assert "slice_sum" in names(program) and program.report["slice_sum"] > 0
    for given in (x, -x, 0 * x, -0.0 * np.abs(x), rng.standard_normal(x.shape).astype(dtype)):
        for _ in range(3):
            # in Python, observed, as a table
            assert_same_bits(program(given), plain.run_generated(given))
        assert_same_bits(program.run_generated(given), plain.run_generated(given))


def test_signs_are_part_of_a_sum() -> None:
    x = np.linspace(-1, 1, 72).reshape(9, 8)
    letters = ""
    for f in (weighted, differences):
        program = lowered(with_gradient(f), [x])
        letters += "".join([i.params["hows"] for i in program.instructions if i.op is slice_sum.slice_sum])
    assert "negative" not in names(program)
    assert set(letters) == set("+-")


def test_zeros_have_the_signs_of_sums() -> None:
    zero = np.array([-0.0, -0.0, -0.0, -0.0])
    out = slice_sum.slice_sum.kernel(
        zero[:3],
        zero[:3],
        aval=lowered(lambda x: x * 2.0, [zero]).avals[0],
        keys=((slice(0, 3),), (slice(1, 4),)),
        hows="++",
    )
    assert np.signbit(out).tolist() == [False, True, True, False]


def test_what_is_used_elsewhere_stays() -> None:
    def f(x: Any) -> Any:
        (gradient,) = with_gradient(lambda y: reduce.reduce_sum(y[1:] * y[:-1]))(x)
        return [gradient, gradient * 2.0]

    x = np.linspace(-1, 1, 7)
    program, plain = lowered(f, [x]), lowered(f, [x], ALWAYS)
    assert_same_bits(program(x), plain(x))
