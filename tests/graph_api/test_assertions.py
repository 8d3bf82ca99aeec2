"""``tf.assert_*``: what holds passes, what does not raises, at once or in the run."""

from collections.abc import Callable
from typing import Any

import pytest

import graph_api
from engine.runtime.errors import InvalidArgumentError

# a check, what passes it, what does not
CHECKS: dict[str, tuple[Callable[[Any, Any], Any], Any, Any]] = {
    "positive": (lambda tf, x: tf.assert_positive(x), [1.0, 2.0], [1.0, 0.0]),
    "negative": (lambda tf, x: tf.assert_negative(x), [-1.0], [0.0]),
    "non_negative": (lambda tf, x: tf.assert_non_negative(x), [0.0, 1.0], [-1.0]),
    "non_positive": (lambda tf, x: tf.assert_non_positive(x), [0.0], [1.0]),
    "none_equal": (lambda tf, x: tf.assert_none_equal(x, 3.0), [1.0, 2.0], [1.0, 3.0]),
    "near": (lambda tf, x: tf.assert_near(x, 3.0), [3.0, 3.0000002], [3.1]),
    "near-wide": (lambda tf, x: tf.assert_near(x, 3.0, rtol=0.1), [3.2], [3.5]),
    "rank": (lambda tf, x: tf.assert_rank(x, 1), [1.0], [[1.0]]),
    "rank_at_least": (lambda tf, x: tf.assert_rank_at_least(x, 2), [[1.0]], [1.0]),
}


def outcome(tf: Any, check: Callable[[Any, Any], Any], value: Any, fed: bool) -> str:
    """What happens: nothing, or where which kind of error is raised."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32) if fed else tf.constant(value)
        try:
            operation = check(tf, x)
        except (ValueError, tf.errors.InvalidArgumentError) as error:
            return "built " + ("ValueError" if type(error) is ValueError else "InvalidArgumentError")
        try:
            session.run(operation, {x: value} if fed else None)
        except tf.errors.InvalidArgumentError:
            return "run InvalidArgumentError"
        return "passed"


@pytest.mark.parametrize("name", CHECKS)
def test_checks(name: str) -> None:
    check, good, bad = CHECKS[name]
    assert [outcome(graph_api, check, good, fed) for fed in (False, True)] == ["passed", "passed"]
    assert outcome(graph_api, check, bad, fed=True) == "run InvalidArgumentError"
    assert outcome(graph_api, check, bad, fed=False).startswith("built")


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CHECKS)
def test_beside_tensorflow(name: str) -> None:
    tensorflow = pytest.importorskip("tensorflow").compat.v1
    check, good, bad = CHECKS[name]
    assert outcome(tensorflow, check, good, fed=True) == "passed"
    assert outcome(tensorflow, check, bad, fed=True) == outcome(graph_api, check, bad, fed=True)


def test_dtypes() -> None:
    tf = graph_api
    assert tf.assert_scalar(3.0).shape == () and tf.is_tensor(tf.constant(1)) and not tf.is_tensor(1)
    assert tf.is_numeric_tensor(tf.constant(1)) and not tf.is_numeric_tensor(tf.constant("a"))
    tf.assert_type(tf.constant(1), tf.int32)
    tf.debugging.assert_integer(tf.constant(1))
    with pytest.raises(TypeError, match="integer type"):
        tf.assert_integer(1.0)
    with pytest.raises(TypeError, match="must be of type"):
        tf.assert_type(1.0, tf.int32)
    with pytest.raises(ValueError, match="scalar shape"):
        tf.assert_scalar([1.0])
    with pytest.raises(InvalidArgumentError, match="weights Condition x > 0"):
        tf.assert_positive(-1.0, message="weights")
